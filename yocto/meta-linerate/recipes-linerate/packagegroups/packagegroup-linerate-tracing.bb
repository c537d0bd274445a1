SUMMARY = "Programs that trace a kernel"
DESCRIPTION = "ftrace, BPF, perf and latency tracers: the profile tracing of linerate board image."

inherit packagegroup

RDEPENDS:${PN} = "\
    bpftool \
    bpftrace \
    perf \
    strace \
    trace-cmd \
"
