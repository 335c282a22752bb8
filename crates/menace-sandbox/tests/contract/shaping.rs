//! A bad network is as bad as requested, for the call that requested it and no other.
//!
//! Where there is no network to make bad, the outcome says so.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use menace_model::{
    FaultMode, FaultSpec, FaultTrigger, Limit, LimitMechanism, NetworkConditions, Outcome,
    PartitionPeer, Value, Verdict,
};
use menace_sandbox::Tier;

use crate::bench::{
    CallBuilder, ContractBench, ContractSession, build_call, entry, guest, items, text,
};
use crate::reading::{assert_near, fault_stats, number, numbers, returned as value};

crate::on_every_tier![
    latency_is_that_of_one_way,
    jitter_goes_both_ways,
    streams_keep_to_the_rate,
    datagrams_keep_to_the_rate,
    a_long_way_does_not_make_a_narrow_one,
    a_flood_is_held_up_and_nothing_else,
    datagrams_get_lost_as_the_seed_says,
    datagrams_arrive_twice_as_the_seed_says,
    a_port_that_is_cut_off_cannot_be_reached_while_others_can,
    a_host_that_is_cut_off_cannot_be_reached_while_others_can,
    some_of_its_peers_are_cut_off_as_the_seed_says,
    a_transfer_comes_through_everything_at_once,
    waiting_for_a_peer_that_is_cut_off_ends_with_the_deadline,
    the_next_call_notices_nothing,
    what_tcp_learns_about_a_network_is_forgotten,
    the_host_notices_nothing,
    a_bad_network_takes_no_process_of_the_call,
    what_has_no_network_says_so,
];

const GUEST: &str = guest!("shaping.py");
const PERFECT_NETWORK: NetworkConditions = NetworkConditions {
    latency_ms: 0.0,
    jitter_ms: 0.0,
    loss: 0.0,
    duplication: 0.0,
    bits_per_second: None,
    partition: Vec::new(),
};

impl CallBuilder {
    fn over(mut self, network: &NetworkConditions) -> Self {
        self.0.conditions.network = network.clone();
        self
    }
}

/// A call over such a network where there is one; elsewhere what it lacks has to be listed.
fn run(
    session: &mut ContractSession<'_>,
    tier: Tier,
    wanted: &[Limit],
    ask: CallBuilder,
) -> Option<Outcome> {
    let mut fine = crate::bench::build_call("fine");
    fine.0.conditions.clone_from(&ask.0.conditions);
    let outcome = session.run(if tier.has_namespaces() { ask } else { fine });
    let is_held = |limit: &&Limit| outcome.enforced_by.contains_key(limit);
    let held: Vec<&Limit> = wanted.iter().filter(is_held).collect();
    if tier.has_namespaces() {
        assert_eq!(held, wanted.iter().collect::<Vec<_>>(), "{outcome:#?}");
        let by = wanted.iter().map(|limit| &outcome.enforced_by[limit]);
        assert!(by.clone().all(|by| *by == [LimitMechanism::Nfqueue]), "{outcome:#?}");
        assert_eq!(outcome.unenforced, []);
        return Some(outcome);
    }
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    assert_eq!((held.len(), outcome.unenforced.as_slice()), (0, wanted));
    assert_eq!(outcome.fault_stats, []);
    None
}

fn integers(value: &Value) -> Vec<i64> {
    let integer = |value: &Value| match value {
        Value::Int(number) => *number,
        other => panic!("not an integer: {other:?}"),
    };
    items(value).iter().map(integer).collect()
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

const TRANSPORTS: [&str; 5] = ["udp4", "udp6", "tcp4", "tcp6", "refused"];

fn trips(value: &Value, way: &str) -> Vec<f64> {
    numbers(entry(value, way))
}

fn latency_is_that_of_one_way(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let network = NetworkConditions { latency_ms: 80.0, ..PERFECT_NETWORK };
    let ask = build_call("round_trips").with([Value::Int(5)]).over(&network);
    let wanted = [Limit::NetworkLatency];
    let Some(outcome) = run(&mut bench.session(), tier, &wanted, ask) else { return };
    for way in TRANSPORTS {
        assert_near(median(trips(value(&outcome), way)), 160.0, way);
    }
    let stats = fault_stats(&outcome, FaultMode::Network);
    assert_eq!(
        (stats.injected, stats.opportunities >= 40),
        (stats.opportunities, true),
        "{stats:?}"
    );
    assert!(stats.last_injected_ms.is_some_and(|last| last > 4.0 * 160.0), "{stats:?}");
    assert!(
        stats.first_injected.as_ref().is_some_and(|first| first.contains("held up")),
        "{stats:?}"
    );
}

fn jitter_goes_both_ways(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let network = NetworkConditions { latency_ms: 60.0, jitter_ms: 50.0, ..PERFECT_NETWORK };
    let wanted = [Limit::NetworkLatency, Limit::NetworkJitter];
    let mut session = bench.session();
    let round_trips = build_call("round_trips").with([Value::Int(8)]).over(&network);
    let Some(outcome) = run(&mut session, tier, &wanted, round_trips) else { return };
    let all: Vec<f64> = TRANSPORTS.iter().flat_map(|way| trips(value(&outcome), way)).collect();
    let (least, most) = all
        .iter()
        .fold((f64::MAX, f64::MIN), |(low, high), trip| (low.min(*trip), high.max(*trip)));
    // Two ways of anything from 10 to 110 ms; that 40 of them are all alike cannot be.
    assert!((20.0..100.0).contains(&least), "{least} ms: {all:?}");
    assert!(most > 140.0, "{most} ms: {all:?}");
    // Packet by packet what the seed says: only that is the same twice.
    let mut alone = |seed| {
        let ask = build_call("alone").with([Value::Int(10)]).seed(seed).over(&network);
        numbers(value(&run(&mut session, tier, &wanted, ask).expect("there is a network")))
    };
    let between = |one: &[f64], other: &[f64]| {
        median(one.iter().zip(other).map(|(one, other)| (one - other).abs()).collect())
    };
    let (first, again, other) = (alone(1), alone(1), alone(2));
    assert!(between(&first, &again) < 8.0, "{first:?} and {again:?}");
    assert!(between(&first, &other) > 8.0, "{first:?} and {other:?}");
    // One flow, sent faster than its packets are spread, stays in order.
    let ask = build_call("datagrams").with([Value::Int(200)]).over(&network);
    let outcome = run(&mut session, tier, &wanted, ask).expect("there is a network");
    assert_eq!(integers(value(&outcome)), (0..200).collect::<Vec<_>>());
}

fn streams_keep_to_the_rate(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for (rate, size, version, latency_ms) in
        [(1_000_000, 300_032, 4, 0.0), (4_000_000, 1_200_128, 6, 10.0)]
    {
        let network =
            NetworkConditions { bits_per_second: Some(rate), latency_ms, ..PERFECT_NETWORK };
        let latency = (latency_ms > 0.0).then_some(Limit::NetworkLatency);
        let wanted: Vec<Limit> = latency.into_iter().chain([Limit::Bandwidth]).collect();
        let ask =
            build_call("stream_rate").with([Value::Int(size), Value::Int(version)]).over(&network);
        let Some(outcome) = run(&mut session, tier, &wanted, ask) else { continue };
        let [measured, is_whole] = items(value(&outcome)) else { panic!("{outcome:#?}") };
        assert_near(number(measured), rate as f64, "TCP");
        assert_eq!(is_whole, &Value::Bool(true));
    }
}

fn datagrams_keep_to_the_rate(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for (rate, count, size, version) in [(500_000, 100, 1000, 4), (8_000_000, 60, 20_000, 6)] {
        let network = NetworkConditions { bits_per_second: Some(rate), ..PERFECT_NETWORK };
        let arguments = [count, size, version].map(Value::Int);
        let ask = build_call("datagram_rate").with(arguments).over(&network);
        let Some(outcome) = run(&mut session, tier, &[Limit::Bandwidth], ask) else { continue };
        assert_near(number(value(&outcome)), rate as f64, "UDP");
    }
}

fn a_long_way_does_not_make_a_narrow_one(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let network = NetworkConditions { latency_ms: 20.0, ..PERFECT_NETWORK };
    let ask = build_call("stream_rate").with([Value::Int(4 << 20)]).timeout(60_000).over(&network);
    let wanted = [Limit::NetworkLatency];
    let Some(outcome) = run(&mut bench.session(), tier, &wanted, ask) else { return };
    // TCP would come to less than half of it if delayed packets seemed not to be sent yet.
    let rate = number(&items(value(&outcome))[0]);
    assert!(rate > 10_000_000.0, "{rate} bits per second");
}

fn a_flood_is_held_up_and_nothing_else(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let wanted = [Limit::NetworkLatency, Limit::PacketDuplication];
    let network = NetworkConditions { latency_ms: 20.0, duplication: 0.01, ..PERFECT_NETWORK };
    let arguments = [2000, 4, 1000].map(Value::Int);
    let ask = build_call("datagrams").with(arguments).timeout(30_000).over(&network);
    let Some(outcome) = run(&mut session, tier, &wanted, ask) else { return };
    // None was lost because the queue was full.
    assert_eq!(
        fault_stats(&outcome, FaultMode::Network).opportunities,
        2000,
        "{:?}",
        outcome.fault_stats
    );
    let arrived = outcome.result.value.and_then(|value| value.length);
    assert!(arrived.is_some_and(|count| count > 1000), "{arrived:?}");
}

fn datagrams_get_lost_as_the_seed_says(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let network = NetworkConditions { loss: 0.2, ..PERFECT_NETWORK };
    let mut arrived = |seed, version| {
        let arguments = [300, version].map(Value::Int);
        let ask = build_call("datagrams").with(arguments).seed(seed).over(&network);
        let outcome = run(&mut session, tier, &[Limit::PacketLoss], ask)?;
        let arrived = integers(value(&outcome));
        let stats = fault_stats(&outcome, FaultMode::Network);
        assert_eq!(
            (stats.opportunities, stats.injected),
            (300, 300 - arrived.len() as u64),
            "{stats:?}"
        );
        Some(arrived)
    };
    let Some(first) = arrived(1, 4) else { return };
    // Of 300, four standard deviations of the binomial distribution.
    assert!((212..268).contains(&first.len()), "{} arrived", first.len());
    assert!(first.is_sorted_by(|one, next| one < next), "{first:?}");
    assert_eq!(arrived(1, 4).as_ref(), Some(&first));
    assert_eq!(arrived(1, 6).as_ref(), Some(&first));
    assert_ne!(arrived(2, 4).as_ref(), Some(&first));
    assert_near(count_affected_packets(&mut session, &network), 0.2 * PACKET_COUNT as f64, "lost");
}

/// Of so many, a fifth of what was asked for is more than four standard deviations for shares of
/// 0.2 and above.
const PACKET_COUNT: u64 = 2000;

/// How many of [`MANY`] datagrams were lost or doubled.
fn count_affected_packets(session: &mut ContractSession<'_>, network: &NetworkConditions) -> f64 {
    let ask =
        build_call("datagrams").with([Value::Int(PACKET_COUNT.cast_signed())]).timeout(30_000);
    let outcome = session.run(ask.over(network));
    let stats = fault_stats(&outcome, FaultMode::Network);
    assert_eq!(stats.opportunities, PACKET_COUNT, "{stats:?}");
    stats.injected as f64
}

fn datagrams_arrive_twice_as_the_seed_says(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let network = NetworkConditions { duplication: 0.3, ..PERFECT_NETWORK };
    let mut arrived = |seed, version, count: i64, size| {
        let arguments = [count, version, size].map(Value::Int);
        let ask = build_call("datagrams").with(arguments).seed(seed).over(&network);
        let outcome = run(&mut session, tier, &[Limit::PacketDuplication], ask)?;
        let arrived = integers(value(&outcome));
        let mut once = arrived.clone();
        once.dedup();
        assert_eq!(once, (0..count).collect::<Vec<_>>(), "{arrived:?}");
        let twice = arrived.len() as u64 - count.unsigned_abs();
        assert_eq!(fault_stats(&outcome, FaultMode::Network).injected, twice);
        Some(arrived)
    };
    let Some(first) = arrived(1, 4, 100, 2) else { return };
    assert!((112..149).contains(&first.len()), "{} arrived", first.len());
    assert_eq!(arrived(1, 4, 100, 2).as_ref(), Some(&first));
    assert_eq!(arrived(1, 6, 100, 2).as_ref(), Some(&first));
    assert_ne!(arrived(2, 4, 100, 2).as_ref(), Some(&first));
    // Larger than what goes over a wire in one piece.
    for version in [4, 6] {
        let few: Vec<i64> = first.iter().copied().filter(|number| *number < 10).collect();
        assert_eq!(arrived(1, version, 10, 15_000), Some(few));
    }
    assert_near(
        count_affected_packets(&mut session, &network),
        0.3 * PACKET_COUNT as f64,
        "doubled",
    );
    // The largest cannot be seen as a whole: they arrive once, unharmed.
    let network = NetworkConditions { duplication: 1.0, ..PERFECT_NETWORK };
    for (size, expected) in [(65_000, vec![0, 0, 1, 1]), (65_507, vec![0, 1])] {
        let ask = build_call("datagrams").with([2, 4, size].map(Value::Int)).over(&network);
        assert_eq!(integers(&session.value(ask)), expected, "{size} bytes");
    }
}

fn peer(host: Option<&str>, port: Option<u16>) -> PartitionPeer {
    PartitionPeer { host: host.map(str::to_owned), port }
}

fn texts(value: &Value) -> Vec<&str> {
    items(value).iter().map(text).collect()
}

fn a_port_that_is_cut_off_cannot_be_reached_while_others_can(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let network = NetworkConditions { partition: vec![peer(None, Some(7001))], ..PERFECT_NETWORK };
    for version in [4, 6] {
        let ports = Value::List([7001, 7002].map(Value::Int).to_vec());
        let ask = build_call("reach").with([ports, Value::Int(version)]).over(&network);
        let Some(outcome) = run(&mut session, tier, &[Limit::Partition], ask) else { continue };
        let [cut_off, other] = items(value(&outcome)) else { panic!("{outcome:#?}") };
        // No peer answers, not even to refuse.
        for how in texts(cut_off) {
            assert!(matches!(how, "timeout" | "TimeoutError"), "{how}");
        }
        assert_eq!(texts(other), ["connected", "answered"]);
        let stats = fault_stats(&outcome, FaultMode::NetworkPartition);
        assert!(stats.injected >= 2 && stats.injected < stats.opportunities, "{stats:?}");
    }
}

fn a_host_that_is_cut_off_cannot_be_reached_while_others_can(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let addresses = ["127.0.0.1", "127.0.0.2", "::1"];
    for (host, reached) in [
        ("127.0.0.2", [true, false, true]),
        ("::1", [true, true, false]),
        // Its connections to the second come from the first.
        ("localhost", [false, false, false]),
        ("api.example.com", [true, true, true]),
    ] {
        let network =
            NetworkConditions { partition: vec![peer(Some(host), None)], ..PERFECT_NETWORK };
        let list = Value::List(addresses.map(Value::from).to_vec());
        let ask = build_call("reach_addresses").with([list]).over(&network);
        let Some(outcome) = run(&mut session, tier, &[Limit::Partition], ask) else { continue };
        let found: Vec<bool> =
            texts(value(&outcome)).into_iter().map(|how| how == "connected").collect();
        assert_eq!(found, reached, "{host}");
    }
}

fn some_of_its_peers_are_cut_off_as_the_seed_says(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let wanted = [Limit::FaultNetworkPartition];
    let mut reached = |seed, port: i64| {
        let ports = Value::List((port..port + 8).map(Value::Int).collect());
        let mut ask = build_call("reach").with([ports]).seed(seed).timeout(30_000);
        let when = FaultTrigger::Rate(0.4);
        ask.0.conditions.faults =
            vec![FaultSpec { mode: FaultMode::NetworkPartition, trigger: when }];
        let outcome = run(&mut session, tier, &wanted, ask)?;
        let stats = fault_stats(&outcome, FaultMode::NetworkPartition);
        let ways = items(value(&outcome)).iter().map(texts);
        let all: Vec<bool> = ways.map(|ways| ways == ["connected", "answered"]).collect();
        assert!(stats.injected > 0 && stats.injected < stats.opportunities, "{stats:?}");
        Some(all)
    };
    let Some(first) = reached(1, 7100) else { return };
    assert!(first.contains(&true) && first.contains(&false), "{first:?}");
    // Which one it is counts, not what port it happens to have.
    assert_eq!(reached(1, 7200).as_ref(), Some(&first));
    assert_ne!(reached(2, 7100).as_ref(), Some(&first));
    let ports = Value::List(vec![Value::Int(7100)]);
    let calm = session.value(build_call("reach").with([ports]));
    assert_eq!(texts(&items(&calm)[0]), ["connected", "answered"]);
}

fn a_transfer_comes_through_everything_at_once(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let network = NetworkConditions {
        latency_ms: 3.0,
        jitter_ms: 2.0,
        loss: 0.03,
        duplication: 0.03,
        bits_per_second: Some(20_000_000),
        partition: vec![peer(Some("127.0.0.9"), None)],
    };
    let wanted = [
        Limit::NetworkLatency,
        Limit::NetworkJitter,
        Limit::PacketLoss,
        Limit::PacketDuplication,
        Limit::Bandwidth,
        Limit::Partition,
    ];
    for version in [4, 6] {
        let arguments = [1 << 20, version].map(Value::Int);
        let ask = build_call("stream_rate").with(arguments).timeout(60_000).over(&network);
        let Some(outcome) = run(&mut session, tier, &wanted, ask) else { continue };
        assert_eq!(items(value(&outcome))[1], Value::Bool(true));
        assert!(
            fault_stats(&outcome, FaultMode::Network).opportunities > 700,
            "{:?}",
            outcome.fault_stats
        );
        // No peer that is cut off was talked to, and the failure mode was not requested.
        let modes: Vec<FaultMode> = outcome.fault_stats.iter().map(|stats| stats.mode).collect();
        assert_eq!(modes, [FaultMode::Network]);
    }
}

fn waiting_for_a_peer_that_is_cut_off_ends_with_the_deadline(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let network = NetworkConditions { partition: vec![peer(None, Some(7003))], ..PERFECT_NETWORK };
    let ask = build_call("connect_patiently").with([Value::Int(7003)]).timeout(400).over(&network);
    let Some(outcome) = run(&mut session, tier, &[Limit::Partition], ask) else { return };
    assert_eq!(outcome.verdict, Verdict::TimedOut, "{outcome:#?}");
    let total = outcome.runtime_metrics.total_ms;
    assert!((400.0..650.0).contains(&total), "dead after {total} ms");
    session.assert_still_works();
}

fn the_next_call_notices_nothing(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let terrible = NetworkConditions {
        latency_ms: 500.0,
        jitter_ms: 100.0,
        loss: 0.5,
        duplication: 0.5,
        bits_per_second: Some(50_000),
        partition: vec![peer(None, Some(7005))],
    };
    let wanted = [
        Limit::NetworkLatency,
        Limit::NetworkJitter,
        Limit::PacketLoss,
        Limit::PacketDuplication,
        Limit::Bandwidth,
        Limit::Partition,
    ];
    // Connections cannot be relied on there.
    let slow = NetworkConditions { loss: 0.0, partition: Vec::new(), ..terrible.clone() };
    for round in 0..2 {
        let transfer = build_call("leave_a_transfer").with([Value::Int(7004)]).over(&slow);
        let without = [wanted[0], wanted[1], wanted[3], wanted[4]];
        if run(&mut session, tier, &without, transfer).is_none() {
            session.assert_still_works();
            return;
        }
        let ask_again =
            build_call("datagrams").with([Value::Int(100)]).timeout(300).over(&terrible);
        run(&mut session, tier, &wanted, ask_again).expect("there is a network");
        // Its ports are free, its packets gone.
        assert_eq!(
            session.value(build_call("is_free").with([Value::Int(7004)])),
            Value::Bool(true)
        );
        let arrived = session.value(build_call("datagrams").with([Value::Int(100)]));
        assert_eq!(integers(&arrived), (0..100).collect::<Vec<_>>(), "round {round}");
        let reached = build_call("reach").with([Value::List(vec![Value::Int(7005)])]);
        assert_eq!(texts(&items(&session.value(reached))[0]), ["connected", "answered"]);
        let outcome = session.run(build_call("round_trips").with([Value::Int(9)]));
        for way in TRANSPORTS {
            let took = median(trips(value(&outcome), way));
            assert!(took < 100.0, "{way} took {took} ms in round {round}");
        }
        assert_eq!((outcome.unenforced.len(), outcome.fault_stats.len()), (0, 0), "{outcome:#?}");
        assert!(wanted.iter().all(|limit| !outcome.enforced_by.contains_key(limit)));
    }
}

fn what_tcp_learns_about_a_network_is_forgotten(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let network = NetworkConditions { latency_ms: 150.0, ..PERFECT_NETWORK };
    for _ in 0..2 {
        let wanted = [Limit::NetworkLatency];
        if run(&mut session, tier, &wanted, build_call("converse").over(&network)).is_none() {
            return;
        }
        let timeout = number(&session.value(build_call("retransmission_timeout_ms")));
        assert!(timeout < 300.0, "it would wait for {timeout} ms");
    }
}

/// How long a datagram takes from the host to itself.
fn trip_of_the_host() -> Duration {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let began = Instant::now();
    socket.send_to(b"?", socket.local_addr().expect("bound")).expect("reachable");
    socket.recv(&mut [0]).expect("it arrives");
    began.elapsed()
}

/// Queues of the network namespace that this test is in.
fn queues_of_the_host() -> String {
    std::fs::read_to_string("/proc/self/net/netfilter/nfnetlink_queue").unwrap_or_default()
}

fn the_host_notices_nothing(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let network = NetworkConditions { latency_ms: 400.0, ..PERFECT_NETWORK };
    let before = queues_of_the_host();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| {
            let ask = build_call("round_trips").with([Value::Int(1)]).over(&network);
            run(&mut bench.session(), tier, &[Limit::NetworkLatency], ask)
        });
        while !call.is_finished() {
            let took = trip_of_the_host();
            assert!(took < Duration::from_millis(300), "{took:?}");
            assert_eq!(queues_of_the_host(), before);
            std::thread::sleep(Duration::from_millis(5));
        }
        if let Some(outcome) = call.join().expect("it does not panic") {
            assert!(trips(value(&outcome), "udp4")[0] >= 800.0);
        }
    });
}

fn a_bad_network_takes_no_process_of_the_call(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut spec = bench.spec();
    spec.import_limits.processes = 8;
    let mut session = bench.session_of(&spec);
    let network = NetworkConditions { latency_ms: 1.0, ..PERFECT_NETWORK };
    let ask = build_call("threads").with([Value::Int(8)]).limited(|limits| limits.processes = 8);
    let wanted = [Limit::NetworkLatency];
    let Some(outcome) = run(&mut session, tier, &wanted, ask.over(&network)) else { return };
    assert_eq!(value(&outcome), &Value::Int(8));
}

fn what_has_no_network_says_so(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let network = NetworkConditions { latency_ms: 50.0, loss: 0.1, ..PERFECT_NETWORK };
    let wanted = [Limit::NetworkLatency, Limit::PacketLoss];
    for (level, safe_mode) in [(4, false), (5, false), (3, true)] {
        let mut spec = bench.spec();
        (spec.confinement.security_level, spec.confinement.safe_mode) =
            (level.try_into().unwrap(), safe_mode);
        let outcome = bench.session_of(&spec).run(build_call("fine").over(&network));
        assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
        assert_eq!(outcome.unenforced, wanted, "level {level}, safe mode {safe_mode}");
        assert_eq!(outcome.fault_stats, []);
    }
}
