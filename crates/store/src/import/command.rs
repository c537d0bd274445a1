//! The command line that began a test, as a shell prompt in the log shows it.

use super::Rounded;

/// A command line found in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The host named by the shell prompt before it.
    pub host: Option<String>,
    /// The command itself, from the tool's name on.
    pub line: String,
}

impl Command {
    /// Finds the call of one of `tools` in a line such as `root@board:~# iperf3 -c 10.0.0.1`.
    pub(super) fn find(line: &str, tools: &[&str]) -> Option<Self> {
        let mut position = 0;
        for word in line.split(' ') {
            // A prompt of Windows may have no blank at its end.
            let start = position + word.rfind('>').map_or(0, |at| at + 1);
            let end = position + word.len();
            let name = line[start..end].rsplit(['/', '\\']).next();
            let name = name.map(|name| name.strip_suffix(".exe").unwrap_or(name));
            let has_options = line[end..].trim_start().starts_with('-');
            if has_options && name.is_some_and(|name| tools.contains(&name)) {
                return Self::after_prompt(&line[..start], &line[start..]);
            }
            position = end + 1;
        }
        None
    }

    fn after_prompt(prompt: &str, rest: &str) -> Option<Self> {
        let is_prompt = prompt.trim().is_empty() || prompt.contains(['#', '$', '%', '>', '❯']);
        let host = prompt.rsplit_once('@').map(|(_, after)| {
            let end = |c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
            after.split(end).next().unwrap_or(after).to_owned()
        });
        is_prompt.then(|| Self {
            host: host.filter(|name| !name.is_empty()),
            line: rest.trim().to_owned(),
        })
    }

    /// The value of an option: `-b 1M`, `-b1M`, `--bitrate 1M` or `--bitrate=1M`.
    pub(super) fn value(&self, short: &str, long: &[&str]) -> Option<&str> {
        let mut words = self.line.split_whitespace().skip(1);
        while let Some(word) = words.next() {
            if let Some(name) = word.strip_prefix("--") {
                match name.split_once('=') {
                    Some((name, value)) if long.contains(&name) => return Some(value),
                    None if long.contains(&name) => return words.next(),
                    _ => {}
                }
            } else if let Some(value) = word.strip_prefix(short) {
                return if value.is_empty() {
                    words.next()
                } else {
                    Some(value)
                };
            }
        }
        None
    }

    /// The words behind the tool's name, without what the shell does with the output.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        let words = self.line.split_whitespace().skip(1);
        words.take_while(|word| !word.contains(['|', '>', '<', '&', ';']))
    }

    /// Whether a switch is given: `-R`, also among others (`-uR`), or `--reverse`.
    pub(super) fn has(&self, short: char, long: &str) -> bool {
        self.line.split_whitespace().skip(1).any(|word| {
            match (word.strip_prefix("--"), word.strip_prefix('-')) {
                (Some(name), _) => name == long,
                (None, Some(letters)) => {
                    letters.contains(short) && letters.chars().all(|c| c.is_ascii_alphabetic())
                }
                (None, None) => false,
            }
        })
    }
}

/// The scale of a suffix: 1000 or 1024 to the power that `k`, `m`, `g` or `t` stands for.
fn power(suffix: char) -> Option<i32> {
    let position = "kmgt".find(suffix.to_ascii_lowercase())?;
    i32::try_from(position + 1).ok()
}

/// Reads a rate argument: a number with an optional suffix in steps of `base`.
pub(super) fn rate_argument(text: &str, base: f64) -> Option<f64> {
    let (number, scale) = match text.chars().last()? {
        last if last.is_ascii_alphabetic() => (&text[..text.len() - 1], base.powi(power(last)?)),
        _ => (text, 1.0),
    };
    Rounded::parse(number).map(|figure| figure.value * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Option<Command> {
        Command::find(line, &["iperf3", "iperf"])
    }

    #[test]
    fn prompts_name_the_host() {
        let board = found("root@freedom-u540:~# iperf3 -c 192.168.0.10 -u -b 70M").unwrap();
        assert_eq!(board.host.as_deref(), Some("freedom-u540"));
        assert_eq!(board.line, "iperf3 -c 192.168.0.10 -u -b 70M");
        let host = found("[root@Lhotze src]# ./src/iperf3 -s").unwrap();
        assert_eq!(host.host.as_deref(), Some("Lhotze"));
        assert_eq!(found("iperf3 -c ::1").unwrap().host, None);
        for prompt in [
            "C:\\iperf-3.1>",
            "PS C:\\Users\\me> .\\",
            "C:\\> C:\\tools\\",
        ] {
            let windows = found(&format!("{prompt}iperf3.exe -c ::1 -b 70M")).unwrap();
            assert_eq!(windows.value("-b", &[]), Some("70M"), "{prompt}");
        }
    }

    #[test]
    fn talk_about_the_tool_is_no_command() {
        for line in [
            "iperf Done.",
            "iperf3: error - busy",
            "use iperf3 -c",
            "iperf 3.16",
        ] {
            assert_eq!(found(line), None, "{line}");
        }
    }

    #[test]
    fn options_are_found_in_each_spelling() {
        for line in [
            "iperf3 -b 1M",
            "iperf3 -b1M",
            "iperf3 --bitrate 1M",
            "iperf3 --bitrate=1M",
        ] {
            let command = found(line).unwrap();
            assert_eq!(command.value("-b", &["bitrate"]), Some("1M"), "{line}");
        }
        assert!(found("iperf3 -uR").unwrap().has('R', "reverse"));
        assert!(!found("iperf3 -c Rome").unwrap().has('R', "reverse"));
        assert_eq!(rate_argument("1.5M", 1000.0), Some(1.5e6));
        assert_eq!(rate_argument("1G", 1024.0), Some(1_073_741_824.0));
        assert_eq!(rate_argument("", 1000.0), None);
        assert_eq!(rate_argument("1X", 1000.0), None);
    }
}
