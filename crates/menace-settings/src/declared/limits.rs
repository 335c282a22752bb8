//! What one call may use of the machine. Each overrides the preset's own value.

use std::time::Duration;

use crate::group::group;
use crate::{FailureMode, JsonObject, OsType, Percent, Size};

group! {
    /// What one call may use of the machine, and what is done to it.
    pub struct Limits = "Limits and faults of a call" {
        /// Processor time of a call, in seconds unless a unit is given.
        cpu_limit: Option<Duration> = "CPU_LIMIT";

        /// Memory of a call, all of its processes together.
        memory_limit: Option<Size> = "MEMORY_LIMIT";

        /// What a call may write into its workspace.
        disk_limit: Option<Size> = "DISK_LIMIT";

        /// How long a call may take before it is stopped.
        timeout: Option<Duration> = "TIMEOUT";

        /// Processes and threads of a call beside its first.
        process_limit: Option<u64> = "PROCESS_LIMIT";

        /// Files, sockets and pipes that each process of a call may have open.
        open_files_limit: Option<u64> = "OPEN_FILES_LIMIT";

        /// How much of a call's standard output, and of its standard error, is kept; the rest is
        /// only counted.
        output_limit: Option<Size> = "OUTPUT_LIMIT";

        /// How many GPUs a call gets to see, where the container engine can pass them on.
        gpu_limit: Option<u64> = "GPU_LIMIT";

        /// How strict the policy around a call is: the higher, the less is allowed.
        security_level: Option<u64> = "SECURITY_LEVEL";

        /// How aggressive the simulated attacker is: the share and severity of hostile inputs.
        threat_intensity: Option<Percent> = "THREAT_INTENSITY";

        /// Faults to inject into every call.
        failure_modes: Option<Vec<FailureMode>> = "FAILURE_MODES";

        /// Threads started at once under `concurrency_spike`.
        thread_burst: Option<u64> = "THREAD_BURST";

        /// Asynchronous tasks started at once under `concurrency_spike`.
        async_task_burst: Option<u64> = "ASYNC_TASK_BURST";

        /// The operating system to run calls on; anything but `linux` needs a container or a
        /// virtual machine.
        os_type: Option<OsType> = "OS_TYPE";

        /// The container image to use instead of the one that suits `OS_TYPE`.
        container_image: Option<String> = "CONTAINER_IMAGE";

        /// Images, memory and timeout of virtual machines: `windows_image`, `macos_image`, `memory`,
        /// `timeout`.
        vm_settings: Option<JsonObject> = "VM_SETTINGS";
    }
}
