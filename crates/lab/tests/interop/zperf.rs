//! zperf of a Zephyr board or emulator that the user has, by its address:
//! `LINERATE_ZPERF='zperf+serial:///dev/ttyACM0?host=192.0.2.1' make interop`, several with spaces between them.

use crate::board::{A, B, Board};
use crate::ends::{both, connect};
use crate::matrix::{Cell, Count, Deviation, Role, Tool, Way, cells, every_cell};
use anyhow::{Context as _, Result};
use linerate_model::spec::{Direction, Pace, Stop, TestSpec, Transport};
use linerate_model::{BitRate, ByteCount};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A write that would have to wait ends the stream of Zephyr 2.5.
static CUT_WRITE: Deviation = Deviation {
    words: "A board whose last write of a TCP stream would have to wait sends a part of it, and counts it whole.",
    explains: |sent, received| received < sent && sent - received < PAYLOAD,
};

/// Bytes of a write or datagram.
const PAYLOAD: u64 = 1000;

pub(crate) struct Zperf;

#[test]
fn zperf_in_every_cell() {
    every_cell(&Zperf);
}

impl Tool for Zperf {
    fn name(&self) -> &'static str {
        "zperf"
    }

    fn programs(&self) -> Vec<String> {
        Vec::new()
    }

    fn named(&self, variable: &str) -> Vec<String> {
        variable.split_whitespace().map(str::to_owned).collect()
    }

    /// `Zephyr 3.3`.
    fn version(&self, address: &str) -> Result<String> {
        let hosts = connect(address)?.hosts();
        let far = hosts.into_iter().next_back().context("the board")?;
        far.facts
            .os
            .context("its shell does not say which Zephyr it is")
    }

    /// A board tells its rate of a TCP stream that it received, and no bytes.
    fn has(&self, cell: Cell) -> bool {
        let tells = cell.transport == Transport::Udp || cell.way == Way::Reverse;
        cell.role == Role::Client && cell.way != Way::Both && !cell.is_v6 && tells
    }

    fn measure(&self, address: &str, cell: Cell) -> Result<Vec<Count>> {
        /// A shell makes one test at a time.
        static SHELL: Mutex<()> = Mutex::new(());
        let _alone = SHELL.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = connect(address)?.run(&spec(cell), &mut |_| true)?;
        let counts = both(cell, outcome.directions.first().context("a direction")?)?;
        let count = |count: Count| match cell.transport {
            Transport::Tcp => count.with(&CUT_WRITE),
            Transport::Udp => count,
        };
        Ok(counts.into_iter().map(count).collect())
    }
}

/// A second of one stream, slow enough for any board.
fn spec(cell: Cell) -> TestSpec {
    let pace = Pace::At(BitRate::from_bps(1_000_000));
    let (base, direction) = match (cell.transport, cell.way) {
        (Transport::Udp, Way::Reverse) => (TestSpec::udp_datagrams(pace), Direction::Reverse),
        (Transport::Udp, _) => (TestSpec::udp_datagrams(pace), Direction::Forward),
        (Transport::Tcp, _) => (TestSpec::tcp_bulk(), Direction::Reverse),
    };
    TestSpec {
        direction,
        stop: Stop::After(Duration::from_secs(1)),
        ..base.with_payload(ByteCount::new(PAYLOAD))
    }
}

#[test]
fn cells_of_a_board_agree() {
    for era in [A, B] {
        let board = Board::on_serial(era);
        let os = Zperf.version(&board.url).unwrap();
        assert!(format!("Zephyr {}", era.release).starts_with(&os), "{os}");
        for cell in cells().filter(|cell| Zperf.has(*cell)) {
            let counts = Zperf.measure(&board.url, cell).unwrap();
            assert!(counts.iter().all(Count::agrees), "{cell}: {counts:?}");
        }
    }
}
