//! Modules that nothing imports, and the module map.

use crate::group::group;

group! {
    /// Modules that nothing imports, and the module map.
    pub struct OrphanSettings = "Orphans and module map" {
        /// Follow the imports of orphan modules.
        recursive_orphans: bool = "SANDBOX_RECURSIVE_ORPHANS"
            .repository().default("1").recommended("1")
            .flags(&["--recursive-orphans", "--recursive-include"])
            .inverse_flags(&["--no-recursive-orphans", "--no-recursive-include"])
            .yaml_keys(&["recursive_orphan_scan"]).planned();

        /// Follow the imports of isolated modules.
        recursive_isolated: bool = "SANDBOX_RECURSIVE_ISOLATED"
            .repository().default("1").recommended("1")
            .flags(&["--recursive-isolated"])
            .inverse_flags(&["--no-recursive-isolated"])
            .enabled_by("SANDBOX_AUTO_INCLUDE_ISOLATED").planned();

        /// Look for files that stand alone before orphans are looked for.
        discover_isolated: bool = "SANDBOX_DISCOVER_ISOLATED"
            .repository().default("1").recommended("1")
            .flags(&["--discover-isolated"])
            .inverse_flags(&["--no-discover-isolated"])
            .enabled_by("SANDBOX_AUTO_INCLUDE_ISOLATED").planned();

        /// Hand isolated modules to the self-tests without being asked.
        auto_include_isolated: bool = "SANDBOX_AUTO_INCLUDE_ISOLATED"
            .repository().default("1").recommended("1")
            .flags(&["--auto-include-isolated"]).planned();

        /// Take names off the orphan list once they are integrated or their files are gone.
        clean_orphans: bool = "SANDBOX_CLEAN_ORPHANS".repository().default("1").recommended("1")
            .flags(&["--clean-orphans"]).planned();

        /// Test modules that were classified as redundant or legacy, too.
        test_redundant: bool = "SANDBOX_TEST_REDUNDANT".repository().default("1")
            .flags(&["--include-redundant", "--test-redundant"]).planned();

        /// Leave orphans untested.
        disable_orphans: bool = "SANDBOX_DISABLE_ORPHANS".repository().default("0").planned();

        /// Leave the search for orphans out of improvement cycles.
        disable_orphan_scan: bool = "SANDBOX_DISABLE_ORPHAN_SCAN"
            .repository().default("0").planned();

        /// How many imports deep orphans and isolated modules are followed. Unset, to the end.
        max_recursion_depth: Option<u64> = "SANDBOX_MAX_RECURSION_DEPTH".repository()
            .flags(&["--max-recursion-depth"]).planned();

        /// Build or refresh the module map at start.
        auto_map: bool = "SANDBOX_AUTO_MAP".repository().default("0")
            .legacy(&["SANDBOX_AUTODISCOVER_MODULES"]).planned();

        /// Rebuild the module map before the first cycle even if there is one.
        refresh_module_map: bool = "SANDBOX_REFRESH_MODULE_MAP".repository().default("0")
            .flags(&["--refresh-module-map"]).planned();

        /// The gain in ROI that a module must promise to enter existing workflows.
        min_integration_roi: f64 = "MIN_INTEGRATION_ROI".repository().default("0").planned();
    }
}
