//! `linerate p4 replay`.

use crate::{files, print};
use clap::Args;
use linerate_frames::pcap::{self, Captured, PcapError, Reader};
use linerate_model::exit::{ExitCode, Failure, Result};
use linerate_p4::{DROP_PORT, Limits, Switch};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// Arguments of `replay`.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// What p4c-bm2-ss wrote.
    program: PathBuf,
    /// Frames that come in at a port: a pcap capture, whose time is the program's.
    #[arg(long = "in", value_name = "PORT=FILE", required = true, num_args = 1.., value_parser = input)]
    inputs: Vec<Input>,
    /// Folder to write what goes out to, a capture for each port: FOLDER/1.pcap.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// Entries, groups and sessions as in an STF test: `add`, `setdefault`, `mc_mgrp_create` and so on.
    #[arg(long, value_name = "FILE")]
    entries: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A capture and the port where its frames come in.
#[derive(Debug, Clone)]
struct Input {
    port: u32,
    path: PathBuf,
}

fn input(text: &str) -> Result<Input, String> {
    let (port, path) = text
        .split_once('=')
        .ok_or("give a port and a file, such as 0=in.pcap")?;
    let number = port.parse().ok().filter(|port| *port < DROP_PORT);
    Ok(Input {
        port: number.ok_or("a port's number is 0 to 510")?,
        path: path.into(),
    })
}

pub(crate) fn run(args: &ReplayArgs) -> Result<ExitCode> {
    let program = files::program(&args.program)?;
    let mut switch = Switch::new(program, Limits::default(), 0);
    if let Some(path) = &args.entries {
        files::set_entries(&mut switch, path)?;
    }
    let mut sources = args
        .inputs
        .iter()
        .map(Source::open)
        .collect::<Result<Vec<_>, _>>()?;
    fs::create_dir_all(&args.out).map_err(cannot("make", &args.out))?;
    let mut sinks = Sinks {
        folder: &args.out,
        ports: BTreeMap::new(),
    };
    let first = sources.iter().filter_map(|source| source.next.as_ref());
    let first = first.map(|captured| captured.at).min().unwrap_or(0);
    let mut received = 0_u64;
    while let Some((port, captured)) = earliest(&mut sources)? {
        received += 1;
        let mut failed = Ok(());
        let mut out = |port: u32, frame: &[u8]| {
            if failed.is_ok() {
                failed = sinks.write(port, captured.at, frame);
            }
        };
        // Captures of several interfaces may be out of order by a little; a clock is not.
        let now = captured.at.saturating_sub(first);
        switch.process(port, &captured.frame, now, &mut out);
        failed?;
    }
    let sent = sinks.finish()?;
    print(&told(args, &switch, received, &sent))?;
    Ok(ExitCode::Done)
}

/// The next frame by time over all captures, and the port where it comes in.
fn earliest(sources: &mut [Source]) -> Result<Option<(u32, Captured)>> {
    let waiting = sources.iter_mut().filter(|source| source.next.is_some());
    let at = |source: &&mut Source| source.next.as_ref().map(|captured| captured.at);
    let Some(source) = waiting.min_by_key(at) else {
        return Ok(None);
    };
    let following = source.read()?;
    let taken = std::mem::replace(&mut source.next, following);
    Ok(taken.map(|captured| (source.port, captured)))
}

/// A capture, one frame ahead.
struct Source {
    port: u32,
    path: PathBuf,
    reader: Reader<BufReader<File>>,
    next: Option<Captured>,
}

impl Source {
    fn open(input: &Input) -> Result<Self> {
        let file = File::open(&input.path).map_err(cannot("read", &input.path))?;
        let reader = Reader::new(BufReader::new(file));
        let mut source = Self {
            port: input.port,
            path: input.path.clone(),
            reader: reader.map_err(unreadable(&input.path))?,
            next: None,
        };
        source.next = source.read()?;
        Ok(source)
    }

    fn read(&mut self) -> Result<Option<Captured>> {
        match self.reader.next_frame() {
            // So a capture ends whose program was killed; what is whole counts.
            Err(error @ PcapError::Truncated(_)) => {
                let path = self.path.display();
                let _ = writeln!(io::stderr(), "note: {path}: {error}, which is left out");
                Ok(None)
            }
            read => read.map_err(unreadable(&self.path)),
        }
    }
}

/// The captures of what goes out.
struct Sinks<'a> {
    folder: &'a Path,
    ports: BTreeMap<u32, (PathBuf, BufWriter<File>, u64)>,
}

impl Sinks<'_> {
    fn write(&mut self, port: u32, at: u64, frame: &[u8]) -> Result<()> {
        if !self.ports.contains_key(&port) {
            let path = self.folder.join(format!("{port}.pcap"));
            let file = File::create_new(&path).map_err(cannot("make", &path))?;
            let mut file = BufWriter::new(file);
            pcap::begin(&mut file).map_err(cannot("write", &path))?;
            self.ports.insert(port, (path, file, 0));
        }
        if let Some((path, file, count)) = self.ports.get_mut(&port) {
            pcap::add(file, at, frame).map_err(cannot("write", path))?;
            *count += 1;
        }
        Ok(())
    }

    /// Frames by port, all of them on disk.
    fn finish(self) -> Result<BTreeMap<u32, u64>> {
        let ports = self.ports.into_iter();
        let written = ports.map(|(port, (path, mut file, count))| {
            file.flush().map_err(cannot("write", &path))?;
            Ok((port, count))
        });
        written.collect()
    }
}

fn told(args: &ReplayArgs, switch: &Switch, received: u64, sent: &BTreeMap<u32, u64>) -> String {
    let drops = switch.drops().filter(|(_, packets)| *packets > 0);
    if args.json {
        let drops: Vec<_> = drops
            .map(|(place, packets)| json!({"place": place.as_str(), "packets": packets}))
            .collect();
        return format!(
            "{:#}\n",
            json!({"received": received, "sent": sent, "drops": drops})
        );
    }
    let total: u64 = sent.values().sum();
    let mut text = format!("received {received}, sent {total}\n");
    for (port, count) in sent {
        let path = args.out.join(format!("{port}.pcap"));
        let _ = writeln!(text, "port {port}: sent {count}, in {}", path.display());
    }
    for (place, packets) in drops {
        let _ = writeln!(text, "dropped {packets}: {place}");
    }
    text
}

fn cannot<'a>(what: &'a str, path: &'a Path) -> impl FnOnce(io::Error) -> Failure + 'a {
    move |error| {
        let code = match (what, error.kind()) {
            ("read", _) | (_, io::ErrorKind::AlreadyExists) => ExitCode::Plan,
            _ => ExitCode::Other,
        };
        let advice = match error.kind() {
            io::ErrorKind::AlreadyExists => "; nothing is overwritten: give another folder",
            _ => "",
        };
        let message = format!("cannot {what} {}: {error}{advice}", path.display());
        Failure::new(code, message)
    }
}

fn unreadable(path: &Path) -> impl FnOnce(PcapError) -> Failure + '_ {
    move |error| {
        Failure::new(
            ExitCode::Plan,
            format!("cannot read {}: {error}", path.display()),
        )
    }
}
