//! Faults strike below Python: libraries in C feel them as Python does.

use menace_model::{Conditions, Fault, FaultMode, Limit, Mechanism, Value, When};
use menace_sandbox::{Interpose, Tier};

use crate::bench::{Ask, Bench, Session, ask, guest, items, text};
use crate::reading::{assert_in_peace, returned, strikes};

crate::on_every_tier![
    a_database_in_c_feels_a_full_disk,
    a_database_in_c_gets_back_what_was_spoilt,
    an_allocator_in_c_is_refused_memory,
];

const GUEST: &str = guest!("extensions.py");

fn interposing(bench: &Bench) -> Session<'_> {
    let mut spec = bench.spec();
    spec.interpose = Interpose { files: true, memory: true, sockets: true };
    bench.session_of(&spec)
}

fn calm(name: &str, count: i64) -> Ask {
    ask(name).with([Value::Int(count)])
}

fn asked(name: &str, count: i64, mode: FaultMode, when: When) -> Ask {
    let mut ask = calm(name, count);
    ask.0.conditions = Conditions { faults: vec![Fault { mode, when }], ..Conditions::default() };
    ask
}

/// What is felt is told, the same twice with the same seed, and nothing of it in peace; what came back
/// is given, once felt and once in peace.
fn felt(session: &mut Session<'_>, ask: &dyn Fn() -> Ask, peace: Ask) -> [Vec<Value>; 2] {
    let outcome = session.run(ask());
    let mode = outcome.felt[0].mode;
    assert!(strikes(&outcome, mode).1 >= 1, "{outcome:#?}");
    let limit = Limit::from(mode);
    assert_eq!(outcome.enforced_by[&limit], [Mechanism::SystemCalls], "{outcome:#?}");
    let found = returned(&outcome).clone();
    assert_eq!(returned(&session.run(ask())), &found, "the same seed");
    let peace = session.run(peace);
    assert_in_peace(&peace);
    [items(&found).to_vec(), items(returned(&peace)).to_vec()]
}

fn a_database_in_c_feels_a_full_disk(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let full = || asked("stored", 20, FaultMode::Disk, When::Nth(5));
    let [found, peace] = felt(&mut interposing(&bench), &full, calm("stored", 20));
    assert_eq!(peace, []);
    let [complaint] = &found[..] else { panic!("{found:?}") };
    assert_eq!(text(complaint), "OperationalError: database or disk is full");
}

fn a_database_in_c_gets_back_what_was_spoilt(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let spoilt = || asked("stored", 20, FaultMode::DiskCorruption, When::Rate(1.0)).seed(3);
    let [found, peace] = felt(&mut interposing(&bench), &spoilt, calm("stored", 20));
    assert_eq!(peace, []);
    assert_ne!(found, []);
}

fn an_allocator_in_c_is_refused_memory(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let refused = || asked("allocated", 40, FaultMode::Memory, When::Rate(0.7));
    let [found, peace] = felt(&mut interposing(&bench), &refused, calm("allocated", 40));
    assert_eq!(peace, []);
    // It tries more than once before it gives up.
    assert!((1..40).contains(&found.len()), "{found:?}");
}

/// Internet sockets exist only where there are namespaces.
mod with_network {
    use super::*;

    fn a_connection_in_c_fails(tier: Tier) {
        let bench = Bench::new(tier, GUEST);
        let failing = || asked("connected", 20, FaultMode::Network, When::Rate(0.5));
        let [found, peace] = felt(&mut interposing(&bench), &failing, calm("connected", 20));
        assert!(peace.iter().all(|one| text(one) == "connected"), "{peace:?}");
        let failed = found.iter().filter(|one| text(one) != "connected").count();
        assert!((1..20).contains(&failed), "{found:?}");
    }

    #[test]
    fn a_connection_in_c_fails_as_root() {
        let name = concat!(module_path!(), "::a_connection_in_c_fails_as_root");
        crate::process::of_its_own(name, || a_connection_in_c_fails(Tier::Root));
    }

    #[test]
    fn a_connection_in_c_fails_in_user_namespaces() {
        let name = concat!(module_path!(), "::a_connection_in_c_fails_in_user_namespaces");
        crate::process::of_its_own(name, || a_connection_in_c_fails(Tier::UserNamespaces));
    }
}
