SUMMARY = "Programs that measure networks"
DESCRIPTION = "linerate and what is measured and compared with: the profile measure of linerate board image."

inherit packagegroup

RDEPENDS:${PN} = "\
    ethtool \
    iperf2 \
    iperf3 \
    iproute2 \
    iproute2-tc \
    iputils-ping \
    linerate \
    linuxptp \
    nuttcp \
    procps \
    rt-tests \
    stress-ng \
    sysstat \
    tcpdump \
"
