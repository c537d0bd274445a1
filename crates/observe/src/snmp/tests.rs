use super::*;
use crate::testing::host_with;
use proptest::prelude::*;

/// Linux 3.2: no `InCsumErrors`.
const OLD: &str = "\
Ip: Forwarding DefaultTTL InReceives InHdrErrors InAddrErrors ForwDatagrams InUnknownProtos InDiscards InDelivers OutRequests OutDiscards OutNoRoutes ReasmTimeout ReasmReqds ReasmOKs ReasmFails FragOKs FragFails FragCreates
Ip: 1 64 900 0 0 0 0 0 900 800 0 0 0 0 0 0 0 0 0
Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts
Tcp: 1 200 120000 -1 26 6 0 5 0 1824 1202 17 0 15
Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors
Udp: 44 1 0 45 9 2
UdpLite: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors
UdpLite: 7 7 7 7 7 7
";

fn group(text: &str, name: &str, judge: impl FnOnce(&Group<'_>)) {
    judge(&Group(Ok(pair_of_lines(text, name))));
}

#[test]
fn columns_are_found_by_name_in_their_own_group() {
    group(OLD, "Udp", |udp| {
        assert_eq!(udp.value(SNMP, "InDatagrams"), Ok(44));
        assert_eq!(udp.value(SNMP, "RcvbufErrors"), Ok(9));
    });
    group(OLD, "Tcp", |tcp| {
        assert_eq!(tcp.value(SNMP, "RetransSegs"), Ok(17));
        assert!(tcp.value(SNMP, "MaxConn").is_err(), "-1 is no counter");
    });
}

#[test]
fn a_column_this_kernel_lacks_is_missing_not_zero() {
    group(OLD, "Udp", |udp| {
        let error = udp.sum(SNMP, &["InCsumErrors"]).unwrap_err();
        let text = "/proc/thread-self/net/snmp: no InCsumErrors; \
                    the file is cut short or this kernel does not report it";
        assert_eq!(error.to_string(), text);
    });
    assert!(pair_of_lines(OLD, "Sctp").is_empty());
}

#[test]
fn the_largest_counter_is_read_whole() {
    let text = format!("Udp: InDatagrams\nUdp: {}\n", u64::MAX);
    group(&text, "Udp", |udp| {
        assert_eq!(udp.value(SNMP, "InDatagrams"), Ok(u64::MAX));
        assert_eq!(udp.sum(SNMP, &["InDatagrams", "InDatagrams"]), Ok(u64::MAX));
    });
}

#[test]
fn a_file_cut_in_a_number_gives_nothing_of_that_line() {
    let cut = &OLD[..=OLD.find("45 9 2").unwrap()];
    assert!(pair_of_lines(cut, "Udp").is_empty());
    assert!(!pair_of_lines(cut, "Tcp").is_empty());
}

#[test]
fn ipv6_pairs_are_found_by_their_whole_name() {
    let text =
        "Ip6InReceives 5\nUdp6InDatagrams                 \t31\nUdp6InErrors \t2\nUdp6NoPorts 4";
    let udp = Group(Ok(lines_of_pairs(text, "Udp6")));
    assert_eq!(udp.value(SNMP6, "Udp6InDatagrams"), Ok(31));
    assert!(udp.value(SNMP6, "Udp6In").is_err());
    assert!(udp.value(SNMP6, "Udp6NoPorts").is_err(), "cut off");
}

fn read_udp(files: &[(&str, &str)]) -> Snapshot {
    let (_root, scope) = host_with(files);
    let columns = [Columns {
        signal: "udp.in_datagrams",
        v4: &["InDatagrams"],
        v6: Some("Udp6InDatagrams"),
    }];
    let mut snapshot = Snapshot::default();
    read(&HostView::new(&scope), SNMP, "Udp", &columns, &mut snapshot);
    snapshot
}

#[test]
fn ipv6_is_added_and_zero_only_where_it_does_not_exist() {
    let both = read_udp(&[(SNMP, OLD), (SNMP6, "Udp6InDatagrams \t6\n")]);
    assert_eq!(both.values["udp.in_datagrams"], 50);
    let without = read_udp(&[(SNMP, OLD)]);
    assert_eq!(without.values["udp.in_datagrams"], 44);
    let cut = read_udp(&[(SNMP, OLD), (SNMP6, "Udp6InDatagrams \t6")]);
    assert!(cut.missing["udp.in_datagrams"].contains("snmp6: no Udp6InDatagrams"));
}

proptest! {
    #[test]
    fn no_text_makes_the_parsers_panic(text in "\\PC*", lines in "(Udp6?:? ?[A-Za-z0-9 -]{0,40}\n?){0,6}") {
        for text in [&text, &lines] {
            group(text, "Udp", |udp| {
                let _ = udp.sum(SNMP, &["InDatagrams", "x"]);
            });
            let _ = Group(Ok(lines_of_pairs(text, "Udp6"))).optional("Udp6InDatagrams");
        }
    }
}
