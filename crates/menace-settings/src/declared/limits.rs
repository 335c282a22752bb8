//! What one call may use of the machine. Each overrides the preset's own value.

use std::time::Duration;

use menace_model::FailureMode;

use crate::group::group;
use crate::{
    BoundedInteger, BoundedSize, ByteSize, GuestOsType, MinimumDuration, PercentShare,
    PositiveAmount, ProcessorCount, VmSettings,
};

group! {
    /// What one call may use of the machine, and what is done to it.
    pub struct LimitSettings = "Limits and faults of a call" {
        /// Processor time of a call, in seconds unless a unit is given.
        cpu_limit: Option<PositiveAmount<Duration>> = "CPU_LIMIT".lower_only();

        /// Processors that a call may use at once: `0.5`, or `50%` of one.
        cpu_share: Option<ProcessorCount> = "CPU_SHARE".lower_only();

        /// Memory of a call beyond what the imported module takes, all of its processes together.
        memory_limit: Option<PositiveAmount<ByteSize>> = "MEMORY_LIMIT".at_most("512Mi");

        /// What a call may write: repository, home and temporary directory together.
        disk_limit: Option<PositiveAmount<ByteSize>> = "DISK_LIMIT".at_most("256Mi");

        /// How long a call may take before it is stopped.
        timeout: Option<MinimumDuration<1>> = "TIMEOUT".at_most("10s");

        /// Processes and threads of a call beside its first.
        process_limit: Option<BoundedInteger<0, { 1 << 22 }>> = "PROCESS_LIMIT".at_most("64");

        /// Files, sockets and pipes that each process of a call may have open.
        open_files_limit: Option<BoundedInteger<16, { 1 << 20 }>> = "OPEN_FILES_LIMIT"
            .at_most("1024");

        /// How much of a call's standard output, and of its standard error, is kept; the rest is
        /// only counted.
        output_limit: Option<BoundedSize<{ 16 << 20 }>> = "OUTPUT_LIMIT".at_most("64Ki");

        /// How many GPUs a call gets to see, where the container engine can pass them on.
        gpu_limit: Option<BoundedInteger<0, 128>> = "GPU_LIMIT".user().planned();

        /// How strict the policy around a call is: the higher, the less is allowed.
        security_level: Option<BoundedInteger<1, 5>> = "SECURITY_LEVEL".at_least("3");

        /// No network sockets for a call, not even inside of its sandbox.
        safe_mode: Option<bool> = "SAFE_MODE".at_least("1").flags(&["--safe-mode"]);

        /// How aggressive the simulated attacker is: the share and severity of hostile inputs.
        threat_intensity: Option<PercentShare> = "THREAT_INTENSITY".repository();

        /// Faults to inject into every call.
        failure_modes: Option<Vec<FailureMode>> = "FAILURE_MODES".repository();

        /// Threads in which a section runs at once under `concurrency_spike`.
        thread_burst: Option<BoundedInteger<0, 1024>> = "THREAD_BURST".at_most("64");

        /// Tasks in which an async section runs at once under `concurrency_spike`.
        async_task_burst: Option<BoundedInteger<0, 65536>> = "ASYNC_TASK_BURST".at_most("256");

        /// The operating system to run calls on; anything but `linux` needs a container or a
        /// virtual machine.
        os_type: Option<GuestOsType> = "OS_TYPE".user().planned();

        /// The container image to use instead of the one that suits `OS_TYPE`.
        container_image: Option<String> = "CONTAINER_IMAGE".user().planned();

        /// Images, memory and timeout of virtual machines: `windows_image`, `macos_image`,
        /// `memory`, `timeout`.
        vm_settings: Option<VmSettings> = "VM_SETTINGS".user().planned();
    }
}
