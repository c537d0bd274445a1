//! Tools whose output is known by its words, and not read: so that a log of theirs is called by its name.

/// A tool, and words of its output of which all are in one line.
struct Tool {
    name: &'static str,
    lines: &'static [&'static [&'static str]],
}

const ALL: &[Tool] = &[
    Tool {
        name: XML,
        lines: &[&["computername=", "NTTTCP for Linux"]],
    },
    Tool {
        name: "NTttcp for Windows",
        lines: &[
            &["Copyright Version", "Microsoft"],
            &["Thread", "Time(s)", "Throughput"],
            &["<ntttcpr computername="],
            &["<ntttcps computername="],
        ],
    },
    Tool {
        name: "uperf",
        lines: &[
            &["Starting", "processes running profile:"],
            &["Starting", "threads running profile:"],
            &["Netstat statistics for this run"],
            &["Txn", "op/s"],
            &["uperf-"],
        ],
    },
    Tool {
        name: "ping",
        lines: &[
            &["rtt min/avg/max/mdev"],
            &["round-trip min/avg/max"],
            &["packets transmitted", "packet loss"],
        ],
    },
    Tool {
        name: "testpmd",
        lines: &[
            &["NIC statistics for port"],
            &["Forward statistics for port"],
        ],
    },
    Tool {
        name: "TRex",
        lines: &[&["-Per port stats table"], &["Total-Tx", "bps"]],
    },
    Tool {
        name: ETHR,
        lines: &[&["Ethr:", "Comprehensive Network Performance"]],
    },
    Tool {
        name: "wrk",
        lines: &[&["Thread Stats", "Avg", "Stdev"]],
    },
    Tool {
        name: "nuttcp with `-fparse` (it is read without)",
        lines: &[&["megabytes=", "real_seconds=", "rate_Mbps="]],
    },
    Tool {
        name: "hey",
        lines: &[&["Response time histogram:"]],
    },
    Tool {
        name: "ApacheBench",
        lines: &[
            &["This is ApacheBench"],
            &["Requests per second:", "[#/sec]"],
        ],
    },
    Tool {
        name: "fio",
        lines: &[&["rw=", "ioengine=", "iodepth="]],
    },
    Tool {
        name: "Flent",
        lines: &[&["Summary of ", " test run from "], &["\"FLENT_VERSION\""]],
    },
    Tool {
        name: "the kernel's pktgen",
        lines: &[
            &["Params: count", "min_pkt_size"],
            &["pkts-sofar:", "errors:"],
        ],
    },
    Tool {
        name: "a TWAMP or OWAMP client",
        lines: &[&["--- twping statistics"], &["--- owping statistics"]],
    },
    Tool {
        name: "`size` (`linerate footprint` reads the ELF file or the linker map)",
        lines: &[&["text", "data", "bss", "dec", "hex", "filename"]],
    },
    Tool {
        name: "a linker, its map (`linerate footprint` reads it)",
        lines: &[&["Linker script and memory map"]],
    },
    Tool {
        name: "speedtest-cli",
        lines: &[&["Retrieving speedtest.net"], &["Testing download speed"]],
    },
    Tool {
        name: "mtr",
        lines: &[&["Loss%", "Snt", "Wrst"]],
    },
    Tool {
        name: "Wget",
        lines: &[&["HTTP request sent, awaiting response"], &["100%[=", "/s"]],
    },
    Tool {
        name: "curl",
        lines: &[&["% Total", "% Received", "% Xferd"]],
    },
    Tool {
        name: "MikroTik's bandwidth test",
        lines: &[
            &["tool", "bandwidth-test"],
            &["tool", "speed-test", "address"],
            &["tx-10-second-average"],
            &["rx-10-second-average"],
            &["tcp-download:", "local-cpu-load"],
        ],
    },
    Tool {
        name: "Ookla's Speedtest",
        lines: &[
            &["Speedtest by Ookla"],
            &["speedtest.net/result"],
            &["\"packetLoss\"", "\"isp\""],
        ],
    },
    Tool {
        name: "speedtest-go",
        lines: &[&["speedtest-go v"]],
    },
    Tool {
        name: "fast",
        lines: &[&["\"bufferBloat\""]],
    },
    Tool {
        name: "LibreSpeed",
        lines: &[&["librespeed.org"], &["\"bytes_received\"", "\"jitter\""]],
    },
    Tool {
        name: "Cloudflare's speed test",
        lines: &[&["\"speed_measurements\""]],
    },
    Tool {
        name: "Apple's networkQuality",
        lines: &[
            &["Responsiveness:", "RPM"],
            &["\"dl_throughput\""],
            &["Uplink capacity:", "bps"],
        ],
    },
    Tool {
        name: "goresponsiveness",
        lines: &[&["Go Responsiveness to"], &["RPM:", "Trimmed Mean"]],
    },
    Tool {
        name: "perftest (`ib_write_bw` and its kind)",
        lines: &[
            &["#bytes", "#iterations", "BW average"],
            &["#bytes", "#iterations", "t_typical"],
        ],
    },
    Tool {
        name: "nccl-tests",
        lines: &[&["algbw", "busbw"]],
    },
    Tool {
        name: "the OSU benchmarks",
        lines: &[&["# OSU MPI"]],
    },
    Tool {
        name: "ethtool (linerate records an interface's counters itself)",
        lines: &[
            &["NIC statistics:"],
            &["Settings for", "eth"],
            &["Supported link modes:"],
        ],
    },
    Tool {
        name: "tc (linerate records a queueing discipline's counters itself)",
        lines: &[&["Sent", "pkt (dropped", "overlimits"]],
    },
    Tool {
        name: "ss (linerate records TCP's state itself)",
        lines: &[&["cwnd:", "rtt:", "bytes_acked:"]],
    },
    Tool {
        name: "nstat or netstat (linerate records a host's counters itself)",
        lines: &[
            &["#kernel"],
            &["packet receive errors"],
            &["segments retransmitted"],
        ],
    },
    Tool {
        name: "sar",
        lines: &[&["IFACE", "rxpck/s", "txpck/s"]],
    },
    Tool {
        name: "vnStat",
        lines: &[
            &["Database updated:"],
            &["packets sampled in"],
            &["|   avg. rate"],
        ],
    },
    Tool {
        name: "iftop",
        lines: &[&["# Host name", "last 2s", "last 10s"]],
    },
    Tool {
        name: "iw",
        lines: &[&["inactive time:", "ms"], &["tx bitrate:", "MBit/s"]],
    },
    Tool {
        name: "irtt",
        lines: &[&["packets sent/received:", "loss)"]],
    },
    Tool {
        name: "fping",
        lines: &[&["xmt/rcv/%loss"]],
    },
    Tool {
        name: "MoonGen",
        lines: &[&["[Device: id=", "with framing"]],
    },
    Tool {
        name: "DPDK's Pktgen",
        lines: &[&["Pktgen:/>"], &["Flags:Port"]],
    },
    Tool {
        name: "VPP (`show runtime`)",
        lines: &[&["vector rates in", "punt"]],
    },
    Tool {
        name: "pScheduler (with `--format json` it has the tool's own output)",
        lines: &[&["pscheduler/tasks/"], &["pscheduler task"]],
    },
    Tool {
        name: "udpst",
        lines: &[&["UDP Speed Test"], &["Mbps(L3/IP):"]],
    },
    Tool {
        name: "rperf",
        lines: &[&["stream-average bytes per second"]],
    },
    Tool {
        name: "dd",
        lines: &[&["records in"], &["bytes (", "copied,"]],
    },
    Tool {
        name: "crusader",
        lines: &[&["Connected to server", "crusader"]],
    },
];

const ETHR: &str = "Ethr";
const XML: &str = "NTttcp with `-x` (it is read without)";

/// Whether lines of a tool that is not read look like those of one that is: what seems to be a damaged test of that is none.
pub(super) fn looks_like_another(name: &str) -> bool {
    [ETHR, XML].contains(&name)
}

/// The tool in whose words a line is.
pub(super) fn name(line: &str) -> Option<&'static str> {
    let is_in = |words: &&[&str]| words.iter().all(|word| line.contains(word));
    let tool = ALL.iter().find(|tool| tool.lines.iter().any(is_in));
    tool.map(|tool| tool.name)
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn a_tool_is_known_by_its_words() {
        for (line, tool) in [
            (
                "Thread  Time(s) Throughput(KB/s) Avg B / Compl",
                Some("NTttcp for Windows"),
            ),
            (
                "Starting 4 processes running profile:netperf ...   0.00 seconds",
                Some("uperf"),
            ),
            (
                "3 packets transmitted, 3 received, 0% packet loss, time 2003ms",
                Some("ping"),
            ),
            (
                "  ######################## NIC statistics for port 0  ########################",
                Some("testpmd"),
            ),
            ("Testing download speed........", Some("speedtest-cli")),
            (
                "HOST: gw1                         Loss%   Snt   Last   Avg  Best  Wrst StDev",
                Some("mtr"),
            ),
            (
                "   text    data     bss     dec     hex filename",
                Some("`size` (`linerate footprint` reads the ELF file or the linker map)"),
            ),
            (
                " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]",
                Some("perftest (`ib_write_bw` and its kind)"),
            ),
            ("      rx-total-average: 398.8Mbps", None),
            (
                "  rx-10-second-average: 405.1Mbps",
                Some("MikroTik's bandwidth test"),
            ),
            (
                "Responsiveness: High (55.9 milliseconds | 1072 RPM)",
                Some("Apple's networkQuality"),
            ),
            ("Dear reader,", None),
        ] {
            assert_eq!(name(line), tool, "{line}");
        }
    }
}
