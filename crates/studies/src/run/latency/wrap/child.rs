//! The child's side: makes the test it is told of, and ends.

use super::{Answer, ChildRequest, ChildTurn, Request};
use anyhow::{Context as _, Result};
use linerate_client::{Client, Target, preloaded};
use linerate_model::exit::{ExitCode, Failure};
use linerate_session::key::read_key;
use std::io::{Read, Write};

/// Makes the test that `input` asks for, and says on `output` what both ends saw.
pub fn serve_turns(input: impl Read, output: &mut dyn Write) -> Result<()> {
    let request: Request = serde_json::from_reader(input).context("reading a request")?;
    let answer = match request.as_ref().map(turn) {
        None => Answer::Ready(preloaded()),
        Some(Ok(turn)) => Answer::Turn(Box::new(turn)),
        Some(Err(error)) => failed(&error),
    };
    // On lines of its own, whatever the wrapper prints around it.
    let text = format!("\n{}\n", serde_json::to_string(&answer)?);
    output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
        .context("telling what was measured")
}

fn turn(request: &ChildRequest) -> Result<ChildTurn> {
    let mut target = Target::from_config(&request.target)?;
    target.key = request.key_file.as_deref().map(read_key).transpose()?;
    let outcome = Client::connect(&target)?.run(&request.spec, &mut |_| true)?;
    let done = outcome.directions.into_iter().next();
    let (sender, receiver) = done.map_or((None, None), |done| (done.sender, done.receiver));
    Ok(ChildTurn {
        sender,
        receiver,
        notes: outcome.notes,
    })
}

fn failed(error: &anyhow::Error) -> Answer {
    let failure = Failure::of(error.as_ref());
    Answer::Failed {
        code: failure.map_or(ExitCode::Other, |failure| failure.code) as u8,
        message: format!("{error:#}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_client::address::PeerAddress;
    use linerate_model::spec::{Stop, TestSpec, Transport};

    fn answer(request: &Request) -> Answer {
        let request = serde_json::to_vec(request).unwrap();
        let mut output = Vec::new();
        serve_turns(&request[..], &mut output).unwrap();
        serde_json::from_slice(&output).unwrap()
    }

    #[test]
    fn nothing_asked_for_is_answered_with_what_is_loaded() {
        assert!(matches!(answer(&None), Answer::Ready(_)));
    }

    #[test]
    fn nobody_there_is_an_answer() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let target = Target::new(PeerAddress::parse(&format!("127.0.0.1:{port}")).unwrap());
        let request = ChildRequest {
            target: target.config(),
            key_file: None,
            spec: TestSpec {
                stop: Stop::Transactions(20),
                ..TestSpec::ping_pong(Transport::Udp)
            },
        };
        let Answer::Failed { code, .. } = answer(&Some(request)) else {
            panic!("somebody was there");
        };
        assert_eq!(code, ExitCode::Peer as u8);
    }
}
