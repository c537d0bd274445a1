//! From a form to a command line: which options a form has, and what of them makes a test.
//!
//! Pure. The form's options are the command line's, with their help; what cannot be is refused before anything starts.

use linerate_studies::options::{
    self, HelpLevel, OptionValue, Source, Takes, TestKind, TestOption,
};

/// Options that start programs of this host; the site starts one program only.
const LEFT_OUT: [&str; 1] = ["wrap"];

/// The field of the peer's address.
pub(crate) const TARGET: &str = "target";

/// Longest address.
const MAX_TARGET_BYTES: usize = 500;

/// The options that the form of a kind of test has, under their headings.
pub(crate) fn offered(kind: TestKind) -> impl Iterator<Item = (&'static str, &'static TestOption)> {
    options::of_command(kind)
        .filter(|(_, option)| option.shown != HelpLevel::Never && !LEFT_OUT.contains(&option.name))
}

/// What is wrong with a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The field that it is about, if it is about one.
    pub(crate) field: Option<String>,
    pub(crate) message: String,
}

/// A test that can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) target: String,
    /// The kind of test and its options, without the target.
    pub(crate) arguments: Vec<String>,
    /// The intended load, where one was given.
    pub(crate) intended: Option<String>,
}

/// Fields of a form, in its order.
pub(crate) type Fields = Vec<(String, String)>;

/// The value of a field; an empty one was not filled in.
pub(crate) fn value<'a>(fields: &'a Fields, name: &str) -> Option<&'a str> {
    let found = fields.iter().find(|(field, _)| field == name);
    let found = found.map(|(_, value)| value.trim());
    found.filter(|value| !value.is_empty())
}

/// The test that a form asks for.
pub(crate) fn request(kind: TestKind, fields: &Fields) -> Result<Request, Refusal> {
    let about = |field: &str, message: String| Refusal {
        field: Some(field.to_owned()),
        message,
    };
    let target = value(fields, TARGET).unwrap_or_default();
    if let Some(why) = unfit(target) {
        return Err(about(TARGET, why.to_owned()));
    }
    let given = offered(kind).filter_map(|(_, option)| {
        let value = value(fields, option.name)?;
        Some((option, value.to_owned()))
    });
    let given: Vec<OptionValue> = given.collect();
    let test = options::request(kind, Source::CommandLine, &given).map_err(|refused| Refusal {
        field: refused.at.map(|at| given[at].0.name.to_owned()),
        message: refused.message,
    })?;
    let whole = |message| Refusal {
        field: None,
        message,
    };
    test.check(kind, Source::CommandLine).map_err(whole)?;
    let argument = |(option, value): &OptionValue| match option.takes {
        Takes::Nothing => format!("--{}", option.name),
        Takes::Value(_) | Takes::List(_) | Takes::Optional(_) => {
            format!("--{}={value}", option.name)
        }
    };
    let arguments = std::iter::once(kind.as_str().to_owned());
    let load = ["rate", "pace"];
    let intended = given.iter().find(|(option, _)| load.contains(&option.name));
    Ok(Request {
        target: target.to_owned(),
        arguments: arguments.chain(given.iter().map(argument)).collect(),
        intended: intended.map(|(_, value)| value.clone()),
    })
}

/// Why not an address of a peer.
fn unfit(target: &str) -> Option<&'static str> {
    if target.is_empty() {
        return Some("name the peer: a host's name or address, as on the command line");
    }
    let is_odd = |c: char| c.is_whitespace() || c.is_control();
    (target.starts_with('-') || target.contains(is_odd) || target.len() > MAX_TARGET_BYTES)
        .then_some("not an address of a peer: it begins with a dash, has a space, or is too long")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(given: &[(&str, &str)]) -> Fields {
        let owned = given.iter();
        owned
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn a_form_becomes_the_command_line_that_a_user_would_type() {
        let form = fields(&[
            ("target", " board "),
            ("rate", "10M"),
            ("time", "2s"),
            ("reverse", "true"),
            ("streams", ""),
        ]);
        let request = request(TestKind::Udp, &form).unwrap();
        assert_eq!(request.target, "board");
        assert_eq!(
            request.arguments,
            ["udp", "--rate=10M", "--time=2s", "--reverse"]
        );
        assert_eq!(request.intended.as_deref(), Some("10M"));
    }

    #[test]
    fn what_cannot_be_is_refused_at_its_field() {
        let field = |kind, form: &[(&str, &str)]| request(kind, &fields(form)).unwrap_err().field;
        for target in ["", "-oProxyCommand=x", "a b", "a\nb"] {
            assert_eq!(
                field(TestKind::Tcp, &[("target", target)]).as_deref(),
                Some(TARGET),
                "{target:?}"
            );
        }
        let wrong = [("target", "board"), ("time", "soon")];
        assert_eq!(field(TestKind::Tcp, &wrong).as_deref(), Some("time"));
        assert_eq!(field(TestKind::Udp, &[("target", "board")]), None);
        let excluding = [("target", "board"), ("reverse", "true"), ("duplex", "true")];
        assert_eq!(field(TestKind::Tcp, &excluding), None);
    }

    #[test]
    fn no_option_starts_another_program_whatever_a_form_holds() {
        let form = fields(&[
            ("target", "board"),
            ("wrap", "touch /tmp/x"),
            ("store", "/"),
            ("output", "/etc/x"),
        ]);
        let request = request(TestKind::Latency, &form).unwrap();
        assert_eq!(request.arguments, ["latency"]);
    }
}
