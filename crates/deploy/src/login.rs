//! A login at a console, by what it says: what is typed next. Knows no line and no clock.

/// Maximum refused logins: noise may have corrupted one.
pub(crate) const MAX_REFUSALS: u32 = 3;

/// Maximum logins that are typed: a board asks once, and again where noise or its kernel's messages came between.
const MAX_LOGINS: u32 = 6;

/// Command whose output shows that there is a shell; the echo of the command differs from its output.
pub(crate) const PROBE: &str = "echo linerate-'shell'\r";
pub(crate) const SHELL: &str = "linerate-shell";

/// What a console waits for, by its last output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prompt {
    Login,
    Password,
    /// A shell, or unknown.
    Other,
}

pub(crate) fn prompt(said: &str) -> Prompt {
    let last = said.lines().last().unwrap_or_default().trim_end();
    let last = last.to_ascii_lowercase();
    if last.ends_with("login:") {
        Prompt::Login
    } else if last.ends_with("password:") {
        Prompt::Password
    } else {
        Prompt::Other
    }
}

/// How the login goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// It asks whether there is a shell.
    Probe,
    /// It is given up: what the console did, and what to do.
    Refuse(&'static str, &'static str),
    /// This is typed.
    Type(String),
}

/// How far the login of this program is: a console that prints late, or a slow line, gives others between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    Untouched,
    /// A prompt got the name.
    Named,
    /// And one the password.
    Complete,
    /// It was refused, or the console asks about a login of which no prompt got the name.
    Over,
}

/// A login under way.
#[derive(Debug)]
pub(crate) struct Login<'a> {
    name: Option<&'a str>,
    password: Option<&'a str>,
    attempt: Attempt,
    /// Attempts that were refused.
    refusals: u32,
    logins: u32,
    /// Prompts that got the password after the name: one for each attempt, and noise on the line may require another.
    /// What asks again without a login between, or without end, is no login of a board.
    shown: u32,
    /// Whether a probe was typed after the last name or password: a prompt that came late takes it for a name.
    has_probed: bool,
    /// Passwords of such names, none of which was given.
    passed_over: u32,
}

impl<'a> Login<'a> {
    pub(crate) const fn new(name: Option<&'a str>, password: Option<&'a str>) -> Self {
        Self {
            name,
            password,
            attempt: Attempt::Untouched,
            refusals: 0,
            logins: 0,
            shown: 0,
            has_probed: false,
            passed_over: 0,
        }
    }

    /// What follows after the console has said this and is quiet.
    pub(crate) fn next(&mut self, heard: &str) -> Step {
        if heard.to_ascii_lowercase().contains("login incorrect") {
            let is_own = match self.attempt {
                Attempt::Complete => true,
                Attempt::Named => !self.has_probed,
                Attempt::Untouched | Attempt::Over => false,
            };
            self.refusals += u32::from(is_own);
            self.attempt = Attempt::Over;
        }
        if self.refusals == MAX_REFUSALS {
            return Step::Refuse("it refuses the login", "see login= and password=");
        }
        match (prompt(heard), self.name) {
            (Prompt::Login, None) => Step::Refuse(
                "it asks for a login",
                "give login=, and password= if need be",
            ),
            (Prompt::Login, Some(_)) if self.logins == MAX_LOGINS => Step::Refuse(
                "it asks for the login again and again",
                "see what answers at the other end of the line",
            ),
            (Prompt::Login, Some(login)) => {
                self.logins += 1;
                (self.attempt, self.has_probed) = (Attempt::Named, false);
                Step::Type(format!("{login}\r"))
            }
            (Prompt::Password, _) => self.at_password(),
            (Prompt::Other, _) => {
                self.has_probed = true;
                Step::Probe
            }
        }
    }

    fn at_password(&mut self) -> Step {
        let again = Step::Refuse("it asks for the password again", "see login= and password=");
        if self.has_probed {
            if self.passed_over == MAX_REFUSALS {
                return again;
            }
            (self.attempt, self.has_probed) = (Attempt::Over, false);
            self.passed_over += 1;
            return Step::Type("\r".to_owned());
        }
        match self.attempt {
            Attempt::Named if self.shown < MAX_REFUSALS => {
                self.shown += 1;
                self.attempt = Attempt::Complete;
            }
            // Some consoles ask for a password alone; others took an empty line for a name.
            Attempt::Untouched => self.attempt = Attempt::Over,
            Attempt::Named | Attempt::Complete | Attempt::Over => return again,
        }
        let password = self.password.unwrap_or_default();
        Step::Type(format!("{password}\r"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board() -> Login<'static> {
        Login::new(Some("root"), Some("secret"))
    }

    /// What is typed at a console that says this for ever, until it is given up, and why.
    fn typed(mut login: Login<'_>, says: impl Fn(usize) -> &'static str) -> (Vec<String>, String) {
        let mut typed = Vec::new();
        for turn in 0..100 {
            match login.next(says(turn)) {
                Step::Type(text) => typed.push(text),
                Step::Refuse(what, _) => return (typed, what.to_owned()),
                Step::Probe => typed.push(PROBE.to_owned()),
            }
        }
        panic!("it goes on for ever: {typed:?}");
    }

    #[test]
    fn prompts_are_told_from_echoes() {
        assert_eq!(prompt("Debian 13\r\n\r\nboard login: "), Prompt::Login);
        assert_eq!(prompt("root\r\nPassword: "), Prompt::Password);
        let shell = "Last login: yesterday\r\nroot@board:~# ";
        assert_eq!(prompt(shell), Prompt::Other);
        assert!(!PROBE.contains(SHELL));
    }

    #[test]
    fn a_login_is_a_name_a_password_and_a_shell() {
        let mut login = board();
        let text = |text: &str| Step::Type(text.to_owned());
        assert_eq!(login.next("Debian 13\r\n\r\nboard login: "), text("root\r"));
        assert_eq!(login.next("root\r\nPassword: "), text("secret\r"));
        assert_eq!(login.next("Last login: yesterday\r\n# "), Step::Probe);
    }

    /// Of a busy board, or at a slow line.
    #[test]
    fn a_prompt_that_comes_late_takes_a_probe_for_a_name() {
        let mut login = Login::new(Some("root"), Some("wrong"));
        let text = |text: &str| Step::Type(text.to_owned());
        assert_eq!(login.next("board login: "), text("root\r"));
        assert_eq!(login.next("root\r\nPassword: "), text("wrong\r"));
        for _ in 1..MAX_REFUSALS {
            assert_eq!(login.next("\r\nLogin incorrect\r\nDebi"), Step::Probe);
            let late = "an 13\r\nboard login: echo linerate-'shell'\r\nPassword: ";
            assert_eq!(login.next(late), text("\r"));
            let again = "\r\nLogin incorrect\r\nboard login: ";
            assert_eq!(login.next(again), text("root\r"));
            assert_eq!(login.next("root\r\nPassword: "), text("wrong\r"));
        }
        let refused = login.next("\r\nLogin incorrect\r\nboard login: ");
        assert!(matches!(refused, Step::Refuse("it refuses the login", _)));
    }

    /// Of a host that is too busy to pass on what its line says.
    #[test]
    fn a_refusal_counts_for_the_name_and_password_that_were_typed() {
        let mut login = board();
        let text = |text: &str| Step::Type(text.to_owned());
        // The console takes the line that wakes it for a name, and the probe for its password.
        assert_eq!(login.next("Debian 13\r\nboard lo"), Step::Probe);
        let probed = "gin: echo linerate-'shell'\r\nPassword: ";
        assert_eq!(login.next(probed), text("\r"));
        for _ in 0..2 {
            assert_eq!(login.next("\r\n"), Step::Probe);
            let late = "Login incorrect\r\nboard login: echo linerate-'shell'\r\nPassword: ";
            assert_eq!(login.next(late), text("\r"));
        }
        let again = "\r\nLogin incorrect\r\nboard login: ";
        assert_eq!(login.next(again), text("root\r"));
        assert_eq!(login.next("root\r\nPassword: "), text("secret\r"));
        assert_eq!(login.next("Last login: yesterday\r\n# "), Step::Probe);
    }

    #[test]
    fn a_console_that_asks_without_end_is_given_up_after_a_few_answers() {
        let (names, why) = typed(board(), |_| "\r\nboard login: ");
        assert_eq!(
            (names.len(), &*why),
            (6, "it asks for the login again and again")
        );
        let (passwords, why) = typed(board(), |_| "\r\nPassword: ");
        assert_eq!(
            (passwords.len(), &*why),
            (1, "it asks for the password again")
        );
        let (both, why) = typed(board(), |turn| {
            ["\r\nboard login: ", "\r\nPassword: "][turn % 2]
        });
        let shown = both.iter().filter(|text| *text == "secret\r").count();
        assert!(shown == 3 && both.len() <= 8, "{both:?} {why}");
        let (between, why) = typed(board(), |turn| ["\r\nPassword: ", "what?"][turn % 2]);
        let shown = between.iter().filter(|text| *text == "secret\r").count();
        assert!(shown == 1 && between.len() < 10, "{between:?} {why}");
        let (_, why) = typed(board(), |_| "\r\nLogin incorrect\r\nboard login: ");
        assert_eq!(why, "it refuses the login");
        let nobody = Login::new(None, None);
        assert_eq!(typed(nobody, |_| "login: ").1, "it asks for a login");
    }
}
