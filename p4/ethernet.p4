// What programs that look at Ethernet only share: parser, deparser, and controls that do nothing.
// A program defines metadata_t before it includes this.

#ifndef ETHERNET_P4
#define ETHERNET_P4

#include "headers.p4"

struct headers_t {
    ethernet_h ethernet;
}

parser parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control no_check(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control no_egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {}
}

control no_compute(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

#endif
