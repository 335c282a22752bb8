//! The guest does not reach services of the host, and the host's processes do not reach the
//! guest's.

use std::net::{Ipv4Addr, TcpListener, TcpStream};

use menace_model::{Value, Verdict};
use menace_sandbox::Tier;

use crate::bench::{ContractBench, build_call, guest, items, text};
use crate::services::HostServices;

crate::on_every_tier![
    services_of_the_host_cannot_be_reached,
    a_guest_can_talk_to_itself_where_it_has_a_network_of_its_own,
    in_safe_mode_there_is_no_network,
    a_service_of_the_guest_cannot_be_reached,
    there_is_no_network_but_the_loopback,
    a_port_that_a_call_used_is_free_for_the_next,
];

const GUEST: &str = guest!("network.py");

fn services_of_the_host_cannot_be_reached(tier: Tier) {
    let services = HostServices::start();
    let bench = ContractBench::new(tier, GUEST);
    for level in [1, 3] {
        let mut spec = bench.spec();
        spec.confinement.security_level = level.try_into().unwrap();
        let mut session = bench.session_of(&spec);
        let outcome = session.run(build_call("knock").with(services.arguments()));
        services.assert_silence();
        let answers = outcome.result.value.and_then(|value| value.value).expect("it answers");
        assert!(items(&answers).iter().all(|answer| text(answer) != "connected"), "{answers:?}");
        session.assert_still_works();
    }
}

fn a_guest_can_talk_to_itself_where_it_has_a_network_of_its_own(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    assert_eq!(session.value(build_call("talk_over_a_pair")), Value::from("hello"));
    let outcome = session.run(build_call("talk_to_itself"));
    if tier.has_namespaces() {
        assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    } else {
        assert_eq!(outcome.verdict, Verdict::Violated, "{outcome:#?}");
        assert_eq!(outcome.violations[0].kind, "network");
    }
}

fn in_safe_mode_there_is_no_network(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut spec = bench.spec();
    spec.confinement.safe_mode = true;
    for level in [1, 3] {
        spec.confinement.security_level = level.try_into().unwrap();
        let mut session = bench.session_of(&spec);
        let outcome = session.run(build_call("talk_to_itself"));
        assert_eq!(outcome.verdict, Verdict::Violated, "{outcome:#?}");
        assert!(outcome.violations[0].detail.starts_with("socket(AF_INET"), "{outcome:#?}");
        let exception = outcome.result.exception.expect("an exception");
        assert_eq!(exception.kind, "PermissionError");
        assert_eq!(session.value(build_call("talk_over_a_pair")), Value::from("hello"));
    }
}

fn a_service_of_the_guest_cannot_be_reached(tier: Tier) {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("bound").port();
    drop(free);
    let bench = ContractBench::new(tier, GUEST);
    std::thread::scope(|scope| {
        let listen = build_call("listen").with([Value::Int(i64::from(port))]).timeout(700);
        let call = scope.spawn(|| bench.session().try_run(listen).expect("an outcome"));
        while !call.is_finished() {
            let reached = TcpStream::connect((Ipv4Addr::LOCALHOST, port));
            assert!(reached.is_err(), "the guest's service can be reached from outside");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    });
}

fn there_is_no_network_but_the_loopback(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    if tier.has_namespaces() {
        assert_eq!(session.value(build_call("interfaces")), Value::List(vec![Value::from("lo")]));
    }
    let outcome = session.run(build_call("resolve").with([Value::from("example.com")]));
    let answer = outcome.result.value.and_then(|value| value.value).expect("it answers");
    assert_eq!(text(&answer), "gaierror");
}

/// The side that closes a connection first has to remember it for a minute.
fn a_port_that_a_call_used_is_free_for_the_next(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for _ in 0..3 {
        let outcome = session.run(build_call("serve_once").with([Value::Int(5000)]));
        if tier.has_namespaces() {
            assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
            assert_eq!(outcome.notes, Vec::<String>::new());
        } else {
            assert_eq!(outcome.violations[0].kind, "network");
        }
    }
}
