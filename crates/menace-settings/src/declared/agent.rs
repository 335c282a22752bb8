//! The agent service and its clients.

use std::path::PathBuf;

use crate::group::group;
use crate::{Port, Secret};

group! {
    /// The agent service and its clients.
    pub struct Agent = "Agent" {
        /// The port that the agent listens on.
        port: Port = "MENACE_AGENT_PORT".default("8001");

        /// The secret that clients must present.
        token: Option<Secret> = "VISUAL_AGENT_TOKEN";

        /// The next secret: the agent is restarted with it between two runs.
        token_rotate: Option<Secret> = "VISUAL_AGENT_TOKEN_ROTATE";

        /// The certificate for HTTPS. Needs the key as well.
        ssl_cert: Option<PathBuf> = "VISUAL_AGENT_SSL_CERT";

        /// The private key of that certificate.
        ssl_key: Option<PathBuf> = "VISUAL_AGENT_SSL_KEY";

        /// Start the agent when it is needed and does not run.
        autostart: bool = "VISUAL_AGENT_AUTOSTART".default("1").recommended("1");

        /// Put interrupted tasks back into the queue at start and repair a damaged queue.
        auto_recover: bool = "VISUAL_AGENT_AUTO_RECOVER".default("1").recommended("1")
            .inverse_flags(&["--no-auto-recover"]);
    }
}
