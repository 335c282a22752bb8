//! The same seed gives the same call; the clock can be stopped.

use menace_model::Value;
use menace_sandbox::Tier;
use nix::sys::personality::{self, Persona};

use crate::bench::{ContractBench, build_call, guest, items};
use crate::process::not_tested;

crate::on_every_tier![
    the_same_seed_gives_the_same_numbers,
    the_hash_seed_decides_about_the_order_of_sets,
    things_have_the_same_address_in_every_sandbox,
    time_can_be_frozen,
];

const GUEST: &str = guest!("seeds.py");

fn the_same_seed_gives_the_same_numbers(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let first = session.value(build_call("numbers").seed(1));
    assert_eq!(first, session.value(build_call("numbers").seed(1)));
    assert_ne!(first, session.value(build_call("numbers").seed(2)));
    // In another sandbox, too.
    assert_eq!(first, bench.value(build_call("numbers").seed(1)));
    let mut spec = bench.spec();
    let imported = session.value(build_call("at_import"));
    assert_eq!(imported, bench.session_of(&spec).value(build_call("at_import").seed(2)));
    spec.seed = 7;
    assert_ne!(imported, bench.session_of(&spec).value(build_call("at_import")));
}

fn the_hash_seed_decides_about_the_order_of_sets(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let order = |hash_seed| {
        let mut spec = bench.spec();
        spec.hash_seed = hash_seed;
        bench.session_of(&spec).value(build_call("order"))
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
}

/// Some containers do not allow switching random addresses off.
fn addresses_can_be_fixed() -> bool {
    let fix = || {
        let own = personality::get()?;
        personality::set(own | Persona::ADDR_NO_RANDOMIZE)
    };
    // Of a thread that is gone then: what this one starts is to switch them off by itself.
    std::thread::spawn(fix).join().expect("no panic").is_ok()
}

fn things_have_the_same_address_in_every_sandbox(tier: Tier) {
    if !addresses_can_be_fixed() {
        not_tested("equal addresses, since `personality(ADDR_NO_RANDOMIZE)` is refused here");
        return;
    }
    let bench = ContractBench::new(tier, GUEST);
    let first = bench.value(build_call("addresses"));
    assert_eq!(first, bench.value(build_call("addresses")));
}

fn time_can_be_frozen(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut spec = bench.spec();
    spec.freeze_time = Some(1_000_000_000.0);
    let mut session = bench.session_of(&spec);
    let frozen = Value::Float(1_000_000_000.0);
    assert_eq!(
        session.value(build_call("now")),
        Value::Tuple(vec![frozen.clone(), frozen.clone()])
    );
    assert_eq!(session.value(build_call("later")), frozen);
    let now = bench.value(build_call("now"));
    assert!(
        items(&now).iter().all(|now| matches!(now, Value::Float(at) if *at > 1.7e9)),
        "{now:?}"
    );
    assert!(matches!(session.value(build_call("elapsed")), Value::Float(passed) if passed >= 0.0));
}
