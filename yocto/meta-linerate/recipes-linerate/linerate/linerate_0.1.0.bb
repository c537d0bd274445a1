SUMMARY = "Says how fast a network stack, host or board is, where it stops, and why"
DESCRIPTION = "The agent of a board and the whole command line: TCP, UDP, latency and \
saturation tests, verdicts with evidence, the protocols of iperf3, iperf2, netperf, \
sfnt-pingpong and sockperf; and linerate-p4, which executes compiled P4 programs."
SECTION = "console/network"
LICENSE = "MIT | Apache-2.0"
LIC_FILES_CHKSUM = "file://LICENSE-MIT;md5=b1cb9650d0bd79e888f334a40581bbc8 \
                    file://LICENSE-APACHE;md5=22a53954e4e0ec258dfce4391e905dac"

inherit cargo externalsrc systemd

# For the C sources of aws-lc-sys.
DEPENDS += "cmake-native"

# The tree that this layer is part of, so that recipe and source are of one commit.
EXTERNALSRC := "${@os.path.normpath('${THISDIR}/../../../..')}"

require linerate-crates.inc
SRC_URI += "file://linerate.service file://linerate.socket file://serve.toml"

# Of the workspace, what runs on a board; the other crates are tests and tools of its developers.
CARGO_BUILD_FLAGS:append = " --package linerate-cli --package linerate-p4-cli --bin linerate --bin linerate-p4"

SYSTEMD_SERVICE:${PN} = "linerate.service"
FILES:${PN} += "${systemd_system_unitdir}/linerate.socket"
CONFFILES:${PN} = "${sysconfdir}/linerate/serve.toml"

do_install:append() {
    install -d ${D}${sysconfdir}/linerate
    install -m 0644 ${UNPACKDIR}/serve.toml ${D}${sysconfdir}/linerate/
    if ${@bb.utils.contains('DISTRO_FEATURES', 'systemd', 'true', 'false', d)}; then
        install -d ${D}${systemd_system_unitdir}
        install -m 0644 ${UNPACKDIR}/linerate.service ${UNPACKDIR}/linerate.socket ${D}${systemd_system_unitdir}/
    fi
}
