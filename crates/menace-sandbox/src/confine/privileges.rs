//! Gives up every privilege, for good.
//!
//! Invariant: after [`drop_capabilities`] and [`no_new_privs`] neither this process nor any program
//! that it starts holds a capability, whatever its user id is.

use std::io;

use super::sys::{self, Capabilities};

/// More than the kernel will have for long; it says itself where its list ends.
const MOST_CAPABILITIES: libc::c_ulong = 64;

#[derive(Debug, thiserror::Error)]
pub(crate) enum PrivilegeError {
    #[error("failed to empty the ambient capabilities")]
    Ambient { source: io::Error },
    #[error("failed to drop capability {number} from the bounding set")]
    Bounding { number: libc::c_ulong, source: io::Error },
    #[error("failed to give up the capabilities")]
    Clear { source: io::Error },
    #[error("failed to read the capabilities back")]
    Check { source: io::Error },
    #[error("capabilities are left: {held}")]
    Left { held: String },
}

/// From here on, no program that is started gains privileges (set-user-id bits, file capabilities).
pub(crate) fn no_new_privs() -> io::Result<()> {
    sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0).map(drop)
}

/// Empties the ambient, bounding, inheritable, permitted and effective sets, and checks that.
pub(crate) fn drop_capabilities() -> Result<(), PrivilegeError> {
    sys::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL as libc::c_ulong, 0)
        .map_err(|source| PrivilegeError::Ambient { source })?;
    empty_bounding_set()?;
    sys::clear_capabilities().map_err(|source| PrivilegeError::Clear { source })?;
    let held = sys::capabilities().map_err(|source| PrivilegeError::Check { source })?;
    if held == [Capabilities::default(); 2] {
        Ok(())
    } else {
        Err(PrivilegeError::Left { held: format!("{held:x?}") })
    }
}

/// Root gets the bounding set back whenever it starts a program, so for root it has to be empty. Who
/// is not root and may not empty it gains nothing from it, because of `no_new_privs`.
fn empty_bounding_set() -> Result<(), PrivilegeError> {
    for number in 0..MOST_CAPABILITIES {
        match sys::prctl(libc::PR_CAPBSET_READ, number, 0) {
            Ok(0) => continue,
            Ok(_) => {}
            Err(_) => break,
        }
        match sys::prctl(libc::PR_CAPBSET_DROP, number, 0) {
            Ok(_) => {}
            Err(error)
                if error.raw_os_error() == Some(libc::EPERM)
                    && !nix::unistd::getuid().is_root() =>
            {
                break;
            }
            Err(source) => return Err(PrivilegeError::Bounding { number, source }),
        }
    }
    Ok(())
}
