//! Tools whose output is known by its words, and not read: so that a log of theirs is called by its name.

/// A tool, and words of its output of which all are in one line.
struct Tool {
    name: &'static str,
    lines: &'static [&'static [&'static str]],
}

const ALL: &[Tool] = &[
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
        name: "Ethr",
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
        lines: &[&["Summary of ", " test run from "]],
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
        name: "crusader",
        lines: &[&["Connected to server", "crusader"]],
    },
];

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
            ("Dear reader,", None),
        ] {
            assert_eq!(name(line), tool, "{line}");
        }
    }
}
