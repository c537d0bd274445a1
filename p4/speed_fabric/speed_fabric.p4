// A leaf switch of a fabric: VLANs, bridging, MPLS, IPv4 and IPv6 routing, access lists, policing, mirroring and groups of next
// hops, in 33 tables.
#include <core.p4>
#include <v1model.p4>
#include "speed_headers.p4"

struct headers_t {
    ethernet_h ethernet; vlan_h vlan; vlan_h inner; mpls_h mpls; ipv4_h ipv4; ipv6_h ipv6; ports_h ports;
}
struct metadata_t {
    bit<16> type; bit<12> vid; bit<16> domain; bit<10> vrf; bit<8> forwarding; bit<8> group; bit<32> next;
    bit<8> class; bit<2> colour; bit<1> denied; bit<1> routed; bit<1> tagged; bit<32> owner; bit<20> label; bit<1> push;
}
#define FORWARD_BRIDGE 0
#define FORWARD_IPV4 2
#define FORWARD_IPV6 4
#define FORWARD_MPLS 1

parser parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        meta.type = hdr.ethernet.type;
        transition select(hdr.ethernet.type) {
            0x8100: vlan;
            0x88a8: vlan;
            0x8847: mpls;
            0x0800: ipv4;
            0x86dd: ipv6;
            default: accept;
        }
    }
    state vlan {
        packet.extract(hdr.vlan);
        meta.type = hdr.vlan.type;
        transition select(hdr.vlan.type) {
            0x8100: inner;
            0x8847: mpls;
            0x0800: ipv4;
            0x86dd: ipv6;
            default: accept;
        }
    }
    state inner {
        packet.extract(hdr.inner);
        meta.type = hdr.inner.type;
        transition select(hdr.inner.type) {
            0x0800: ipv4;
            0x86dd: ipv6;
            default: accept;
        }
    }
    state mpls {
        packet.extract(hdr.mpls);
        transition select(packet.lookahead<bit<4>>()) {
            4: ipv4;
            6: ipv6;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.protocol) {
            6: ports;
            17: ports;
            default: accept;
        }
    }
    state ipv6 {
        packet.extract(hdr.ipv6);
        transition select(hdr.ipv6.next) {
            6: ports;
            17: ports;
            default: accept;
        }
    }
    state ports {
        packet.extract(hdr.ports);
        transition accept;
    }
}
control check(inout headers_t hdr, inout metadata_t meta) {
    apply { verify_checksum(hdr.ipv4.isValid(), IPV4_WORDS(hdr.ipv4), hdr.ipv4.checksum, HashAlgorithm.csum16); }
}

control ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    direct_counter(CounterType.packets_and_bytes) acl_counter;
    direct_counter(CounterType.packets_and_bytes) route_counter;
    counter(512, CounterType.packets_and_bytes) port_counter;
    direct_meter<bit<2>>(MeterType.bytes) policer_meter;
    action_selector(HashAlgorithm.crc32, 1024, 16) selector;

    action deny() { meta.denied = 1; }
    action port_is(bit<16> domain, bit<10> vrf) { meta.domain = domain; meta.vrf = vrf; }
    table ingress_port { key = { standard.ingress_port: exact; } actions = { port_is; deny; } default_action = deny(); size = 512; }

    action vlan_is(bit<12> vid) { meta.vid = vid; }
    table port_vlan {
        key = { standard.ingress_port: exact; hdr.vlan.isValid(): exact; hdr.vlan.vid: ternary; }
        actions = { vlan_is; deny; } default_action = deny(); size = 4096;
    }
    action pop_outer() { hdr.ethernet.type = hdr.vlan.type; meta.tagged = 1; hdr.vlan.setInvalid(); }
    table vlan_pop { key = { meta.vid: exact; hdr.vlan.isValid(): exact; } actions = { pop_outer; NoAction; } default_action = NoAction(); size = 4096; }
    table source_guard { key = { meta.vid: exact; hdr.ethernet.src: exact; } actions = { NoAction; deny; } default_action = NoAction(); size = 4096; }
    table spanning_tree { key = { standard.ingress_port: exact; meta.vid: exact; } actions = { NoAction; deny; } default_action = NoAction(); size = 4096; }

    action forward_by(bit<8> kind) { meta.forwarding = kind; }
    table classifier {
        key = { standard.ingress_port: ternary; hdr.ethernet.dst: ternary; meta.type: ternary; }
        actions = { forward_by; } default_action = forward_by(FORWARD_BRIDGE); size = 512;
    }
    action class_is(bit<8> class) { meta.class = class; }
    table dscp_class { key = { hdr.ipv4.dscp: range; hdr.ipv4.isValid(): exact; } actions = { class_is; NoAction; } default_action = NoAction(); size = 64; }
    table pcp_class { key = { hdr.vlan.pcp: exact; meta.tagged: exact; } actions = { class_is; NoAction; } default_action = NoAction(); size = 16; }
    action police() { policer_meter.read(meta.colour); }
    table policer { key = { standard.ingress_port: exact; meta.class: exact; } actions = { police; NoAction; } default_action = NoAction(); meters = policer_meter; size = 512; }
    table policed { key = { meta.colour: exact; } actions = { deny; NoAction; } default_action = NoAction(); size = 4; }

    action to_next(bit<32> next) { meta.next = next; }
    table bridging { key = { meta.vid: exact; hdr.ethernet.dst: exact; } actions = { to_next; NoAction; } default_action = NoAction(); size = 65536; }
    table bridging_masked { key = { meta.vid: exact; hdr.ethernet.dst: ternary; } actions = { to_next; NoAction; } default_action = NoAction(); size = 512; }
    action pop_mpls(bit<32> next) { meta.next = next; hdr.mpls.setInvalid(); hdr.ethernet.type = 0x800; }
    table labels { key = { hdr.mpls.label: exact; } actions = { pop_mpls; to_next; NoAction; } default_action = NoAction(); size = 4096; }

    action route(bit<32> next) { meta.next = next; meta.routed = 1; route_counter.count(); }
    action unrouted() { route_counter.count(); }
    table reverse_path { key = { meta.vrf: exact; hdr.ipv4.src: lpm; } actions = { NoAction; deny; } default_action = deny(); size = 65536; }
    table hosts_ipv4 { key = { meta.vrf: exact; hdr.ipv4.dst: exact; } actions = { to_next; NoAction; } default_action = NoAction(); size = 65536; }
    table routes_ipv4 { key = { meta.vrf: exact; hdr.ipv4.dst: lpm; } actions = { route; unrouted; } default_action = unrouted(); counters = route_counter; size = 65536; }
    table hosts_ipv6 { key = { meta.vrf: exact; hdr.ipv6.dst: exact; } actions = { to_next; NoAction; } default_action = NoAction(); size = 65536; }
    action route_ipv6(bit<32> next) { meta.next = next; meta.routed = 1; }
    table routes_ipv6 { key = { meta.vrf: exact; hdr.ipv6.dst: lpm; } actions = { route_ipv6; NoAction; } default_action = NoAction(); size = 65536; }
    action rewrite_destination(bit<32> dst) { hdr.ipv4.dst = dst; }
    table translation { key = { hdr.ipv4.dst: exact; hdr.ipv4.protocol: exact; hdr.ports.dst: exact; } actions = { rewrite_destination; NoAction; } default_action = NoAction(); size = 4096; }

    action permit() { acl_counter.count(); }
    action refuse() { acl_counter.count(); meta.denied = 1; }
    action steer(bit<32> next) { acl_counter.count(); meta.next = next; }
    table acl {
        key = {
            standard.ingress_port: ternary; hdr.ethernet.src: ternary; hdr.ethernet.dst: ternary; meta.type: ternary; meta.vid: ternary;
            hdr.ipv4.src: ternary; hdr.ipv4.dst: ternary; hdr.ipv4.protocol: ternary; hdr.ports.src: ternary; hdr.ports.dst: ternary;
        }
        actions = { permit; refuse; steer; } default_action = permit(); counters = acl_counter; size = 4096;
    }
    table acl_ipv6 {
        key = { hdr.ipv6.src: ternary; hdr.ipv6.dst: ternary; hdr.ipv6.next: ternary; hdr.ports.dst: range; }
        actions = { deny; NoAction; } default_action = NoAction(); size = 1024;
    }
    action own(bit<32> owner) { meta.owner = owner; }
    table owners { key = { hdr.ipv4.src: lpm; } actions = { own; NoAction; } default_action = NoAction(); size = 4096; }
    action mirror(bit<32> session) { clone_preserving_field_list(CloneType.I2E, session, 0); }
    table mirrors { key = { meta.owner: exact; hdr.ports.dst: exact; } actions = { mirror; NoAction; } default_action = NoAction(); size = 64; }

    action group_is(bit<8> group) { meta.group = group; }
    table next_group { key = { meta.next: exact; } actions = { group_is; NoAction; } default_action = NoAction(); size = 4096; }
    action out_to(port_t port) { standard.egress_spec = port; }
    action routed_to(port_t port, mac_t src, mac_t dst) { standard.egress_spec = port; hdr.ethernet.src = src; hdr.ethernet.dst = dst; }
    action labelled_to(port_t port, mac_t src, mac_t dst, bit<20> label) {
        standard.egress_spec = port; hdr.ethernet.src = src; hdr.ethernet.dst = dst; meta.label = label; meta.push = 1;
    }
    table next_simple { key = { meta.next: exact; } actions = { out_to; routed_to; labelled_to; NoAction; } default_action = NoAction(); size = 4096; }
    table next_hashed {
        key = {
            meta.next: exact; hdr.ipv4.src: selector; hdr.ipv4.dst: selector; hdr.ipv4.protocol: selector; hdr.ports.src: selector; hdr.ports.dst: selector;
        }
        actions = { out_to; routed_to; NoAction; } implementation = selector; default_action = NoAction(); size = 1024;
    }
    action flood(bit<16> group) { standard.mcast_grp = group; }
    table next_multicast { key = { meta.next: exact; } actions = { flood; NoAction; } default_action = NoAction(); size = 1024; }
    action set_vid(bit<12> vid) { meta.vid = vid; }
    table next_vlan { key = { meta.next: exact; } actions = { set_vid; NoAction; } default_action = NoAction(); size = 4096; }

    apply {
        port_counter.count((bit<32>) standard.ingress_port);
        ingress_port.apply();
        port_vlan.apply();
        pcp_class.apply();
        vlan_pop.apply();
        source_guard.apply();
        spanning_tree.apply();
        classifier.apply();
        dscp_class.apply();
        policer.apply();
        policed.apply();
        if (meta.forwarding == FORWARD_MPLS) { labels.apply(); }
        else if (meta.forwarding == FORWARD_IPV4 && hdr.ipv4.isValid() && standard.checksum_error == 0) {
            reverse_path.apply();
            translation.apply();
            if (hosts_ipv4.apply().miss) { routes_ipv4.apply(); }
        } else if (meta.forwarding == FORWARD_IPV6 && hdr.ipv6.isValid()) {
            if (hosts_ipv6.apply().miss) { routes_ipv6.apply(); }
        } else if (bridging.apply().miss) { bridging_masked.apply(); }
        if (hdr.ipv6.isValid()) { acl_ipv6.apply(); } else { acl.apply(); }
        owners.apply();
        mirrors.apply();
        next_group.apply();
        if (meta.group == 0) { next_simple.apply(); }
        else if (meta.group == 1) { next_hashed.apply(); }
        else { next_multicast.apply(); }
        next_vlan.apply();
        if (meta.denied == 1) { mark_to_drop(standard); }
    }
}

control egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    counter(512, CounterType.packets_and_bytes) port_counter;
    action discard() { mark_to_drop(standard); }
    table egress_port { key = { standard.egress_port: exact; meta.vid: exact; } actions = { NoAction; discard; } default_action = NoAction(); size = 4096; }
    action push_tag() {
        hdr.vlan.setValid();
        hdr.vlan.pcp = (bit<3>) meta.class; hdr.vlan.dei = 0; hdr.vlan.vid = meta.vid;
        hdr.vlan.type = hdr.ethernet.type; hdr.ethernet.type = 0x8100;
    }
    table egress_vlan { key = { standard.egress_port: exact; meta.vid: exact; } actions = { push_tag; NoAction; } default_action = NoAction(); size = 4096; }
    action remark(bit<6> dscp) { hdr.ipv4.dscp = dscp; }
    table egress_dscp { key = { meta.class: exact; hdr.ipv4.isValid(): exact; } actions = { remark; NoAction; } default_action = NoAction(); size = 64; }
    table egress_acl { key = { standard.egress_port: ternary; hdr.ipv4.dst: ternary; hdr.ports.dst: range; } actions = { discard; NoAction; } default_action = NoAction(); size = 1024; }
    table egress_length { key = { standard.egress_port: exact; standard.packet_length: range; } actions = { discard; NoAction; } default_action = NoAction(); size = 512; }
    apply {
        if (meta.routed == 1 && hdr.ipv4.isValid()) {
            if (hdr.ipv4.ttl < 2) { mark_to_drop(standard); }
            hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        }
        if (meta.push == 1) {
            hdr.mpls.setValid();
            hdr.mpls.label = meta.label; hdr.mpls.tc = 0; hdr.mpls.bos = 1; hdr.mpls.ttl = 64;
            hdr.ethernet.type = 0x8847;
        }
        egress_dscp.apply();
        egress_port.apply();
        egress_vlan.apply();
        egress_acl.apply();
        egress_length.apply();
        port_counter.count((bit<32>) standard.egress_port);
    }
}
control compute(inout headers_t hdr, inout metadata_t meta) {
    apply { update_checksum(hdr.ipv4.isValid(), IPV4_WORDS(hdr.ipv4), hdr.ipv4.checksum, HashAlgorithm.csum16); }
}
control deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet); packet.emit(hdr.vlan); packet.emit(hdr.inner); packet.emit(hdr.mpls);
        packet.emit(hdr.ipv4); packet.emit(hdr.ipv6); packet.emit(hdr.ports);
    }
}
V1Switch(parse(), check(), ingress(), egress(), compute(), deparse()) main;
