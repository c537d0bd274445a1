// Everything that a control plane can write and read, one of each: match kinds, action profile and selector, counters,
// meters, registers, a value set, a digest, idle timeouts, clones, multicast, packets to and from a controller.

#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

const bit<9> CPU = 510;
const bit<16> ETHERTYPE_PROBE = 0x88b5;

@controller_header("packet_in")
header packet_in_h {
    bit<9> ingress_port;
    bit<7> padding;
}

@controller_header("packet_out")
header packet_out_h {
    bit<9> egress_port;
    bit<7> padding;
}

struct headers_t {
    packet_in_h packet_in;
    packet_out_h packet_out;
    ethernet_h ethernet;
    ipv4_h ipv4;
}

struct metadata_t {
    bit<2> colour;
    bit<1> probed;
}

struct station_t {
    bit<48> station;
    bit<9> port;
}

parser parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    @id(1) value_set<bit<16>>(4) probes;

    state start {
        transition select(standard.ingress_port) {
            CPU: from_controller;
            default: ethernet;
        }
    }

    state from_controller {
        packet.extract(hdr.packet_out);
        transition ethernet;
    }

    state ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            ETHERTYPE_IPV4: ipv4;
            probes: probe;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }

    state probe {
        meta.probed = 1;
        transition accept;
    }
}

control check(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    counter(512, CounterType.packets_and_bytes) received;
    meter(4, MeterType.packets) rates;
    register<bit<48>>(8) last;
    direct_counter(CounterType.packets_and_bytes) hits;
    direct_meter<bit<2>>(MeterType.bytes) flow;
    action_profile(16) shared_hops;
    action_selector(HashAlgorithm.crc16, 64, 16) hops;

    action send(bit<9> port) {
        standard.egress_spec = port;
    }

    action drop() {
        mark_to_drop(standard);
    }

    action to_controller() {
        standard.egress_spec = CPU;
    }

    action spread(bit<16> group) {
        standard.mcast_grp = group;
    }

    action copy(bit<32> session, bit<9> port) {
        clone(CloneType.I2E, session);
        standard.egress_spec = port;
    }

    action metered(bit<9> port) {
        flow.read(meta.colour);
        standard.egress_spec = port;
    }

    action counted(bit<9> port) {
        hits.count();
        standard.egress_spec = port;
    }

    // Exact; entries age.
    table stations {
        key = {
            hdr.ethernet.dst: exact;
        }
        actions = { send; spread; copy; to_controller; @defaultonly NoAction; }
        support_timeout = true;
        size = 1024;
    }

    table routes {
        key = {
            hdr.ipv4.dst: lpm;
        }
        actions = { counted; @tableonly drop; NoAction; }
        counters = hits;
        size = 1024;
    }

    table rules {
        key = {
            hdr.ipv4.src: ternary @format(IPV4_ADDRESS);
            hdr.ipv4.ttl: range;
            hdr.ipv4.protocol: optional;
        }
        actions = { drop; metered; NoAction; }
        meters = flow;
        size = 64;
    }

    table shared {
        key = {
            hdr.ethernet.src: exact;
        }
        actions = { send; drop; }
        implementation = shared_hops;
        size = 16;
    }

    table groups {
        key = {
            hdr.ethernet.dst: exact;
            hdr.ethernet.src: selector;
        }
        actions = { send; drop; }
        implementation = hops;
        size = 16;
    }

    table constants {
        key = {
            hdr.ethernet.type: exact;
        }
        actions = { drop; NoAction; }
        const entries = {
            0x88cc: drop();
            0x8100: NoAction();
        }
        const default_action = NoAction();
    }

    apply {
        if (hdr.packet_out.isValid()) {
            standard.egress_spec = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
            exit;
        }
        received.count((bit<32>) standard.ingress_port);
        last.write(0, hdr.ethernet.src);
        if (meta.probed == 1) {
            digest<station_t>(1, { hdr.ethernet.src, standard.ingress_port });
            rates.execute_meter<bit<2>>(0, meta.colour);
        }
        standard.egress_spec = 511;
        stations.apply();
        shared.apply();
        groups.apply();
        if (hdr.ipv4.isValid()) {
            routes.apply();
            rules.apply();
        }
        constants.apply();
    }
}

control egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (standard.egress_port == CPU) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = standard.ingress_port;
            hdr.packet_in.padding = 0;
        }
    }
}

control compute(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.packet_out);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(parse(), check(), ingress(), egress(), compute(), deparse()) main;
