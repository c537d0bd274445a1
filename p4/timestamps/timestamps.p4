// Delay by stage, as in-band telemetry carries it: when a packet came in, when and behind how many it was queued, how
// long it waited, and when egress began. All times are microseconds of the switch.

#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

header stamps_h {
    bit<48> ingress;
    bit<32> enqueued;
    bit<32> waited;
    bit<24> depth;
    bit<24> depth_left;
    bit<48> egress;
}

struct headers_t {
    ethernet_h ethernet;
    stamps_h stamps;
}

struct metadata_t {}

parser parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control check(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = 1;
    }
}

control egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        hdr.stamps.setValid();
        hdr.stamps.ingress = standard.ingress_global_timestamp;
        hdr.stamps.enqueued = standard.enq_timestamp;
        hdr.stamps.waited = standard.deq_timedelta;
        hdr.stamps.depth = 5w0 ++ standard.enq_qdepth;
        hdr.stamps.depth_left = 5w0 ++ standard.deq_qdepth;
        hdr.stamps.egress = standard.egress_global_timestamp;
    }
}

control compute(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.stamps);
    }
}

V1Switch(parse(), check(), ingress(), egress(), compute(), deparse()) main;
