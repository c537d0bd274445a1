// What the programs of the speed benchmark parse.
typedef bit<9> port_t;
typedef bit<48> mac_t;

header ethernet_h { mac_t dst; mac_t src; bit<16> type; }
header vlan_h { bit<3> pcp; bit<1> dei; bit<12> vid; bit<16> type; }
header mpls_h { bit<20> label; bit<3> tc; bit<1> bos; bit<8> ttl; }
header ipv4_h {
    bit<4> version; bit<4> ihl; bit<6> dscp; bit<2> ecn; bit<16> length;
    bit<16> id; bit<3> flags; bit<13> fragment; bit<8> ttl; bit<8> protocol;
    bit<16> checksum; bit<32> src; bit<32> dst;
}
header ipv6_h {
    bit<4> version; bit<8> traffic_class; bit<20> flow; bit<16> length; bit<8> next; bit<8> hops;
    bit<128> src; bit<128> dst;
}
header ports_h { bit<16> src; bit<16> dst; }

#define IPV4_WORDS(h) { h.version, h.ihl, h.dscp, h.ecn, h.length, h.id, h.flags, h.fragment, h.ttl, h.protocol, h.src, h.dst }
