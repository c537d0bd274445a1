//! The plans that `linerate plan init` writes: one for each purpose, with what each line means.

/// A plan to begin with.
#[derive(Debug, Clone, Copy)]
pub struct Example {
    /// What it is for: the kind of test.
    pub purpose: &'static str,
    /// In a sentence.
    pub summary: &'static str,
    /// The file.
    pub text: &'static str,
}

/// Every example. A new one: its file, its entry here.
pub static EXAMPLES: &[Example] = &[
    Example {
        purpose: "udp",
        summary: "Received rate by intended load, direction and size.",
        text: include_str!("examples/udp.toml"),
    },
    Example {
        purpose: "tcp",
        summary: "Congestion control by number of streams.",
        text: include_str!("examples/tcp.toml"),
    },
    Example {
        purpose: "latency",
        summary: "Round trips by size and wait mode.",
        text: include_str!("examples/latency.toml"),
    },
    Example {
        purpose: "saturate",
        summary: "Where loss begins, by size and direction.",
        text: include_str!("examples/saturate.toml"),
    },
    Example {
        purpose: "switch",
        summary: "What devices between two ports forward, by device and frame size.",
        text: include_str!("examples/switch.toml"),
    },
];
