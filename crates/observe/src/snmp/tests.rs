use super::*;
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

#[test]
fn columns_are_found_by_name_in_their_own_group() {
    let udp = Group::find(OLD, "Udp").unwrap();
    assert_eq!(udp.value("InDatagrams"), Some(44));
    assert_eq!(udp.value("RcvbufErrors"), Some(9));
    assert_eq!(
        Group::find(OLD, "Tcp").unwrap().value("RetransSegs"),
        Some(17)
    );
}

#[test]
fn a_column_this_kernel_lacks_is_missing_not_zero() {
    let udp = Group::find(OLD, "Udp").unwrap();
    let error = udp.sum(SNMP, &["InCsumErrors"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "/proc/thread-self/net/snmp: no Udp InCsumErrors; \
         the file is cut short or this kernel does not report it"
    );
    assert!(Group::find(OLD, "Sctp").is_none());
}

#[test]
fn a_negative_value_is_no_counter() {
    assert_eq!(Group::find(OLD, "Tcp").unwrap().value("MaxConn"), None);
}

#[test]
fn the_largest_counter_is_read_whole() {
    let text = format!("Udp: InDatagrams\nUdp: {}\n", u64::MAX);
    let udp = Group::find(&text, "Udp").unwrap();
    assert_eq!(udp.value("InDatagrams"), Some(u64::MAX));
    assert_eq!(udp.sum(SNMP, &["InDatagrams", "InDatagrams"]), Ok(u64::MAX));
}

#[test]
fn a_file_cut_in_a_number_gives_nothing_of_that_line() {
    let cut = &OLD[..OLD.find("45 9 2").unwrap() + 1];
    assert!(Group::find(cut, "Udp").is_none());
    assert!(Group::find(cut, "Tcp").is_some());
}

#[test]
fn ipv6_pairs_are_found_by_their_whole_name() {
    let text = "Udp6InDatagrams                 \t31\nUdp6InErrors \t2\nUdp6NoPorts 4";
    assert_eq!(pair(text, "Udp6InDatagrams"), Some(31));
    assert_eq!(pair(text, "Udp6In"), None);
    assert_eq!(pair(text, "Udp6NoPorts"), None, "cut off");
}

proptest! {
    #[test]
    fn no_text_makes_the_parsers_panic(text in "\\PC*", lines in "(Udp: [A-Za-z0-9 -]{0,40}\n?){0,6}") {
        for text in [&text, &lines] {
            if let Some(group) = Group::find(text, "Udp") {
                let _ = group.sum(SNMP, &["InDatagrams", "x"]);
            }
            let _ = pair(text, "Udp6InDatagrams");
        }
    }
}
