//! What a shell writes to its terminal, as lines: without colours, cursor movements and prompts.

/// Longest line that is kept; of a longer one the rest is dropped. What zperf prints takes less than 80.
const MAX_LINE: usize = 512;

/// Longest text that is taken for a prompt.
const MAX_PROMPT: usize = 40;

/// Characters that prompts end with.
const PROMPT_ENDS: [char; 4] = ['$', '>', '#', '%'];

/// Cuts a stream of characters into lines.
#[derive(Debug, Default)]
pub(super) struct Terminal {
    at: SequenceState,
    line: String,
    prompt: Option<String>,
}

/// State of the control-sequence parser (ECMA-48).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum SequenceState {
    #[default]
    Text,
    Escape,
    Sequence,
}

impl Terminal {
    /// Takes one byte; returns a line that it ends, if not empty.
    pub(super) fn take(&mut self, byte: u8) -> Option<String> {
        match (self.at, byte) {
            (_, 0x1b) => self.at = SequenceState::Escape,
            (SequenceState::Escape, b'[') => self.at = SequenceState::Sequence,
            (SequenceState::Escape, _) | (SequenceState::Sequence, 0x40..=0x7e) => {
                self.at = SequenceState::Text;
            }
            (SequenceState::Text, b'\n') => {
                let line = self.shown();
                self.line.clear();
                return (!line.trim().is_empty()).then_some(line);
            }
            (SequenceState::Text, b'\t' | b' '..=b'~') => self.keep(char::from(byte)),
            (SequenceState::Text, 0x80..) => self.keep('\u{fffd}'),
            (SequenceState::Sequence | SequenceState::Text, _) => {}
        }
        None
    }

    fn keep(&mut self, character: char) {
        if self.line.len() < MAX_LINE {
            self.line.push(character);
        }
    }

    /// The unfinished line without prompts: a shell repeats its prompt after other threads' output, also in the middle
    /// of a line.
    fn shown(&self) -> String {
        match &self.prompt {
            None => self.line.clone(),
            Some(prompt) => self
                .line
                .replace(&format!("{prompt} "), "")
                .replace(prompt, ""),
        }
    }

    /// Whether the shell waits for a command: a prompt, and nothing typed.
    pub(super) fn is_at_prompt(&self) -> bool {
        self.prompt
            .as_ref()
            .is_some_and(|prompt| self.line.contains(prompt.as_str()))
            && self.shown().trim().is_empty()
    }

    /// Text since the last line's end, if it may be a prompt: one word, possibly repeated, that ends as prompts do.
    pub(super) fn candidate(&self) -> Option<&str> {
        let mut words = self.line.split_whitespace();
        let first = words.next()?;
        let may_be = first.len() <= MAX_PROMPT
            && first.ends_with(PROMPT_ENDS)
            && words.all(|word| word == first);
        may_be.then_some(first)
    }

    /// Sets the prompt.
    pub(super) fn learn(&mut self, prompt: String) {
        self.prompt = Some(prompt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(terminal: &mut Terminal, text: &str) -> Vec<String> {
        text.bytes()
            .filter_map(|byte| terminal.take(byte))
            .collect()
    }

    fn with_prompt() -> Terminal {
        let mut terminal = Terminal::default();
        terminal.learn("uart:~$".to_owned());
        terminal
    }

    #[test]
    fn colours_and_cursor_movements_are_no_text() {
        let text = "\x1b[8D\x1b[J[00:00:14.820,000] \x1b[0m<inf> net_zperf: Binding\x1b[0m\r\n\r\n";
        let found = lines(&mut with_prompt(), text);
        assert_eq!(found, ["[00:00:14.820,000] <inf> net_zperf: Binding"]);
    }

    #[test]
    fn a_line_that_prompts_cut_is_whole_again() {
        let mut terminal = with_prompt();
        let text = "uart:~$  duration:\t\tuart:~$ 3.00 suart:~$ \n\x1b[1;32muart:~$ \x1b[m";
        assert_eq!(lines(&mut terminal, text), [" duration:\t\t3.00 s"]);
        assert!(terminal.is_at_prompt());
        assert!(lines(&mut terminal, "zperf").is_empty());
        assert!(!terminal.is_at_prompt());
    }

    #[test]
    fn a_prompt_is_recognised_also_when_it_comes_twice() {
        let mut terminal = Terminal::default();
        lines(&mut terminal, "*** Booting Zephyr\n");
        assert_eq!(terminal.candidate(), None);
        lines(&mut terminal, "uart:~$ uart:~$ ");
        assert_eq!(terminal.candidate(), Some("uart:~$"));
        lines(&mut terminal, "kernel ");
        assert_eq!(terminal.candidate(), None);
    }

    #[test]
    fn a_line_without_end_takes_bounded_memory() {
        let mut terminal = Terminal::default();
        for _ in 0..100_000 {
            assert_eq!(terminal.take(b'x'), None);
        }
        assert_eq!(terminal.line.len(), MAX_LINE);
        assert_eq!(terminal.take(b'\n').unwrap().len(), MAX_LINE);
        for _ in 0..100_000 {
            assert_eq!(terminal.take(0x1b), None);
        }
    }
}
