//! The declarations, one file per group. Adding a line here is all it takes to add a setting.

mod agent;
mod alignment;
mod convergence;
mod general;
mod limits;
mod logging;
mod models;
mod network;
mod orphans;
mod plugins;
mod pool;
mod ports;
mod presets;
mod risk;
mod self_test;
mod store;
mod stubs;
mod synergy;

pub use agent::Agent;
pub use alignment::Alignment;
pub use convergence::Convergence;
pub use general::General;
pub use limits::Limits;
pub use logging::Logging;
pub use models::Models;
pub use network::Network;
pub use orphans::Orphans;
pub use plugins::Plugins;
pub use pool::Pool;
pub use ports::Ports;
pub use presets::Presets;
pub use risk::Risk;
pub use self_test::SelfTest;
pub use store::Store;
pub use stubs::Stubs;
pub use synergy::Synergy;
