//! The part of telnet (RFC 854) that a shell needs: options are refused, the rest is text.

/// "Interpret as command": begins every command of the protocol.
const IAC: u8 = 255;
const DONT: u8 = 254;
const DO: u8 = 253;
const WONT: u8 = 252;
const WILL: u8 = 251;
/// Begins the parameters of an option; they go on until `IAC SE`.
const SB: u8 = 250;
const SE: u8 = 240;

/// The length of an answer: `IAC`, the word, the option.
const REFUSAL: usize = 3;

/// Takes the protocol out of a stream of bytes.
#[derive(Debug, Default)]
pub(super) struct Telnet {
    at: TelnetState,
    refused: usize,
}

/// State of the telnet parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum TelnetState {
    #[default]
    Text,
    /// After a carriage return: a zero that follows belongs to it.
    Return,
    Command,
    /// After one of the four option commands.
    Option(u8),
    Parameters,
    /// After an `IAC` among parameters.
    ParametersCommand,
}

impl Telnet {
    /// Text among `bytes`, and the answer: each option that the peer offers or asks for is refused.
    pub(super) fn take(&mut self, bytes: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let (mut text, mut answer) = (Vec::new(), Vec::new());
        for &byte in bytes {
            let (next, kept) = self.step(byte, &mut answer);
            self.at = next;
            text.extend(kept);
        }
        self.refused += answer.len() / REFUSAL;
        (text, answer)
    }

    /// How many options were refused so far.
    pub(super) const fn refused(&self) -> usize {
        self.refused
    }

    fn step(&self, byte: u8, answer: &mut Vec<u8>) -> (TelnetState, Option<u8>) {
        match (self.at, byte) {
            (TelnetState::Text | TelnetState::Return, IAC) => (TelnetState::Command, None),
            (TelnetState::Return, 0) => (TelnetState::Text, None),
            (TelnetState::Text | TelnetState::Return, b'\r') => (TelnetState::Return, Some(byte)),
            (TelnetState::Text | TelnetState::Return, _) => (TelnetState::Text, Some(byte)),
            (TelnetState::Command, IAC) => (TelnetState::Text, Some(IAC)),
            (TelnetState::Command, SB) => (TelnetState::Parameters, None),
            (TelnetState::Command, WILL..=DONT) => (TelnetState::Option(byte), None),
            (TelnetState::Command, _) | (TelnetState::ParametersCommand, SE) => {
                (TelnetState::Text, None)
            }
            (TelnetState::Option(word), option) => {
                match word {
                    DO => answer.extend([IAC, WONT, option]),
                    WILL => answer.extend([IAC, DONT, option]),
                    // Options are off from the start: there is nothing to switch off.
                    _ => {}
                }
                (TelnetState::Text, None)
            }
            (TelnetState::Parameters, IAC) => (TelnetState::ParametersCommand, None),
            (TelnetState::Parameters | TelnetState::ParametersCommand, _) => {
                (TelnetState::Parameters, None)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Zephyr's telnet shell begins, with parameters and an escaped byte among the text.
    const STREAM: &[u8] = b"\xff\xfb\x03\xff\xfd\x22a\r\0b\xff\xfa\x22\x01\xff\xff\x02\xff\xf0\xff\xf1c\xff\xff\xff\xfe\x01\r\n";

    #[test]
    fn options_are_refused_and_the_text_is_left() {
        let (text, answer) = Telnet::default().take(STREAM);
        assert_eq!(text, b"a\rbc\xff\r\n");
        assert_eq!(answer, b"\xff\xfe\x03\xff\xfc\x22");
    }

    #[test]
    fn it_does_not_matter_how_the_stream_is_cut() {
        let whole = Telnet::default().take(STREAM);
        let mut telnet = Telnet::default();
        let (mut text, mut answer) = (Vec::new(), Vec::new());
        for byte in STREAM {
            let (more, said) = telnet.take(&[*byte]);
            text.extend(more);
            answer.extend(said);
        }
        assert_eq!((text, answer), whole);
        assert_eq!(telnet.refused(), 2);
    }
}
