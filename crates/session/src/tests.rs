//! The driver's loop with a session that only takes notes.

use crate::driver::Driver;
use crate::line::Line;
use linerate_model::MonoInstant;
use linerate_observe::{Observer, Scope};
use linerate_peers::{Action, Input, ProtocolError, Session, TIMEOUT};
use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

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
    let told = Arc::default();
    let session = Box::new(Overdue(Arc::clone(&told)));
    let line = Line::over(stream, TIMEOUT).unwrap();
    let observer = Observer::new(Scope::live(None));
    let mut driver = Driver::server(line, session, observer, TIMEOUT);
    client.write_all(b"ping").unwrap();
    driver.turn().unwrap();
    assert_eq!(*told.lock().unwrap(), ["Bytes", "Timeout"]);
}
