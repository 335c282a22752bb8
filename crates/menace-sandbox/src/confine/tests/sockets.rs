//! Sockets, by level.

use super::{
    ConfinedRun, ConfinementPolicy, ConfinementTrial, ViolationKind, int, policy, safe_policy,
};

fn socket(family: i32, kind: i32, protocol: i32) -> (i64, [u64; 6]) {
    let kind = kind | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    (libc::SYS_socket, [int(family), int(kind), int(protocol), 0, 0, 0])
}

/// Without flags.
fn plain(family: i32, kind: i32) -> (i64, [u64; 6]) {
    (libc::SYS_socket, [int(family), int(kind), 0, 0, 0, 0])
}

fn pair(family: i32, kind: i32, into: &mut [i32; 2]) -> (i64, [u64; 6]) {
    (libc::SYS_socketpair, [int(family), int(kind), 0, into.as_mut_ptr() as u64, 0, 0])
}

fn internet(policy: ConfinementPolicy) -> ConfinedRun {
    ConfinementTrial::new(policy).calls(&[
        socket(libc::AF_INET, libc::SOCK_STREAM, 0),
        socket(libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_UDP),
        socket(libc::AF_INET6, libc::SOCK_STREAM, libc::IPPROTO_TCP),
        socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE),
    ])
}

#[test]
fn internet_sockets_can_be_made_up_to_level_3() {
    for level in 1..=3 {
        let seen = internet(policy(level));
        assert!(seen.violations.is_empty(), "{seen:?}");
        assert!(seen.numbers().iter().all(|fd| *fd >= 0), "{seen:?}");
    }
}

#[test]
fn internet_sockets_are_refused_from_level_4_on_and_in_safe_mode() {
    let safe = (1..=5).map(safe_policy);
    for policy in safe.chain([policy(4), policy(5)]) {
        let seen = internet(policy);
        assert_eq!(seen.kinds(), [ViolationKind::Network; 4]);
        assert_eq!(seen.details()[0], "socket(AF_INET, SOCK_STREAM, 0)");
        assert_eq!(seen.numbers(), [-i64::from(libc::EACCES); 4]);
    }
}

#[test]
fn raw_and_strange_sockets_are_refused_at_every_level() {
    for level in 1..=5 {
        let seen = ConfinementTrial::new(policy(level)).calls(&[
            socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP),
            socket(libc::AF_INET6, libc::SOCK_RAW, libc::IPPROTO_ICMPV6),
            socket(libc::AF_PACKET, libc::SOCK_RAW, 0),
            socket(libc::AF_VSOCK, libc::SOCK_STREAM, 0),
            socket(libc::AF_ALG, libc::SOCK_SEQPACKET, 0),
            socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_KOBJECT_UEVENT),
        ]);
        assert_eq!(
            seen.details(),
            [
                "socket(AF_INET, SOCK_RAW, 1)",
                "socket(AF_INET6, SOCK_RAW, 58)",
                "socket(AF_PACKET, SOCK_RAW, 0)",
                "socket(AF_VSOCK, SOCK_STREAM, 0)",
                "socket(AF_ALG, SOCK_SEQPACKET, 0)",
                "socket(AF_NETLINK, SOCK_RAW, 15)",
            ]
        );
        assert_eq!(seen.numbers()[0], -i64::from(libc::EACCES));
        assert_eq!(seen.numbers()[3], -i64::from(libc::EAFNOSUPPORT));
    }
}

#[test]
fn level_3_knows_tcp_and_udp_only() {
    let strange = [
        socket(libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_SCTP),
        socket(libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_ICMP),
    ];
    assert_eq!(
        ConfinementTrial::new(policy(3)).calls(&strange).kinds(),
        [ViolationKind::Network; 2]
    );
    assert!(ConfinementTrial::new(policy(2)).calls(&strange).violations.is_empty());
}

#[test]
fn unix_sockets_can_be_made_up_to_level_3() {
    for level in 1..=3 {
        let mut into = [0; 2];
        let seen = ConfinementTrial::new(policy(level)).calls(&[
            socket(libc::AF_UNIX, libc::SOCK_STREAM, 0),
            socket(libc::AF_UNIX, libc::SOCK_DGRAM, 0),
            pair(libc::AF_UNIX, libc::SOCK_DGRAM, &mut into),
        ]);
        assert!(seen.violations.is_empty(), "{seen:?}");
        assert!(seen.numbers().iter().all(|result| *result >= 0), "{seen:?}");
    }
}

#[test]
fn only_pairs_that_stay_pairs_are_left_where_a_socket_of_the_host_is_in_sight() {
    for level in 1..=3 {
        let (mut one, mut other) = ([0; 2], [0; 2]);
        let seen = ConfinementTrial::new(ConfinementPolicy {
            host_sockets_visible: true,
            ..policy(level)
        })
        .calls(&[
            socket(libc::AF_INET, libc::SOCK_STREAM, 0),
            pair(libc::AF_UNIX, libc::SOCK_STREAM, &mut one),
            pair(libc::AF_UNIX, libc::SOCK_DGRAM, &mut other),
            plain(libc::AF_UNIX, libc::SOCK_STREAM),
            plain(libc::AF_UNIX, libc::SOCK_DGRAM),
        ]);
        assert_eq!(seen.kinds(), [ViolationKind::Network; 3]);
        assert!(seen.numbers()[..2].iter().all(|result| *result >= 0), "{seen:?}");
        assert_eq!(seen.numbers()[2..], [-i64::from(libc::EACCES); 3]);
    }
}

#[test]
fn only_pairs_that_stay_pairs_are_left_from_level_4_on_and_in_safe_mode() {
    let safe = (1..=5).map(safe_policy);
    for policy in safe.chain([policy(4), policy(5)]) {
        let (mut one, mut other, mut third) = ([0; 2], [0; 2], [0; 2]);
        let seen = ConfinementTrial::new(policy).calls(&[
            pair(libc::AF_UNIX, libc::SOCK_STREAM, &mut one),
            pair(libc::AF_UNIX, libc::SOCK_SEQPACKET, &mut other),
            pair(libc::AF_UNIX, libc::SOCK_DGRAM, &mut third),
            plain(libc::AF_UNIX, libc::SOCK_STREAM),
            // As the C library looks up the name of a user: refused, but no violation.
            socket(libc::AF_UNIX, libc::SOCK_STREAM, 0),
        ]);
        assert_eq!(seen.kinds(), [ViolationKind::Network; 2]);
        assert!(seen.numbers()[..2].iter().all(|result| *result >= 0), "{seen:?}");
        assert_eq!(seen.numbers()[2..], [-i64::from(libc::EACCES); 3]);
    }
}
