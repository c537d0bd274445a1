//! Flows of others through the same link: TCP streams that send all they can until they are stopped.

use anyhow::Result;
use linerate_testbed::{HostId, TwoHosts};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread::JoinHandle;

/// As that of the tests: under the machine's default, which may be another, they would take more than
/// their share, or less.
const CONTROL: &str = "cubic";

/// Streams from host A to host B.
pub(crate) struct Rivals {
    streams: Vec<TcpStream>,
    threads: Vec<JoinHandle<()>>,
}

impl Rivals {
    pub(crate) fn start(hosts: &TwoHosts, flows: u32) -> Result<Self> {
        let (near, far) = (hosts.host(HostId::A), hosts.host(HostId::B));
        let address = far.ipv4();
        let mut rivals = Self {
            streams: Vec::new(),
            threads: Vec::new(),
        };
        for _ in 0..flows {
            let listen = move || TcpListener::bind((address, 0));
            let listener = far.spawn("rival", listen)?.join().unwrap()?;
            let to = listener.local_addr()?;
            let connect = move || {
                let stream = TcpStream::connect(to)?;
                linerate_sys::sockopt::set_congestion_control(&stream, CONTROL)?;
                Ok::<_, std::io::Error>(stream)
            };
            let stream = near.spawn("rival", connect)?.join().unwrap()?;
            let (taken, _) = listener.accept()?;
            let (giving, taking) = (stream.try_clone()?, taken.try_clone()?);
            rivals
                .threads
                .push(std::thread::spawn(move || give(giving)));
            rivals
                .threads
                .push(std::thread::spawn(move || take(taking)));
            // Both ends, so that no thread waits for what is still queued.
            rivals.streams.extend([stream, taken]);
        }
        Ok(rivals)
    }

    pub(crate) fn stop(self) {
        for stream in self.streams {
            // One that has ended already needs no end.
            let _ = stream.shutdown(Shutdown::Both);
        }
        for thread in self.threads {
            thread.join().unwrap();
        }
    }
}

/// Sends until the stream is shut.
fn give(mut stream: TcpStream) {
    let bytes = vec![0; 64 * 1024];
    while stream.write_all(&bytes).is_ok() {}
}

/// Reads until the stream ends.
fn take(mut stream: TcpStream) {
    let mut room = vec![0; 64 * 1024];
    while stream.read(&mut room).is_ok_and(|length| length > 0) {}
}
