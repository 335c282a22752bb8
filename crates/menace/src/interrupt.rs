//! Ctrl-C, and the requests to end that service managers send.

use std::time::Duration;

use menace_sandbox::CancelToken;

use crate::exit;

/// A command that has not ended by then is ended. The kernel ends its sandboxes with it.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(700);
/// In the `landlock` tier there are copies of the repository, and removing a large one takes a
/// moment.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(5);

/// Makes SIGINT, SIGTERM and SIGHUP end all sandboxes, then the program.
pub(crate) fn install_handler(cancel: &CancelToken) -> Result<(), ctrlc::Error> {
    let cancel = cancel.clone();
    ctrlc::set_handler(move || {
        cancel.cancel();
        std::thread::sleep(SHUTDOWN_TIMEOUT);
        cancel.wait_until_directories_removed(CLEANUP_TIMEOUT);
        std::process::exit(i32::from(exit::EXIT_INTERRUPTED));
    })
}
