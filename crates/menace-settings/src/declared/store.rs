//! Databases. For the code under test they are replaced by temporary ones.

use std::path::PathBuf;

use crate::DatabaseUrl;
use crate::group::group;

group! {
    /// Databases. For the code under test they are replaced by temporary ones.
    pub struct StoreSettings = "Databases" {
        /// The main database: SQLite or PostgreSQL.
        database_url: DatabaseUrl = "DATABASE_URL".user().default("sqlite:///menace.db");

        /// The registry of bots.
        bot_db_path: PathBuf = "BOT_DB_PATH".user().default("bots.db").planned();

        /// How bots performed.
        bot_performance_db: PathBuf = "BOT_PERFORMANCE_DB"
            .user().default("bot_performance_history.db")
            .planned();

        /// The log of maintenance work.
        maintenance_db: PathBuf = "MAINTENANCE_DB".user().default("maintenance.db").planned();

        /// A database with a history of ROI and resources, for forecasts. Those of today know the
        /// resources that runs keep in `roi_history.json`.
        resource_db: Option<PathBuf> = "SANDBOX_RESOURCE_DB".user().planned();
    }
}
