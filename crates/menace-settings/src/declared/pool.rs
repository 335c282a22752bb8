//! Containers, virtual machines and their cleanup.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use crate::ByteSize;
use crate::group::group;

group! {
    /// Containers, virtual machines and their cleanup.
    pub struct PoolSettings = "Containers and virtual machines" {
        /// Run each preset in a container (Docker or Podman).
        docker: bool = "SANDBOX_DOCKER".user().default("0").planned();

        /// The label by which pooled containers are recognised.
        label: String = "SANDBOX_POOL_LABEL".user().default("menace_sandbox_pool").planned();

        /// A lock file that serialises work on the pool between processes.
        lock: Option<PathBuf> = "SANDBOX_POOL_LOCK".user().planned();

        /// Failed starts of the same image in a row before a warning.
        fail_threshold: NonZeroU64 = "SANDBOX_POOL_FAIL_THRESHOLD".user().default("5").planned();

        /// Time between two sweeps of the cleanup.
        cleanup_interval: Duration = "SANDBOX_POOL_CLEANUP_INTERVAL".user().default("60").planned();

        /// Time between two checks that the cleanup is still alive.
        worker_check_interval: Duration = "SANDBOX_WORKER_CHECK_INTERVAL"
            .user().default("30").planned();

        /// Failed removals in a row before the cleanup reports an error.
        cleanup_alert_threshold: NonZeroU64 = "SANDBOX_CLEANUP_ALERT_THRESHOLD".user().default("3")
            .planned();

        /// How long a pooled container may sit idle.
        container_idle_timeout: Duration = "SANDBOX_CONTAINER_IDLE_TIMEOUT".user().default("300")
            .planned();

        /// How old a container, volume or network of ours may get, labelled or not.
        container_max_lifetime: Duration = "SANDBOX_CONTAINER_MAX_LIFETIME".user().default("3600")
            .planned();

        /// What a container's directory may hold; `0` for no limit.
        container_disk_limit: ByteSize = "SANDBOX_CONTAINER_DISK_LIMIT"
            .user().default("0").planned();

        /// The user that containers run as, as the engine takes it: `1000:1000`.
        container_user: Option<String> = "SANDBOX_CONTAINER_USER".user().planned();

        /// How many containers may be alive at once, over all pools.
        max_container_count: NonZeroU64 = "SANDBOX_MAX_CONTAINER_COUNT"
            .user().default("10").planned();

        /// How many overlays of virtual machines may exist before the oldest go; `0` for no limit.
        max_overlay_count: u64 = "SANDBOX_MAX_OVERLAY_COUNT".user().default("0").planned();

        /// How old a stray overlay gets before it is removed.
        overlay_max_age: Duration = "SANDBOX_OVERLAY_MAX_AGE".user().default("7d").planned();

        /// The file that lists running containers, so that a later start can find strays.
        active_containers: PathBuf = "SANDBOX_ACTIVE_CONTAINERS".user()
            .default_in_data_dir("sandbox_data/active_containers.json").planned();

        /// The file that lists overlays in use.
        active_overlays: PathBuf = "SANDBOX_ACTIVE_OVERLAYS".user()
            .default_in_data_dir("sandbox_data/active_overlays.json").planned();

        /// The file that lists overlays whose removal failed and is to be tried again.
        failed_overlays: PathBuf = "SANDBOX_FAILED_OVERLAYS".user()
            .default_in_data_dir("sandbox_data/failed_overlays.json").planned();
    }
}
