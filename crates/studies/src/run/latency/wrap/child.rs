//! The child's side: makes the tests it is told of, one line each, until its input ends.

use super::{ChildRequest, ChildTurn, Said};
use anyhow::{Context as _, Result};
use linerate_client::{Client, Target, preloaded};
use linerate_model::exit::{ExitCode, Failure};

use linerate_session::key::read_key;
use std::io::{BufRead, Write};

/// Makes every test that a line of `input` asks for, and says on `output` what both ends saw.
pub fn serve_turns(input: impl BufRead, output: &mut dyn Write) -> Result<()> {
    say(output, &Said::Ready(preloaded()))?;
    for line in input.lines() {
        let said = match turn(&line.context("reading a request")?) {
            Ok(turn) => Said::Turn(Box::new(turn)),
            Err(error) => failed(&error),
        };
        say(output, &said)?;
    }
    Ok(())
}

fn turn(line: &str) -> Result<ChildTurn> {
    let request: ChildRequest = serde_json::from_slice(line.as_bytes()).context("not a request")?;
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

fn failed(error: &anyhow::Error) -> Said {
    let failure = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<Failure>());
    Said::Failed {
        code: failure.map_or(ExitCode::Other, |failure| failure.code) as u8,
        message: format!("{error:#}"),
    }
}

fn say(output: &mut dyn Write, said: &Said) -> Result<()> {
    let mut line = serde_json::to_string(said)?;
    line.push('\n');
    let said = output
        .write_all(line.as_bytes())
        .and_then(|()| output.flush());
    said.context("telling what was measured")
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_client::address::PeerAddress;
    use linerate_model::spec::{Stop, TestSpec, Transport};

    fn answers(lines: &str) -> Vec<Said> {
        let mut output = Vec::new();
        serve_turns(lines.as_bytes(), &mut output).unwrap();
        let text = String::from_utf8(output).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn request(far: &str) -> String {
        let target = Target::new(PeerAddress::parse(far).unwrap());
        let request = ChildRequest {
            target: target.config(),
            key_file: None,
            spec: TestSpec {
                stop: Stop::Transactions(20),
                ..TestSpec::ping_pong(Transport::Udp)
            },
        };
        serde_json::to_string(&request).unwrap() + "\n"
    }

    #[test]
    fn nonsense_and_nobody_there_are_answers() {
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let lines = format!("nonsense\n{}", request(&format!("127.0.0.1:{port}")));
        let said = answers(&lines);
        let codes: Vec<_> = said
            .iter()
            .filter_map(|said| match said {
                Said::Failed { code, .. } => Some(*code),
                _ => None,
            })
            .collect();
        assert_eq!(codes, [ExitCode::Other as u8, ExitCode::Peer as u8]);
    }
}
