//! Drops all privileges, permanently.
//!
//! Invariant: after [`drop_capabilities`] and [`set_no_new_privs`] neither this process nor any
//! program that it starts holds a capability, whatever its user id is.

use std::io;

use rustix::thread::{self, CapabilitySet, CapabilitySets};

/// More than the kernel's capabilities; the loop ends earlier, where the kernel reports that its
/// list ends.
const MAX_CAPABILITY_NUMBER: u32 = 64;
const NO_CAPABILITIES: CapabilitySets = CapabilitySets {
    effective: CapabilitySet::empty(),
    permitted: CapabilitySet::empty(),
    inheritable: CapabilitySet::empty(),
};

#[derive(Debug, thiserror::Error)]
pub(crate) enum PrivilegeError {
    #[error("failed to empty the ambient capabilities")]
    Ambient { source: io::Error },
    #[error("failed to drop capability {number} from the bounding set")]
    Bounding { number: u32, source: io::Error },
    #[error("failed to give up the capabilities")]
    Clear { source: io::Error },
    #[error("failed to read the capabilities back")]
    Check { source: io::Error },
    #[error("capabilities are left: {held}")]
    CapabilitiesLeft { held: String },
}

/// From here on, no program that this process starts gains privileges (set-user-id, file
/// capabilities).
pub(crate) fn set_no_new_privs() -> io::Result<()> {
    Ok(nix::sys::prctl::set_no_new_privs()?)
}

/// Empties the ambient, bounding, inheritable, permitted and effective sets, and checks the result.
pub(crate) fn drop_capabilities() -> Result<(), PrivilegeError> {
    thread::clear_ambient_capability_set()
        .map_err(|error| PrivilegeError::Ambient { source: error.into() })?;
    clear_bounding_set()?;
    thread::set_capabilities(None, NO_CAPABILITIES)
        .map_err(|error| PrivilegeError::Clear { source: error.into() })?;
    let held = thread::capabilities(None)
        .map_err(|error| PrivilegeError::Check { source: error.into() })?;
    if held == NO_CAPABILITIES {
        Ok(())
    } else {
        Err(PrivilegeError::CapabilitiesLeft { held: format!("{held:x?}") })
    }
}

/// Root gets its capabilities back from the bounding set whenever it starts a program, so for root
/// the set must be empty. Another user may not be allowed to empty it, and gains nothing from it,
/// because of `no_new_privs`.
fn clear_bounding_set() -> Result<(), PrivilegeError> {
    for number in 0..MAX_CAPABILITY_NUMBER {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        match thread::capability_is_in_bounding_set(capability) {
            Ok(false) => continue,
            Ok(true) => {}
            Err(_) => break,
        }
        match thread::remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            Err(rustix::io::Errno::PERM) if !nix::unistd::getuid().is_root() => break,
            Err(error) => return Err(PrivilegeError::Bounding { number, source: error.into() }),
        }
    }
    Ok(())
}
