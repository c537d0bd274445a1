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

/// A login under way.
#[derive(Debug)]
pub(crate) struct Login<'a> {
    name: Option<&'a str>,
    password: Option<&'a str>,
    refusals: u32,
    logins: u32,
    /// A prompt gets the password once for each login, and of noise on the line a login may have to be repeated: what asks
    /// again without a login between, or without end, is no login of a board.
    may_show: bool,
    shown: u32,
    /// Whether a probe was typed after the last name: a console that printed its prompt late takes it for a name.
    has_probed: bool,
    /// Passwords of such names, none of which was given.
    passed_over: u32,
    is_passed_over: bool,
}

impl<'a> Login<'a> {
    pub(crate) const fn new(name: Option<&'a str>, password: Option<&'a str>) -> Self {
        Self {
            name,
            password,
            refusals: 0,
            logins: 0,
            may_show: true,
            shown: 0,
            has_probed: false,
            passed_over: 0,
            is_passed_over: false,
        }
    }

    /// What follows after the console has said this and is quiet.
    pub(crate) fn next(&mut self, heard: &str) -> Step {
        let was_refused = heard.to_ascii_lowercase().contains("login incorrect");
        let is_own_name = !std::mem::take(&mut self.is_passed_over);
        self.refusals += u32::from(was_refused && is_own_name);
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
                self.has_probed = false;
                self.may_show = self.shown < MAX_REFUSALS;
                Step::Type(format!("{login}\r"))
            }
            (Prompt::Password, _)
                if !self.may_show && self.has_probed && self.passed_over < MAX_REFUSALS =>
            {
                (self.has_probed, self.is_passed_over) = (false, true);
                self.passed_over += 1;
                Step::Type("\r".to_owned())
            }
            (Prompt::Password, _) if !self.may_show => {
                Step::Refuse("it asks for the password again", "see login= and password=")
            }
            (Prompt::Password, _) => {
                (self.may_show, self.shown) = (false, self.shown + 1);
                let password = self.password.unwrap_or_default();
                Step::Type(format!("{password}\r"))
            }
            (Prompt::Other, _) => {
                self.has_probed = true;
                Step::Probe
            }
        }
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
