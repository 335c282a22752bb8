//! Code that calls out is answered, well or badly, on every tier; nothing of it leaves the process.

use std::net::TcpListener;

use menace_model::{
    Fault, FaultMode, Limit, Mechanism, Mock, Network, Outcome, Peer, Upstream, Value, Verdict,
    When,
};
use menace_sandbox::Tier;

use crate::bench::{Ask, Bench, ask, guest, items, text};
use crate::reading::{assert_in_peace, assert_near, is_held_by, numbers, returned, strikes};

crate::on_every_tier![
    the_first_recorded_answer_that_fits_is_given,
    answers_need_no_network,
    whoever_has_no_answer_cannot_be_reached,
    an_unstable_service_fails_as_the_seed_says,
    a_fault_of_the_service_strikes_when_it_was_asked_to,
    whoever_waits_without_a_timeout_is_told_on,
    answers_take_as_long_as_the_link_says,
    whoever_is_cut_off_cannot_be_reached_while_others_can,
    some_are_cut_off_as_the_seed_says,
    connections_to_answers_fail_too,
    the_host_is_not_asked,
];

const GUEST: &str = guest!("upstream.py");
const URL: &str = "http://api.example/items";

impl Ask {
    fn answered(mut self, mocks: Vec<Mock>, answer_all: bool) -> Self {
        self.0.conditions.upstream = Some(Upstream { mocks, answer_all, failure: None });
        self
    }

    fn by_anybody(self) -> Self {
        self.answered(Vec::new(), true)
    }

    fn with_fault(mut self, mode: FaultMode, when: When) -> Self {
        self.0.conditions.faults.push(Fault { mode, when });
        self
    }

    fn on_link(mut self, network: Network) -> Self {
        self.0.conditions.network = network;
        self
    }
}

fn mock(url: &str, body: &str) -> Mock {
    Mock {
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
    assert!(is_held_by(outcome, Limit::Upstream, Mechanism::Harness), "{outcome:#?}");
    let upstream = outcome.upstream.as_ref().expect("it is held");
    upstream.requests.iter().map(|one| (one.what.as_str(), one.answer.as_str())).collect()
}

fn answers(outcome: &Outcome) -> Vec<&str> {
    requests(outcome).into_iter().map(|(_, answer)| answer).collect()
}

/// Without answers there is nobody to talk to, as before.
fn assert_nobody_answers(session: &mut crate::bench::Session<'_>, tier: Tier) {
    let calm = session.run(ask("get").with([Value::from(URL)]));
    assert_in_peace(&calm);
    if tier.has_namespaces() {
        assert_eq!(text(&items(returned(&calm))[0]), "gaierror");
    } else {
        assert_eq!(calm.verdict, Verdict::Violated, "{calm:#?}");
    }
    session.still_works();
}

fn the_first_recorded_answer_that_fits_is_given(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = bench.session();
    let mocks = vec![
        Mock { times: Some(2), ..mock("http://api.example/items", "first") },
        Mock { method: Some("POST".to_owned()), ..mock("http://api.example/*", "posted") },
        Mock { status: 404, ..mock("http://api.example/*", "later") },
        mock("https://*.example/secure?*", "secure"),
    ];
    let urls = list(&[URL, URL, URL, "https://other.example/secure?a=1"]);
    let mut run = || session.run(ask("get_all").with([urls.clone()]).answered(mocks.clone(), true));
    let (first, again) = (run(), run());
    let expected =
        [answer(200, "first"), answer(200, "first"), answer(404, "later"), answer(200, "secure")];
    assert_eq!(items(returned(&first)), expected);
    let asked = "GET http://api.example/items";
    let secure = "GET https://other.example/secure?a=1";
    let told = [(asked, "200"), (asked, "200"), (asked, "404"), (secure, "200")];
    assert_eq!(requests(&first), told);
    assert_eq!((returned(&again), requests(&again)), (returned(&first), requests(&first)));
    let left = (first.left.threads.as_slice(), first.left.descriptors.as_slice());
    assert_eq!(left, (&[][..], &[][..]));
    assert_eq!((first.notes.as_slice(), first.violations.as_slice()), (&[][..], &[][..]));
    assert_nobody_answers(&mut session, tier);
}

fn answers_need_no_network(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    for (level, safe_mode) in [(3, true), (4, false), (5, false)] {
        let mut spec = bench.spec();
        (spec.security_level, spec.safe_mode) = (level, safe_mode);
        let mut session = bench.session_of(&spec);
        let ask_for = || ask("get").with([Value::from("https://api.example/")]);
        let outcome = session.run(ask_for().answered(vec![mock("*", "[1]")], false));
        let what = format!("level {level}, safe mode {safe_mode}: {outcome:#?}");
        assert_eq!(outcome.verdict, Verdict::Returned, "{what}");
        assert_eq!(returned(&outcome), &answer(200, "[1]"), "{what}");
        assert_eq!(outcome.unenforced, [], "{what}");
        // And without answers, calling out leads nowhere.
        let alone = session.run(ask_for());
        let told = alone.value.and_then(|value| value.value);
        assert_ne!(told.as_ref(), Some(returned(&outcome)), "{what}");
    }
}

fn whoever_has_no_answer_cannot_be_reached(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = bench.session();
    let urls = list(&[URL, "http://api.example/other", "http://far.example/"]);
    let outcome = session.run(ask("get_all").with([urls]).answered(vec![mock(URL, "[]")], false));
    let found: Vec<&Value> = items(returned(&outcome)).iter().map(|one| &items(one)[0]).collect();
    assert_eq!(found[0], &Value::Int(200));
    assert_eq!(text(found[1]), "ConnectionResetError");
    assert_eq!(text(found[2]), "ConnectionRefusedError");
    assert_eq!(answers(&outcome), ["200", "refused", "refused"]);
}

fn an_unstable_service_fails_as_the_seed_says(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = bench.session();
    let mut failed = |seed| {
        let ask = ask("get").with([Value::from(URL)]).seed(seed).by_anybody();
        let outcome = session.run(ask.with_fault(FaultMode::FlakyUpstream, When::Rate(1.0)));
        assert_eq!(strikes(&outcome, FaultMode::FlakyUpstream), (1, 1));
        assert!(is_held_by(&outcome, Limit::FaultFlakyUpstream, Mechanism::Harness));
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
    assert_nobody_answers(&mut session, tier);
}

fn a_fault_of_the_service_strikes_when_it_was_asked_to(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = bench.session();
    let flaky = FaultMode::FlakyUpstream;
    let mut good = |when, count| {
        let ask = ask("get_all").with([list(&vec![URL; count])]).by_anybody();
        let outcome = session.run(ask.with_fault(flaky, when));
        let good: Vec<bool> = answers(&outcome).iter().map(|answer| *answer == "200").collect();
        let struck = good.iter().filter(|good| !**good).count() as u64;
        assert_eq!(strikes(&outcome, flaky), (count as u64, struck));
        good
    };
    assert_eq!(good(When::Nth(3), 5), [true, true, false, true, true]);
    // One that fails more often than not fails those who ask once, too.
    assert_eq!(good(When::Rate(0.7), 1), [false]);
    let some = good(When::Rate(0.5), 30);
    assert!((5..25).contains(&some.iter().filter(|good| **good).count()), "{some:?}");
    assert_eq!(good(When::Rate(0.5), 30), some);
}

fn whoever_waits_without_a_timeout_is_told_on(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = bench.session();
    let mut silent = |name: &str| {
        (0..60).find_map(|seed| {
            let ask = ask(name).with([Value::from(URL)]).seed(seed).by_anybody();
            let outcome = session.run(ask.with_fault(FaultMode::FlakyUpstream, When::Rate(1.0)));
            let is_silent = answers(&outcome) == ["silence"];
            is_silent.then(|| outcome.upstream.expect("it answered").without_timeout)
        })
    };
    assert_eq!(silent("get_without_timeout"), Some(1));
    assert_eq!(silent("get"), Some(0));
}

fn answers_take_as_long_as_the_link_says(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = bench.session();
    let mut took = |network: Network, body: &str, limits: &[Limit]| {
        let ask = ask("took").with([Value::from(URL)]).answered(vec![mock("*", body)], false);
        let outcome = session.run(ask.on_link(network));
        for limit in limits {
            assert!(is_held_by(&outcome, *limit, Mechanism::Harness), "{limit}: {outcome:#?}");
        }
        assert_eq!(outcome.unenforced, []);
        numbers(returned(&outcome))
    };
    let far = Network { latency_ms: 150.0, ..Network::default() };
    let times = took(far, "{}", &[Limit::NetworkLatency]);
    assert_near(times[0], 0.3, "connecting");
    assert_near(times[1], 0.3, "the answer");
    let narrow = Network { bits_per_second: Some(400_000), ..Network::default() };
    let times = took(narrow, &"x".repeat(40_000), &[Limit::Bandwidth]);
    assert_near(times[1] + times[2], 0.8, "40 kB at 400 kbit/s");
    let times = took(Network::default(), "{}", &[]);
    assert!(times[0] + times[1] < 0.2, "{times:?}");
}

fn whoever_is_cut_off_cannot_be_reached_while_others_can(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = bench.session();
    let partition = vec![
        Peer { host: Some("far.example".to_owned()), port: None },
        Peer { host: None, port: Some(81) },
    ];
    let link = Network { partition, ..Network::default() };
    for (host, port, expected) in [
        ("far.example", 80, "OSError"),
        ("near.example", 80, "connected"),
        ("near.example", 81, "OSError"),
    ] {
        let ask = ask("reach").with([Value::from(host), Value::Int(port)]).by_anybody();
        let outcome = session.run(ask.on_link(link.clone()));
        assert_eq!(text(returned(&outcome)), expected, "{host}:{port}");
        assert!(is_held_by(&outcome, Limit::Partition, Mechanism::Harness), "{outcome:#?}");
    }
    assert_nobody_answers(&mut session, tier);
}

fn some_are_cut_off_as_the_seed_says(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = bench.session();
    let parted = FaultMode::NetworkPartition;
    let hosts: Vec<String> = (0..12).map(|number| format!("host{number}.example")).collect();
    let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    let mut reached = |seed, share| {
        let ask = ask("reach_all").with([list(&[&hosts[..], &hosts[..]].concat())]);
        let ask = ask.seed(seed).by_anybody().with_fault(parted, When::Rate(share));
        let outcome = session.run(ask);
        assert!(is_held_by(&outcome, Limit::FaultNetworkPartition, Mechanism::Harness));
        let found: Vec<bool> =
            items(returned(&outcome)).iter().map(|how| text(how) == "connected").collect();
        let (first, again) = found.split_at(12);
        assert_eq!(first, again, "once cut off, always cut off");
        let severed = first.iter().filter(|reached| !**reached).count() as u64;
        // Where there is a network, its packets are counted as well: nobody sent one.
        assert_eq!(strikes(&outcome, parted), (12, severed));
        first.to_vec()
    };
    let some = reached(1, 0.4);
    assert!(some.contains(&true) && some.contains(&false), "{some:?}");
    assert_eq!(reached(1, 0.4), some);
    assert_ne!(reached(2, 0.4), some);
    assert!((0..4).all(|seed| !reached(seed, 0.7)[0]));
}

fn connections_to_answers_fail_too(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut spec = bench.spec();
    spec.interpose.sockets = true;
    let mut session = bench.session_of(&spec);
    let mut run = |seed| {
        let ask = ask("get_all").with([list(&[URL; 12])]).seed(seed).by_anybody();
        let outcome = session.run(ask.with_fault(FaultMode::Network, When::Rate(0.4)));
        assert!(is_held_by(&outcome, Limit::FaultNetwork, Mechanism::Harness));
        let failed = answers(&outcome).iter().filter(|answer| **answer != "200").count() as u64;
        assert_eq!(strikes(&outcome, FaultMode::Network), (12, failed));
        assert!((1..12).contains(&failed), "{failed} of 12");
        answers(&outcome).join(" ")
    };
    let first = run(1);
    assert_eq!(run(1), first);
    assert_ne!(run(2), first);
    assert_nobody_answers(&mut session, tier);
}

fn the_host_is_not_asked(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let service = TcpListener::bind("127.0.0.1:0").expect("a port");
    service.set_nonblocking(true).expect("a socket");
    let url = format!("http://{}/", service.local_addr().expect("bound"));
    let outcome = bench.run(ask("get").with([Value::from(url.as_str())]).by_anybody());
    assert_eq!(returned(&outcome), &answer(200, "{}"));
    let arrived = service.accept().map_err(|error| error.kind());
    assert_eq!(arrived.err(), Some(std::io::ErrorKind::WouldBlock), "somebody connected");
}
