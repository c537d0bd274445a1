//! linerate and the real tools, in both roles, over loopback: what one end counted is what the other says.
//!
//! Every cell of {our client, our server} × {TCP, UDP} × {normal, reverse, both ways} × {IPv4, IPv6} that a tool has; the
//! tables in `docs/results/interop.md` come from here: `make interop`.

/// The imitation that zperf's own tests measure.
#[expect(
    dead_code,
    clippy::unwrap_used,
    reason = "of a test that looks at more of it"
)]
#[path = "../zperf/board.rs"]
mod board;
mod ends;
mod iperf2;
mod iperf3;
mod matrix;
mod netperf;
mod options;
mod program;
mod sfnt;
mod sockperf;
mod table;
mod together;
mod zperf;

/// Every tool. A new one: its file, its `mod` line above, its entry here, its markers in docs/results/interop.md.
static ALL: &[&dyn matrix::Tool] = &[
    &iperf3::Iperf3,
    &iperf2::Iperf2,
    &netperf::Netperf,
    &sockperf::Sockperf,
    &sfnt::Sfnt,
    &zperf::Zperf,
];

#[test]
fn every_tool_has_its_table_in_the_docs() {
    let document = std::fs::read_to_string(table::document()).unwrap();
    for tool in ALL {
        let name = tool.name();
        let table = table::fragment(&document, name);
        let table = table.unwrap_or_else(|| panic!("no markers for {name}: see table.rs"));
        let rows = table.lines().filter(|line| line.starts_with('|')).count();
        let is_filled = rows > 2 || tool.programs().is_empty();
        assert!(is_filled, "{name}: fill the table with `make interop`");
    }
}
