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

pub use agent::AgentSettings;
pub use alignment::AlignmentSettings;
pub use convergence::ConvergenceSettings;
pub use general::GeneralSettings;
pub use limits::LimitSettings;
pub use logging::LoggingSettings;
pub use models::ModelSettings;
pub use network::NetworkSettings;
pub use orphans::OrphanSettings;
pub use plugins::PluginSettings;
pub use pool::PoolSettings;
pub use ports::PortSettings;
pub use presets::PresetSettings;
pub use risk::RiskSettings;
pub use self_test::SelfTestSettings;
pub use store::StoreSettings;
pub use stubs::StubSettings;
pub use synergy::SynergySettings;
