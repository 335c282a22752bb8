//! The self-test service. What the sandbox decides about orphans holds here too, unless set.

use std::path::PathBuf;
use std::time::Duration;

use crate::group::group;

group! {
    /// The self-test service.
    pub struct SelfTestSettings = "Self-tests" {
        /// Time between scheduled runs; `0` for none.
        interval: Duration = "SELF_TEST_INTERVAL".repository().default("0").planned();

        /// The file from which an interrupted run goes on.
        state: PathBuf = "SELF_TEST_STATE"
            .path_inside().default_in_data_dir("sandbox_data/self_test_state.json")
            .planned();

        /// Neither look for orphans nor test them.
        disable_orphans: bool = "SELF_TEST_DISABLE_ORPHANS".repository().default("0")
            .mirrors("SANDBOX_DISABLE_ORPHANS").planned();

        /// Look for orphans.
        discover_orphans: bool = "SELF_TEST_DISCOVER_ORPHANS"
            .repository().default("1").recommended("1")
            .flags(&["--discover-orphans"]).planned();

        /// Test the orphans on the list.
        include_orphans: bool = "SELF_TEST_INCLUDE_ORPHANS".repository().default("1")
            .flags(&["--include-orphans"]).planned();

        /// Look for isolated modules.
        discover_isolated: bool = "SELF_TEST_DISCOVER_ISOLATED".repository().default("1")
            .mirrors("SANDBOX_DISCOVER_ISOLATED").planned();

        /// Test isolated modules without being asked.
        auto_include_isolated: bool = "SELF_TEST_AUTO_INCLUDE_ISOLATED".repository().default("1")
            .mirrors("SANDBOX_AUTO_INCLUDE_ISOLATED").planned();

        /// Follow the imports of isolated modules.
        recursive_isolated: bool = "SELF_TEST_RECURSIVE_ISOLATED".repository().default("1")
            .mirrors("SANDBOX_RECURSIVE_ISOLATED").planned();

        /// Follow the imports of orphans.
        recursive_orphans: bool = "SELF_TEST_RECURSIVE_ORPHANS".repository().default("1")
            .mirrors("SANDBOX_RECURSIVE_ORPHANS").planned();

        /// Test modules that were classified as redundant or legacy, too.
        include_redundant: bool = "SELF_TEST_INCLUDE_REDUNDANT".repository().default("1")
            .mirrors("SANDBOX_TEST_REDUNDANT").planned();

        /// Keep passing modules out of the module map and of workflows.
        disable_auto_integration: bool = "SELF_TEST_DISABLE_AUTO_INTEGRATION"
            .repository().default("0")
            .recommended("0").planned();
    }
}
