//! The backends whose promises are tried.
//!
//! Facts know `dyn Backend` only. A further kind of backend needs a factory here, the tier that it
//! stands for, and a module of that tier in `on_every_tier`.

use menace_sandbox::{Backend, LocalBackend, Options, SandboxError, Tier};

pub(crate) type Factory = fn(Options) -> Result<Box<dyn Backend>, SandboxError>;

/// Makes the backend that has this tier.
pub(crate) fn of(tier: Tier) -> Factory {
    match tier {
        Tier::Root | Tier::UserNamespaces | Tier::Landlock | Tier::Unsafe => local,
    }
}

fn local(options: Options) -> Result<Box<dyn Backend>, SandboxError> {
    Ok(Box::new(LocalBackend::new(options)?))
}

/// The suite is worth something only if a backend that breaks a promise does not pass it.
mod sloppy {
    use std::fs;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::PathBuf;

    use menace_model::{Call, Outcome};
    use menace_sandbox::{Backend, Options, SandboxError, Tier, Warm, WarmSpec};

    use crate::bench::{Bench, guest};
    use crate::process;

    /// Leaves a file somewhere after each call.
    #[derive(Debug)]
    struct Sloppy {
        inner: Box<dyn Backend>,
        litter: PathBuf,
    }

    impl Backend for Sloppy {
        fn tier(&self) -> Tier {
            self.inner.tier()
        }

        fn warm(&self, spec: &WarmSpec) -> Result<Box<dyn Warm>, SandboxError> {
            let inner = self.inner.warm(spec)?;
            Ok(Box::new(SloppyWarm { inner, litter: self.litter.clone() }))
        }
    }

    #[derive(Debug)]
    struct SloppyWarm {
        inner: Box<dyn Warm>,
        litter: PathBuf,
    }

    impl Warm for SloppyWarm {
        fn run(&mut self, call: &Call) -> Result<Outcome, SandboxError> {
            let outcome = self.inner.run(call)?;
            fs::write(&self.litter, "litter").expect("writable");
            Ok(outcome)
        }
    }

    fn in_the_repository(options: Options) -> Result<Box<dyn Backend>, SandboxError> {
        let litter = options.repo.join("litter");
        Ok(Box::new(Sloppy { inner: super::local(options)?, litter }))
    }

    fn beside_the_repository(options: Options) -> Result<Box<dyn Backend>, SandboxError> {
        let litter = options.workspaces.join("litter");
        Ok(Box::new(Sloppy { inner: super::local(options)?, litter }))
    }

    fn complaint(factory: super::Factory) -> String {
        let tier = Tier::UserNamespaces;
        let tried = catch_unwind(AssertUnwindSafe(|| {
            let bench = Bench::around(factory, tier, guest!("bad.py"), |_| {});
            bench.session().still_works();
        }));
        let panic = tried.expect_err("the suite should have noticed");
        panic.downcast_ref::<String>().expect("a message").clone()
    }

    #[test]
    fn a_backend_that_breaks_a_promise_is_found_out() {
        let path = concat!(module_path!(), "::a_backend_that_breaks_a_promise_is_found_out");
        process::of_its_own(path, || {
            let said = complaint(in_the_repository);
            assert!(said.contains("the repository of the host was changed"), "{said}");
            let said = complaint(beside_the_repository);
            assert!(said.contains("directories were left: [\"litter\"]"), "{said}");
        });
    }
}
