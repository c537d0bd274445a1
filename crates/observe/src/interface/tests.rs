use super::*;
use crate::testing::host_with;
use proptest::prelude::*;

fn route(
    interface: &str,
    destination: [u8; 4],
    mask: [u8; 4],
    (flags, metric): (u32, u32),
) -> String {
    format!(
        "{interface}\t{:08X}\t00000000\t{flags:04X}\t0\t0\t{metric}\t{:08X}\t0\t0\t0\n",
        u32::from_ne_bytes(destination),
        u32::from_ne_bytes(mask),
    )
}

fn table() -> String {
    [
        "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
            .to_owned(),
        route("wan0", [0; 4], [0; 4], (3, 100)),
        route("wan1", [0; 4], [0; 4], (3, 50)),
        route("lab0", [10, 1, 0, 0], [255, 255, 0, 0], (1, 0)),
        route("lab1", [10, 1, 2, 0], [255, 255, 255, 0], (1, 0)),
        route("down", [10, 1, 2, 9], [255; 4], (0, 0)),
        route("*", [10, 1, 2, 8], [255; 4], (0x201, 0)),
    ]
    .concat()
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn the_longest_prefix_wins_then_the_lowest_metric() {
    let table = table();
    let via = |remote: [u8; 4]| best_route(&table, Ipv4Addr::from(remote)).unwrap();
    assert_eq!(via([10, 1, 2, 3]), "lab1");
    assert_eq!(via([10, 1, 3, 3]), "lab0");
    assert_eq!(via([192, 0, 2, 1]), "wan1");
    assert_eq!(
        via([10, 1, 2, 9]),
        "lab1",
        "a route that is down leads nowhere"
    );
    assert_eq!(via([10, 1, 2, 8]), "lab1", "a reject route leads nowhere");
}

#[test]
fn traffic_to_oneself_takes_the_loopback() {
    let (_root, scope) = host_with(&[]);
    let to = |remote, local| interface_for(&scope, address(remote), address(local));
    assert_eq!(to("127.0.0.1", "127.0.0.1").as_deref(), Some("lo"));
    assert_eq!(to("::1", "::1").as_deref(), Some("lo"));
    assert_eq!(to("10.0.0.1", "10.0.0.1").as_deref(), Some("lo"));
    assert_eq!(to("::ffff:127.0.0.1", "127.0.0.1").as_deref(), Some("lo"));
    assert_eq!(to("10.0.0.2", "10.0.0.1"), None);
}

#[test]
fn without_a_peer_it_is_the_default_route_s_or_the_only_one() {
    let (_root, scope) = host_with(&[(ROUTE, &table())]);
    assert_eq!(default_interface(&scope).as_deref(), Some("wan1"));
    let one = "Inter-| face\n face |bytes\n    lo: 1 2\n  eth7: 1 2\n";
    let (_root, scope) = host_with(&[(DEV, one)]);
    assert_eq!(default_interface(&scope).as_deref(), Some("eth7"));
    let (_root, scope) = host_with(&[(DEV, &format!("{one}  eth8: 1\n"))]);
    assert_eq!(default_interface(&scope), None);
}

#[test]
fn an_interface_that_is_not_there_is_refused_with_those_that_are() {
    let table = "Inter-| face\n face |bytes\n    lo: 1 2\n  eth7: 1 2\n";
    let (_root, mut scope) = host_with(&[(DEV, table)]);
    let mut asked = |name: Option<&str>| {
        scope.interface = name.map(str::to_owned);
        check_interface(&scope)
    };
    assert_eq!(asked(None), Ok(()));
    assert_eq!(asked(Some("eth7")), Ok(()));
    let why = asked(Some("eth")).unwrap_err();
    assert!(
        why.contains("--interface eth:") && why.contains("lo, eth7"),
        "{why}"
    );
    let (_root, mut scope) = host_with(&[]);
    scope.interface = Some("eth7".to_owned());
    assert_eq!(check_interface(&scope), Ok(()), "nobody knows");
}

#[test]
fn ipv6_is_found_by_the_local_address() {
    let text = "\
fe80000000000000a41debfffe9d9f4b 02 40 20 80    eth0
20010db8000000000000000000000001 03 40 00 80    eth1
fe800000000000000000000000000001 02 40 20 80    eth0
fe800000000000000000000000000001 03 40 20 80    eth1
00000000000000000000000000000001 01 80 10 80       lo
";
    let (_root, scope) = host_with(&[(IF_INET6, text)]);
    let by = |local| interface_for(&scope, address("2001:db8::9"), address(local));
    assert_eq!(by("2001:db8::1").as_deref(), Some("eth1"));
    assert_eq!(by("fe80::a41d:ebff:fe9d:9f4b").as_deref(), Some("eth0"));
    assert_eq!(by("fe80::1"), None, "two interfaces have it");
    assert_eq!(by("2001:db8::2"), None);
}

#[test]
fn a_mapped_address_is_routed_as_ipv4() {
    let table = table();
    let (_root, scope) = host_with(&[(ROUTE, &table)]);
    let found = interface_for(
        &scope,
        address("::ffff:10.1.2.3"),
        address("::ffff:10.1.2.1"),
    );
    assert_eq!(found.as_deref(), Some("lab1"));
}

proptest! {
    #[test]
    fn no_text_makes_the_parsers_panic(
        text in "\\PC*",
        lines in "([0-9A-Fa-f\t ]{0,60}\n){0,5}",
        remote: u32,
        local: u128,
    ) {
        for text in [&text, &lines] {
            let _ = best_route(text, Ipv4Addr::from_bits(remote));
            let _ = owner6(text, Ipv6Addr::from_bits(local));
        }
    }
}
