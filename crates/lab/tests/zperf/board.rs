//! A board to test against: a shell that answers as Zephyr's does, and a zperf with real sockets.
//!
//! What it prints and how it counts is that of the recorded boards: the first datagram of a session is
//! received and not counted, log lines and prompts cut what it prints.

use linerate_model::Clock as _;
use linerate_sys::clock::{MonoClock, sleep_until};
use linerate_testkit::ports::free_address;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The board's address.
pub(crate) const BOARD: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// What sets releases of zperf apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Era {
    pub(crate) release: &'static str,
    /// Bytes before the settings in a datagram.
    pub(crate) header: usize,
    /// What `K` means.
    pub(crate) kilo: u64,
}

/// Zephyr up to 4.1.
pub(crate) const A: Era = Era {
    release: "3.3.0",
    header: 12,
    kilo: 1024,
};

/// Zephyr 4.2 and later.
pub(crate) const B: Era = Era {
    release: "4.2.0",
    header: 16,
    kilo: 1000,
};

/// What really came and went.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    pub(crate) packets: AtomicU64,
    pub(crate) bytes: AtomicU64,
    /// From the first datagram of the last session to its end.
    pub(crate) micros: AtomicU64,
}

/// A shell on one end of a line.
pub(crate) struct Board {
    pub(crate) truth: Arc<Truth>,
    /// The address to give to linerate.
    pub(crate) url: String,
    /// Keeps a serial line's other end open.
    _line: Option<File>,
}

const PROMPT: &str = "uart:~$ ";

impl Board {
    /// On a pseudo-terminal.
    pub(crate) fn on_serial(era: Era) -> Self {
        let (host, path) = linerate_sys::serial::pseudo_terminal().unwrap();
        let kept = File::options().read(true).write(true).open(&path).unwrap();
        let truth = start(era, host.try_clone().unwrap(), host);
        Self {
            truth,
            url: serial_url(&path),
            _line: Some(kept),
        }
    }

    /// Behind a telnet server, which says hello with its options.
    pub(crate) fn on_telnet(era: Era) -> Self {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        let truth = Arc::new(Truth::default());
        let shared = Arc::clone(&truth);
        thread::spawn(move || {
            let (mut stream, _) = server.accept().unwrap();
            stream.write_all(b"\xff\xfb\x01\xff\xfb\x03").unwrap();
            talk(era, stream.try_clone().unwrap(), stream, shared);
        });
        Self {
            truth,
            url: format!("zperf+telnet://{address}?{}", host_and_port()),
            _line: None,
        }
    }
}

fn serial_url(path: &Path) -> String {
    let (path, board) = (path.display(), host_and_port());
    format!("zperf+serial://{path}?baud=115200&{board}")
}

/// Where its zperf listens once it is started.
fn host_and_port() -> String {
    let port = free_address(BOARD.into()).unwrap().port();
    format!("host={BOARD}&port={port}")
}

fn start(era: Era, from: File, to: File) -> Arc<Truth> {
    let truth = Arc::new(Truth::default());
    let shared = Arc::clone(&truth);
    thread::spawn(move || talk(era, from, to, shared));
    truth
}

/// What prints: the shell, and zperf's threads.
#[derive(Clone)]
struct Console(Arc<Mutex<Box<dyn Write + Send>>>);

impl Console {
    fn print(&self, text: &str) {
        let text = text.replace('\n', "\r\n");
        // Nobody may be listening any more.
        let _ = self.0.lock().unwrap().write_all(text.as_bytes());
    }

    /// As another thread prints: the prompt comes again after each piece.
    fn interrupt(&self, pieces: &[&str]) {
        for piece in pieces {
            self.print(&format!("{piece}{PROMPT}"));
        }
    }
}

/// A server that runs.
struct Server {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

fn talk(era: Era, mut from: impl Read, to: impl Write + Send + 'static, truth: Arc<Truth>) {
    let console = Console(Arc::new(Mutex::new(Box::new(to))));
    let mut shell = Zephyr {
        era,
        console: console.clone(),
        truth,
        server: None,
    };
    let (mut typed, mut byte) = (String::new(), [0]);
    while from.read(&mut byte).is_ok_and(|length| length == 1) {
        match byte[0] {
            b'\r' => {
                console.print("\n");
                shell.obey(&std::mem::take(&mut typed));
                console.print(&format!("\x1b[1;32m{PROMPT}\x1b[m"));
            }
            printable @ b' '..=b'~' => {
                typed.push(char::from(printable));
                console.print(&char::from(printable).to_string());
            }
            // Line feeds after a return, and answers to telnet's options.
            _ => {}
        }
    }
}

struct Zephyr {
    era: Era,
    console: Console,
    truth: Arc<Truth>,
    server: Option<Server>,
}

impl Zephyr {
    fn obey(&mut self, command: &str) {
        let words: Vec<&str> = command.split_whitespace().collect();
        match words[..] {
            [] => {}
            ["kernel", "version"] => {
                let release = self.era.release;
                self.console.print(&format!("Zephyr version {release}\n"));
            }
            ["zperf", "version"] => self.console.print("Version: 1.1\nConfig: unified ipv4\n"),
            ["zperf", kind, "download", "stop"] => self.stop(kind),
            ["zperf", kind, "download", port] => self.serve(kind, port.parse().unwrap()),
            ["zperf", "udp", "upload", to, port, seconds, size, rate] => {
                let to = address(to, port);
                self.upload_udp(to, seconds, size.parse().unwrap(), rate.parse().unwrap());
            }
            ["zperf", "tcp", "upload", to, port, seconds, size] => {
                self.upload_tcp(address(to, port), seconds, size.parse().unwrap());
            }
            [first, ..] => self.console.print(&format!("{first}: command not found\n")),
        }
    }

    fn serve(&mut self, kind: &str, port: u16) {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let (console, truth, era) = (self.console.clone(), Arc::clone(&self.truth), self.era);
        let thread = if kind == "udp" {
            let socket = UdpSocket::bind((BOARD, port)).unwrap();
            thread::spawn(move || receive_udp(era, &socket, &seen, &console, &truth))
        } else {
            let listener = TcpListener::bind((BOARD, port)).unwrap();
            thread::spawn(move || receive_tcp(era, &listener, &seen, &console, &truth))
        };
        self.server = Some(Server { stop, thread });
        let name = kind.to_uppercase();
        self.console
            .print(&format!("{name} server started on port {port}\n"));
        self.console
            .interrupt(&["[00:00:14.820,000] <inf> net_zperf: Binding to 127.0.0.1\n"]);
    }

    fn stop(&mut self, kind: &str) {
        let name = kind.to_uppercase();
        let Some(server) = self.server.take() else {
            return self.console.print(&format!("{name} server not running!\n"));
        };
        server.stop.store(true, Ordering::Relaxed);
        server.thread.join().unwrap();
        self.console.print(&format!("{name} server stopped\n"));
    }

    /// What every upload begins with.
    fn begin(&self, to: SocketAddr, seconds: &str, size: usize) {
        let (ip, port) = (to.ip(), to.port());
        self.console.print(&format!(
            "Remote port is {port}\nConnecting to {ip}\nDuration:\t{seconds}.00 s\nPacket size:\t{size} bytes\nRate:\t\t10 kbps\nStarting...\n"
        ));
    }

    fn upload_udp(&self, to: SocketAddr, seconds: &str, size: usize, bps: u64) {
        self.begin(to, seconds, size);
        let socket = UdpSocket::bind((BOARD, 0)).unwrap();
        socket.connect(to).unwrap();
        let time = Duration::from_secs(seconds.parse().unwrap());
        let gap = Duration::from_nanos(size as u64 * 8 * 1_000_000_000 / bps);
        let start = MonoClock.now();
        let mut sent = 0_u32;
        loop {
            let due = gap * sent;
            if due >= time {
                break;
            }
            sleep_until(start.after(due));
            socket
                .send(&self.datagram(sent.cast_signed(), size, to.port()))
                .unwrap();
            sent += 1;
        }
        let report = self.end_udp(&socket, -sent.cast_signed(), size);
        self.truth.packets.fetch_add(sent.into(), Ordering::Relaxed);
        self.truth
            .bytes
            .fetch_add(u64::from(sent) * size as u64, Ordering::Relaxed);
        let (total, note) = match report {
            Some(total) => (total, ""),
            None => (0, "LAST PACKET NOT RECEIVED!!!\n"),
        };
        self.console.print(&format!(
            "-\nUpload completed!\n{note}Statistics:\t\tserver\t(client)\nDuration:\t\t{seconds}.00 s\t({seconds}.00 s)\nNum packets:\t\t{total}\t({sent})\nNum packets out order:\t0\nNum packets lost:\t0\nJitter:\t\t\t98 us\nRate:\t\t\t1.00 Mbps\t(1.00 Mbps)\n"
        ));
    }

    /// A datagram with its number and the settings, which this tool writes in its own byte order and unit.
    fn datagram(&self, id: i32, size: usize, port: u16) -> Vec<u8> {
        let mut bytes = vec![b'z'; size];
        bytes[..4].copy_from_slice(&id.to_be_bytes());
        bytes[4..12].fill(0);
        let settings = self.era.header;
        bytes[settings..settings + 24].fill(0);
        bytes[settings + 7] = 1;
        bytes[settings + 10..settings + 12].copy_from_slice(&port.to_be_bytes());
        bytes[settings + 12..settings + 16]
            .copy_from_slice(&u32::to_le_bytes(size.try_into().unwrap()));
        bytes
    }

    /// Two tries of two seconds; the number of datagrams in the report.
    fn end_udp(&self, socket: &UdpSocket, id: i32, size: usize) -> Option<u32> {
        socket
            .set_read_timeout(Some(Duration::from_secs(2)))
            .unwrap();
        let mut report = [0; 1500];
        for _ in 0..2 {
            // Refused when nobody is there any more.
            let _ = socket.send(&self.datagram(id, size, 0));
            let Ok(length) = socket.recv(&mut report) else {
                continue;
            };
            let at = self.era.header + 28;
            if length < at + 4 {
                continue;
            }
            return Some(u32::from_be_bytes(report[at..at + 4].try_into().unwrap()));
        }
        None
    }

    fn upload_tcp(&self, to: SocketAddr, seconds: &str, size: usize) {
        self.begin(to, seconds, size);
        let Ok(mut stream) = TcpStream::connect(to) else {
            self.console
                .interrupt(&["<err> net_zperf: Cannot connect IPv4 TCP socket (-111)\n"]);
            return self.console.print("TCP upload failed (-111)\n");
        };
        let time = Duration::from_secs(seconds.parse().unwrap());
        let mut bytes = vec![b'z'; size];
        bytes[..4].fill(0);
        let end = MonoClock.now().after(time);
        let mut sent = 0_u64;
        while MonoClock.now() < end {
            stream.write_all(&bytes).unwrap();
            sent += 1;
            sleep_until(MonoClock.now().after(Duration::from_millis(1)));
        }
        drop(stream);
        self.truth
            .bytes
            .fetch_add(sent * size as u64, Ordering::Relaxed);
        self.console.print(&format!(
            "-\nUpload completed!\nDuration:\t{seconds}.00 s\nNum packets:\t{sent}\nNum errors:\t0 (retry or fail)\nRate:\t\t1.00 Mbps\n"
        ));
    }
}

fn address(ip: &str, port: &str) -> SocketAddr {
    SocketAddr::new(ip.parse::<IpAddr>().unwrap(), port.parse().unwrap())
}

/// A number of kbit/s as zperf prints it.
fn rate(bits: u64, era: Era) -> String {
    let kilobits = bits / era.kilo;
    let (whole, rest) = (kilobits / era.kilo, kilobits % era.kilo);
    format!("{whole}.{:02} Mbps", rest * 100 / era.kilo)
}

const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The first datagram of a session is not counted, and neither is the last.
fn receive_udp(era: Era, socket: &UdpSocket, stop: &AtomicBool, console: &Console, truth: &Truth) {
    socket.set_read_timeout(Some(POLL_INTERVAL)).unwrap();
    let mut buffer = [0; 1500];
    let mut session: Option<u32> = None;
    let (mut bytes, mut opened) = (0, MonoClock.now());
    // An end that is said again is answered again.
    let mut last_report = report(era, &buffer, 0, 0, 0);
    while !stop.load(Ordering::Relaxed) {
        let Ok((length, from)) = socket.recv_from(&mut buffer) else {
            continue;
        };
        let id = i32::from_be_bytes(buffer[..4].try_into().unwrap());
        match (session, id < 0) {
            (None, true) => drop(socket.send_to(&last_report, from)),
            (None, false) => {
                count(truth, length);
                session = Some(0);
                opened = MonoClock.now();
                console.interrupt(&["New session started.\n"]);
            }
            (Some(received), false) => {
                count(truth, length);
                session = Some(received + 1);
                bytes += length as u64;
            }
            (Some(received), true) => {
                let micros = micros(MonoClock.now().saturating_since(opened));
                truth.micros.store(micros.into(), Ordering::Relaxed);
                last_report = report(era, &buffer, received, bytes, micros);
                socket.send_to(&last_report, from).unwrap();
                session = None;
                let packets = format!(" received packets:\t{received}\n");
                let rate = rate(bytes * 8, era);
                console.interrupt(&[
                    "End of session!\n",
                    " duration:\t\t",
                    &format!(
                        "{}.{:02} s",
                        micros / 1_000_000,
                        micros % 1_000_000 / 10_000
                    ),
                    "\n",
                    &packets,
                    " nb packets lost:\t0\n",
                    " nb packets outorder:\t0\n",
                    " jitter:\t\t\t",
                    "98 us",
                    "\n",
                    " rate:\t\t\t",
                    &rate,
                    "\n",
                ]);
                bytes = 0;
            }
        }
    }
}

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap()
}

fn count(truth: &Truth, length: usize) {
    truth.packets.fetch_add(1, Ordering::Relaxed);
    truth.bytes.fetch_add(length as u64, Ordering::Relaxed);
}

/// The server's report, in the place of its era: what it received is its total.
fn report(era: Era, last: &[u8], received: u32, bytes: u64, micros: u32) -> Vec<u8> {
    let mut report = last[..era.header].to_vec();
    // Few enough for one word; a board takes the rest by this number too.
    let (high, low) = (0, u32::try_from(bytes % u64::from(u32::MAX)).unwrap());
    let (seconds, micros) = (micros / 1_000_000, micros % 1_000_000);
    for word in [
        0x8000_0000,
        high,
        low,
        seconds,
        micros,
        0,
        0,
        received,
        0,
        98,
    ] {
        report.extend(u32::to_be_bytes(word));
    }
    report
}

fn receive_tcp(
    era: Era,
    listener: &TcpListener,
    stop: &AtomicBool,
    console: &Console,
    truth: &Truth,
) {
    listener.set_nonblocking(true).unwrap();
    while !stop.load(Ordering::Relaxed) {
        let Ok((mut stream, _)) = listener.accept() else {
            sleep_until(MonoClock.now().after(POLL_INTERVAL));
            continue;
        };
        stream.set_nonblocking(false).unwrap();
        console.interrupt(&["New TCP session started.\n"]);
        let bytes = std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
        truth.bytes.fetch_add(bytes, Ordering::Relaxed);
        let rate = rate(bytes * 8, era);
        console.interrupt(&[
            "TCP session ended\n",
            " Duration:\t\t",
            "1.00 s",
            "\n",
            " rate:\t\t\t",
            &rate,
            "\n",
        ]);
    }
}
