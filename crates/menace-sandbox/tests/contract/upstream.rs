//! Code that calls out is answered, well or badly, on every tier; nothing of it leaves the process.

use std::net::TcpListener;

use menace_model::{
    FaultMode, FaultSpec, FaultTrigger, Limit, LimitMechanism, MockResponse, NetworkConditions,
    Outcome, PartitionPeer, UpstreamConfig, Value, Verdict,
};
use menace_sandbox::Tier;

use crate::bench::{CallBuilder, ContractBench, build_call, guest, items, text};
use crate::reading::{
    assert_fault_free, assert_near, is_enforced_by, numbers, opportunities_and_injections, returned,
};

crate::on_every_tier![
    the_first_recorded_answer_that_fits_is_given,
    answers_need_no_network,
    a_service_without_an_answer_cannot_be_reached,
    an_unstable_service_fails_as_the_seed_says,
    a_fault_of_the_service_is_injected_when_requested,
    waiting_without_a_timeout_is_reported,
    answers_take_as_long_as_the_link_says,
    a_peer_that_is_cut_off_cannot_be_reached_while_others_can,
    some_are_cut_off_as_the_seed_says,
    connections_to_answers_fail_too,
    the_host_is_not_asked,
];

const GUEST: &str = guest!("upstream.py");
const UPSTREAM_URL: &str = "http://api.example/items";

impl CallBuilder {
    fn answered(mut self, mocks: Vec<MockResponse>, answer_all: bool) -> Self {
        self.0.conditions.upstream = Some(UpstreamConfig { mocks, answer_all, failure: None });
        self
    }

    fn by_default(self) -> Self {
        self.answered(Vec::new(), true)
    }

    fn with_fault(mut self, mode: FaultMode, when: FaultTrigger) -> Self {
        self.0.conditions.faults.push(FaultSpec { mode, trigger: when });
        self
    }

    fn on_link(mut self, network: NetworkConditions) -> Self {
        self.0.conditions.network = network;
        self
    }
}

fn mock(url: &str, body: &str) -> MockResponse {
    MockResponse {
        method: None,
        url: url.to_owned(),
        status: 200,
        headers: Vec::new(),
        body: body.as_bytes().to_vec(),
        delay_ms: 0,
        times: None,
    }
}

fn list(texts: &[&str]) -> Value {
    Value::List(texts.iter().map(|text| Value::from(*text)).collect())
}

fn answer(status: i64, body: &str) -> Value {
    Value::List(vec![Value::Int(status), Value::from(body)])
}

/// What was asked, and what was answered.
fn requests(outcome: &Outcome) -> Vec<(&str, &str)> {
    assert!(is_enforced_by(outcome, Limit::Upstream, LimitMechanism::Harness), "{outcome:#?}");
    let upstream = outcome.upstream.as_ref().expect("it is held");
    upstream.requests.iter().map(|one| (one.request.as_str(), one.answer.as_str())).collect()
}

fn answers(outcome: &Outcome) -> Vec<&str> {
    requests(outcome).into_iter().map(|(_, answer)| answer).collect()
}

/// Without answers no service can be reached, as before.
fn assert_no_answers(session: &mut crate::bench::ContractSession<'_>, tier: Tier) {
    let calm = session.run(build_call("get").with([Value::from(UPSTREAM_URL)]));
    assert_fault_free(&calm);
    if tier.has_namespaces() {
        assert_eq!(text(&items(returned(&calm))[0]), "gaierror");
    } else {
        assert_eq!(calm.verdict, Verdict::Violated, "{calm:#?}");
    }
    session.assert_still_works();
}

fn the_first_recorded_answer_that_fits_is_given(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let mocks = vec![
        MockResponse { times: Some(2), ..mock("http://api.example/items", "first") },
        MockResponse { method: Some("POST".to_owned()), ..mock("http://api.example/*", "posted") },
        MockResponse { status: 404, ..mock("http://api.example/*", "later") },
        mock("https://*.example/secure?*", "secure"),
    ];
    let urls =
        list(&[UPSTREAM_URL, UPSTREAM_URL, UPSTREAM_URL, "https://other.example/secure?a=1"]);
    let mut run =
        || session.run(build_call("get_all").with([urls.clone()]).answered(mocks.clone(), true));
    let (first, again) = (run(), run());
    let expected =
        [answer(200, "first"), answer(200, "first"), answer(404, "later"), answer(200, "secure")];
    assert_eq!(items(returned(&first)), expected);
    let asked = "GET http://api.example/items";
    let secure = "GET https://other.example/secure?a=1";
    let reported = [(asked, "200"), (asked, "200"), (asked, "404"), (secure, "200")];
    assert_eq!(requests(&first), reported);
    assert_eq!((returned(&again), requests(&again)), (returned(&first), requests(&first)));
    let left = (first.leaked.threads.as_slice(), first.leaked.descriptors.as_slice());
    assert_eq!(left, (&[][..], &[][..]));
    assert_eq!((first.notes.as_slice(), first.violations.as_slice()), (&[][..], &[][..]));
    assert_no_answers(&mut session, tier);
}

fn answers_need_no_network(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    for (level, safe_mode) in [(3, true), (4, false), (5, false)] {
        let mut spec = bench.spec();
        (spec.confinement.security_level, spec.confinement.safe_mode) =
            (level.try_into().unwrap(), safe_mode);
        let mut session = bench.session_of(&spec);
        let ask_for = || build_call("get").with([Value::from("https://api.example/")]);
        let outcome = session.run(ask_for().answered(vec![mock("*", "[1]")], false));
        let what = format!("level {level}, safe mode {safe_mode}: {outcome:#?}");
        assert_eq!(outcome.verdict, Verdict::Returned, "{what}");
        assert_eq!(returned(&outcome), &answer(200, "[1]"), "{what}");
        assert_eq!(outcome.unenforced, [], "{what}");
        // And without answers, calling out leads nowhere.
        let alone = session.run(ask_for());
        let returned_value = alone.result.value.and_then(|value| value.value);
        assert_ne!(returned_value.as_ref(), Some(returned(&outcome)), "{what}");
    }
}

fn a_service_without_an_answer_cannot_be_reached(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let urls = list(&[UPSTREAM_URL, "http://api.example/other", "http://far.example/"]);
    let outcome = session
        .run(build_call("get_all").with([urls]).answered(vec![mock(UPSTREAM_URL, "[]")], false));
    let found: Vec<&Value> = items(returned(&outcome)).iter().map(|one| &items(one)[0]).collect();
    assert_eq!(found[0], &Value::Int(200));
    assert_eq!(text(found[1]), "ConnectionResetError");
    assert_eq!(text(found[2]), "ConnectionRefusedError");
    assert_eq!(answers(&outcome), ["200", "refused", "refused"]);
}

fn an_unstable_service_fails_as_the_seed_says(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let mut failed = |seed| {
        let ask = build_call("get").with([Value::from(UPSTREAM_URL)]).seed(seed).by_default();
        let outcome =
            session.run(ask.with_fault(FaultMode::FlakyUpstream, FaultTrigger::Rate(1.0)));
        assert_eq!(opportunities_and_injections(&outcome, FaultMode::FlakyUpstream), (1, 1));
        assert!(is_enforced_by(&outcome, Limit::FaultFlakyUpstream, LimitMechanism::Harness));
        assert_ne!(returned(&outcome), &answer(200, "{}"), "{outcome:#?}");
        (answers(&outcome).join(" "), returned(&outcome).clone())
    };
    let first: Vec<_> = (0..10).map(&mut failed).collect();
    let again: Vec<_> = (0..10).map(&mut failed).collect();
    assert_eq!(again, first);
    let mut kinds: Vec<&str> = first.iter().map(|(answer, _)| answer.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert!(kinds.len() >= 4, "{kinds:?}");
    assert_no_answers(&mut session, tier);
}

fn a_fault_of_the_service_is_injected_when_requested(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let flaky = FaultMode::FlakyUpstream;
    let mut good = |when, count| {
        let ask = build_call("get_all").with([list(&vec![UPSTREAM_URL; count])]).by_default();
        let outcome = session.run(ask.with_fault(flaky, when));
        let good: Vec<bool> = answers(&outcome).iter().map(|answer| *answer == "200").collect();
        let injected = good.iter().filter(|good| !**good).count() as u64;
        assert_eq!(opportunities_and_injections(&outcome, flaky), (count as u64, injected));
        good
    };
    assert_eq!(good(FaultTrigger::Nth(3), 5), [true, true, false, true, true]);
    // An upstream that fails more often than not fails the first request.
    assert_eq!(good(FaultTrigger::Rate(0.7), 1), [false]);
    let some = good(FaultTrigger::Rate(0.5), 30);
    assert!((5..25).contains(&some.iter().filter(|good| **good).count()), "{some:?}");
    assert_eq!(good(FaultTrigger::Rate(0.5), 30), some);
}

fn waiting_without_a_timeout_is_reported(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let mut silent = |name: &str| {
        (0..60).find_map(|seed| {
            let ask = build_call(name).with([Value::from(UPSTREAM_URL)]).seed(seed).by_default();
            let outcome =
                session.run(ask.with_fault(FaultMode::FlakyUpstream, FaultTrigger::Rate(1.0)));
            let is_silent = answers(&outcome) == ["silence"];
            is_silent.then(|| outcome.upstream.expect("it answered").without_timeout)
        })
    };
    assert_eq!(silent("get_without_timeout"), Some(1));
    assert_eq!(silent("get"), Some(0));
}

fn answers_take_as_long_as_the_link_says(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let mut took = |network: NetworkConditions, body: &str, limits: &[Limit]| {
        let ask = build_call("took")
            .with([Value::from(UPSTREAM_URL)])
            .answered(vec![mock("*", body)], false);
        let outcome = session.run(ask.on_link(network));
        for limit in limits {
            assert!(
                is_enforced_by(&outcome, *limit, LimitMechanism::Harness),
                "{limit}: {outcome:#?}"
            );
        }
        assert_eq!(outcome.unenforced, []);
        numbers(returned(&outcome))
    };
    let far = NetworkConditions { latency_ms: 150.0, ..NetworkConditions::default() };
    let times = took(far, "{}", &[Limit::NetworkLatency]);
    assert_near(times[0], 0.3, "connecting");
    assert_near(times[1], 0.3, "the answer");
    let narrow =
        NetworkConditions { bits_per_second: Some(400_000), ..NetworkConditions::default() };
    let times = took(narrow, &"x".repeat(40_000), &[Limit::Bandwidth]);
    assert_near(times[1] + times[2], 0.8, "40 kB at 400 kbit/s");
    let times = took(NetworkConditions::default(), "{}", &[]);
    assert!(times[0] + times[1] < 0.2, "{times:?}");
}

fn a_peer_that_is_cut_off_cannot_be_reached_while_others_can(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let partition = vec![
        PartitionPeer { host: Some("far.example".to_owned()), port: None },
        PartitionPeer { host: None, port: Some(81) },
    ];
    let link = NetworkConditions { partition, ..NetworkConditions::default() };
    for (host, port, expected) in [
        ("far.example", 80, "OSError"),
        ("near.example", 80, "connected"),
        ("near.example", 81, "OSError"),
    ] {
        let ask = build_call("reach").with([Value::from(host), Value::Int(port)]).by_default();
        let outcome = session.run(ask.on_link(link.clone()));
        assert_eq!(text(returned(&outcome)), expected, "{host}:{port}");
        assert!(
            is_enforced_by(&outcome, Limit::Partition, LimitMechanism::Harness),
            "{outcome:#?}"
        );
    }
    assert_no_answers(&mut session, tier);
}

fn some_are_cut_off_as_the_seed_says(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let parted = FaultMode::NetworkPartition;
    let hosts: Vec<String> = (0..12).map(|number| format!("host{number}.example")).collect();
    let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    let mut reached = |seed, share| {
        let ask = build_call("reach_all").with([list(&[&hosts[..], &hosts[..]].concat())]);
        let ask = ask.seed(seed).by_default().with_fault(parted, FaultTrigger::Rate(share));
        let outcome = session.run(ask);
        assert!(is_enforced_by(&outcome, Limit::FaultNetworkPartition, LimitMechanism::Harness));
        let found: Vec<bool> =
            items(returned(&outcome)).iter().map(|how| text(how) == "connected").collect();
        let (first, again) = found.split_at(12);
        assert_eq!(first, again, "once cut off, always cut off");
        let severed = first.iter().filter(|reached| !**reached).count() as u64;
        // Where there is a network, its packets are counted as well: none was sent.
        assert_eq!(opportunities_and_injections(&outcome, parted), (12, severed));
        first.to_vec()
    };
    let some = reached(1, 0.4);
    assert!(some.contains(&true) && some.contains(&false), "{some:?}");
    assert_eq!(reached(1, 0.4), some);
    assert_ne!(reached(2, 0.4), some);
    assert!((0..4).all(|seed| !reached(seed, 0.7)[0]));
}

fn connections_to_answers_fail_too(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut spec = bench.spec();
    spec.interposition.sockets = true;
    let mut session = bench.session_of(&spec);
    let mut run = |seed| {
        let ask = build_call("get_all").with([list(&[UPSTREAM_URL; 12])]).seed(seed).by_default();
        let outcome = session.run(ask.with_fault(FaultMode::Network, FaultTrigger::Rate(0.4)));
        assert!(is_enforced_by(&outcome, Limit::FaultNetwork, LimitMechanism::Harness));
        let failed = answers(&outcome).iter().filter(|answer| **answer != "200").count() as u64;
        assert_eq!(opportunities_and_injections(&outcome, FaultMode::Network), (12, failed));
        assert!((1..12).contains(&failed), "{failed} of 12");
        answers(&outcome).join(" ")
    };
    let first = run(1);
    assert_eq!(run(1), first);
    assert_ne!(run(2), first);
    assert_no_answers(&mut session, tier);
}

fn the_host_is_not_asked(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let service = TcpListener::bind("127.0.0.1:0").expect("a port");
    service.set_nonblocking(true).expect("a socket");
    let url = format!("http://{}/", service.local_addr().expect("bound"));
    let outcome = bench.run(build_call("get").with([Value::from(url.as_str())]).by_default());
    assert_eq!(returned(&outcome), &answer(200, "{}"));
    let arrived = service.accept().map_err(|error| error.kind());
    assert_eq!(arrived.err(), Some(std::io::ErrorKind::WouldBlock), "a connection arrived");
}
