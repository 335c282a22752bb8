//! The agent service and its clients.

use std::path::PathBuf;

use crate::group::group;
use crate::{PortNumber, SecretText};

group! {
    /// The agent service and its clients.
    pub struct AgentSettings = "Agent" {
        /// The port that the agent listens on.
        port: PortNumber = "MENACE_AGENT_PORT".user().default("8001").planned();

        /// The secret that clients must present.
        token: Option<SecretText> = "VISUAL_AGENT_TOKEN".user().planned();

        /// The next secret: the agent is restarted with it between two runs.
        token_rotate: Option<SecretText> = "VISUAL_AGENT_TOKEN_ROTATE".user().planned();

        /// The certificate for HTTPS. Needs the key as well.
        ssl_cert: Option<PathBuf> = "VISUAL_AGENT_SSL_CERT".user().planned();

        /// The private key of that certificate.
        ssl_key: Option<PathBuf> = "VISUAL_AGENT_SSL_KEY".user().planned();

        /// Start the agent when it is needed and does not run.
        autostart: bool = "VISUAL_AGENT_AUTOSTART".user().default("1").recommended("1").planned();

        /// Put interrupted tasks back into the queue at start and repair a damaged queue.
        auto_recover: bool = "VISUAL_AGENT_AUTO_RECOVER".user().default("1").recommended("1")
            .inverse_flags(&["--no-auto-recover"]).planned();
    }
}
