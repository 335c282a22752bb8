//! The backends whose promises are tried.
//!
//! Facts know `dyn Backend` only. A further kind of backend needs a factory here, the tier that it
//! stands for, and a module of that tier in `on_every_tier`.

use menace_sandbox::{BackendOptions, LocalBackend, SandboxBackend, SandboxError, Tier};

pub(crate) type BackendFactory =
    fn(BackendOptions) -> Result<Box<dyn SandboxBackend>, SandboxError>;

/// Makes the backend that has this tier.
pub(crate) fn factory_for(tier: Tier) -> BackendFactory {
    match tier {
        Tier::Root | Tier::UserNamespaces | Tier::Landlock | Tier::Unsafe => local_backend,
    }
}

fn local_backend(options: BackendOptions) -> Result<Box<dyn SandboxBackend>, SandboxError> {
    Ok(Box::new(LocalBackend::new(options)?))
}

/// The suite is worth something only if a backend that breaks a promise does not pass it.
mod sloppy {
    use std::fs;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::PathBuf;

    use menace_model::{Call, Outcome};
    use menace_sandbox::{
        BackendOptions, CallSession, SandboxBackend, SandboxError, SandboxSpec, Tier,
    };

    use crate::bench::{ContractBench, guest};
    use crate::process;

    /// Leaves a file somewhere after each call.
    #[derive(Debug)]
    struct LeakyBackend {
        inner: Box<dyn SandboxBackend>,
        litter: PathBuf,
    }

    impl SandboxBackend for LeakyBackend {
        fn tier(&self) -> Tier {
            self.inner.tier()
        }

        fn open_session(&self, spec: &SandboxSpec) -> Result<Box<dyn CallSession>, SandboxError> {
            let inner = self.inner.open_session(spec)?;
            Ok(Box::new(LeakyCallSession { inner, litter: self.litter.clone() }))
        }
    }

    #[derive(Debug)]
    struct LeakyCallSession {
        inner: Box<dyn CallSession>,
        litter: PathBuf,
    }

    impl CallSession for LeakyCallSession {
        fn run(&mut self, call: &Call) -> Result<Outcome, SandboxError> {
            let outcome = self.inner.run(call)?;
            fs::write(&self.litter, "litter").expect("writable");
            Ok(outcome)
        }
    }

    fn in_the_repository(options: BackendOptions) -> Result<Box<dyn SandboxBackend>, SandboxError> {
        let litter = options.repo.join("litter");
        Ok(Box::new(LeakyBackend { inner: super::local_backend(options)?, litter }))
    }

    fn beside_the_repository(
        options: BackendOptions,
    ) -> Result<Box<dyn SandboxBackend>, SandboxError> {
        let litter = options.workspace_parent.join("litter");
        Ok(Box::new(LeakyBackend { inner: super::local_backend(options)?, litter }))
    }

    fn panic_message(factory: super::BackendFactory) -> String {
        let tier = Tier::UserNamespaces;
        let tried = catch_unwind(AssertUnwindSafe(|| {
            let bench = ContractBench::with_factory(factory, tier, guest!("bad.py"), |_| {});
            bench.session().assert_still_works();
        }));
        let panic = tried.expect_err("the suite should have noticed");
        panic.downcast_ref::<String>().expect("a message").clone()
    }

    #[test]
    fn a_backend_that_breaks_a_promise_is_found_out() {
        let path = concat!(module_path!(), "::a_backend_that_breaks_a_promise_is_found_out");
        process::in_own_process(path, || {
            let said = panic_message(in_the_repository);
            assert!(said.contains("the repository of the host was changed"), "{said}");
            let said = panic_message(beside_the_repository);
            assert!(said.contains("directories were left: [\"litter\"]"), "{said}");
        });
    }
}
