//! The driver's loop with a session that only takes notes.

use crate::driver::Driver;
use crate::line::Line;
use linerate_model::MonoInstant;
use linerate_model::spec::Transport;
use linerate_observe::{Observer, Scope};
use linerate_peers::{Action, Input, ProtocolError, Session, TIMEOUT};
use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, mpsc};

/// A session whose deadline was at the start of the clock; it writes down what it is told.
#[derive(Debug)]
struct Overdue(Arc<Mutex<Vec<&'static str>>>);

impl Session for Overdue {
    fn handle(&mut self, _: MonoInstant, input: Input<'_>) -> Result<(), ProtocolError> {
        self.0.lock().unwrap().push(input.name());
        Ok(())
    }

    fn poll_action(&mut self) -> Option<Action> {
        None
    }

    fn deadline(&self) -> Option<MonoInstant> {
        Some(MonoInstant::default())
    }

    fn state(&self) -> &'static str {
        "overdue"
    }
}

#[test]
fn a_client_that_never_pauses_does_not_hide_a_deadline() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (stream, _) = listener.accept().unwrap();
    let inputs = Arc::default();
    let session = Box::new(Overdue(Arc::clone(&inputs)));
    let line = Line::over(stream, TIMEOUT).unwrap();
    let observer = Observer::new(Scope::live(None));
    let mut driver = Driver::server(line, session, observer, TIMEOUT);
    client.write_all(b"ping").unwrap();
    driver.turn().unwrap();
    assert_eq!(*inputs.lock().unwrap(), ["Bytes", "Timeout"]);
}

/// What a session that waits for a data stream of the peer's was told and asked, in order.
type Log = Arc<Mutex<Vec<&'static str>>>;

/// A session that waits for a data stream of the peer's.
#[derive(Debug)]
struct Listening {
    log: Log,
    port: mpsc::Sender<u16>,
    wants: Option<Action>,
}

impl Session for Listening {
    fn handle(&mut self, _: MonoInstant, input: Input<'_>) -> Result<(), ProtocolError> {
        self.log.lock().unwrap().push(input.name());
        if let Input::Prepared(Ok(ports)) = input {
            self.port.send(ports[0].1[0]).unwrap();
        }
        Ok(())
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.log.lock().unwrap().push("asked");
        self.wants.take()
    }

    /// A driver asks for this before it waits.
    fn deadline(&self) -> Option<MonoInstant> {
        self.log.lock().unwrap().push("waited");
        None
    }

    fn state(&self) -> &'static str {
        "listening"
    }
}

#[test]
fn a_session_is_asked_what_it_wants_before_the_driver_waits_again() {
    let (mut driver, _client, log, port) = listening();
    driver.turn().unwrap();
    let to = (Ipv4Addr::LOCALHOST, port.recv().unwrap());
    let mut stream = TcpStream::connect(to).unwrap();
    stream.write_all(b"data").unwrap();
    let is_inputs = |log: &Log| log.lock().unwrap().contains(&"Stream");
    while !is_inputs(&log) {
        driver.turn().unwrap();
    }
    let log = log.lock().unwrap();
    let inputs = log.iter().position(|what| *what == "Stream").unwrap();
    assert_eq!(log[inputs..inputs + 3], ["Stream", "asked", "waited"]);
}

/// A driver of such a session, the other end of its control connection, what it logs, and where it listens.
fn listening() -> (Driver, TcpStream, Log, mpsc::Receiver<u16>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let server = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (peer, _) = listener.accept().unwrap();
    let (log, (say, port)) = (Log::default(), mpsc::channel());
    let session = Box::new(Listening {
        log: Arc::clone(&log),
        port: say,
        wants: Some(Action::Listen {
            transport: Transport::Tcp,
            port: 0,
        }),
    });
    let line = Line::over(server, TIMEOUT).unwrap();
    let observer = Observer::new(Scope::live(None));
    (
        Driver::client(line, session, observer, TIMEOUT),
        peer,
        log,
        port,
    )
}
