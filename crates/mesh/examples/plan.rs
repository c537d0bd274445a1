//! Plans a mesh of so many hosts in racks of 40 and says what it found, for `time -v`: `plan 10000`.

use linerate_mesh::{Inventory, plan};
use std::fmt::Write as _;

#[expect(clippy::print_stdout, reason = "an example for a terminal")]
fn main() {
    let hosts = std::env::args().nth(1);
    let hosts: usize = hosts.map_or(10_000, |count| count.parse().expect("a number of hosts"));
    let mut text = String::new();
    for host in 0..hosts {
        let rack = host / 40;
        writeln!(
            text,
            "[hosts.h{host:05}]\naddress = \"h{host}\"\nrack = \"r{rack}\""
        )
        .expect("writing to a string");
    }
    let inventory = Inventory::from_toml("mesh.toml", &text).expect("a valid inventory");
    let plan = plan(&inventory).expect("no budget");
    println!(
        "{hosts} hosts: {} pairs in {} rounds, bound {}, {:?}",
        plan.pairs(),
        plan.rounds.len(),
        plan.rounds_bound,
        plan.time
    );
}
