//! Text of a page of HTML: tags are taken off, entities decoded, and lines end where a browser would end them.
//!
//! A browser ends lines by tags, and outside of `<pre>` not by line ends. What was pasted into a page's source without
//! any such tag has its line ends in the source instead: that is tried too ([`LINES`]).
//!
//! # References
//! - HTML Living Standard §13.1 (syntax), §15.3 (what is rendered as a block)

use super::entities::{self, MAX_LEN};
use super::{Decoder, Enclosure, Output};

/// Lines end as a browser shows them.
pub(super) static PAGE: Enclosure = html(|| Box::new(Html::new(LineEnds::OfTags)));

/// Lines end as in the source, and by tags.
pub(super) static LINES: Enclosure = html(|| Box::new(Html::new(LineEnds::OfSource)));

const fn html(decoder: fn() -> Box<dyn Decoder>) -> Enclosure {
    Enclosure {
        what: "HTML",
        command: "w3m -dump -T text/html FILE > log.txt",
        is_in,
        decoder,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineEnds {
    OfSource,
    OfTags,
}

/// What an element is to the text in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Element {
    /// It begins and ends lines.
    Block,
    /// It ends a line.
    Break,
    /// A cell of a row.
    Cell,
    /// Its text is not shown.
    Hidden,
    /// It is part of a line.
    Inline,
    /// It begins and ends lines, and its own line ends are the text's.
    Preformatted,
}

/// The elements of pages; what else stands between `<` and `>` is text.
const ELEMENTS: &[(Element, &str)] = &[
    (
        Element::Block,
        "address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure \
         footer form h1 h2 h3 h4 h5 h6 head header html legend li main menu nav ol optgroup option p section select \
         summary table tbody tfoot thead tr ul",
    ),
    (Element::Break, "br hr"),
    (Element::Cell, "td th"),
    (Element::Hidden, "noscript script style svg template title"),
    (
        Element::Inline,
        "a abbr acronym b bdi bdo big button cite code col colgroup data del dfn em embed font i iframe img input ins \
         kbd label link mark meta meter nobr object output picture progress q s samp slot small source span strike \
         strong sub sup time tt u var video wbr",
    ),
    (Element::Preformatted, "listing pre textarea xmp"),
];

/// Longest name of an element.
const MAX_NAME: usize = 10;

fn element(name: &str) -> Option<Element> {
    let is_in = |names: &str| {
        names
            .split(' ')
            .any(|known| known.eq_ignore_ascii_case(name))
    };
    let found = ELEMENTS.iter().find(|(_, names)| is_in(names));
    found.map(|(element, _)| *element)
}

/// Whether a line has an entity or a tag.
fn is_in(line: &str) -> bool {
    let is_tag = |rest: &str| {
        let rest = rest.strip_prefix('/').unwrap_or(rest);
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric());
        let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
        element(name).is_some() && (after.is_empty() || ends_name(after))
    };
    line.split('<').skip(1).any(is_tag) || entities::are_in(line)
}

fn ends_name(after: &str) -> bool {
    after.starts_with(|c: char| c.is_whitespace() || matches!(c, '>' | '/'))
}

/// Where in the source the decoder is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Text,
    /// After `<`.
    Open,
    /// In the name of a tag.
    Name {
        is_end: bool,
        name: String,
    },
    /// Behind the name of a tag, in a value if that is in quotes.
    Attributes {
        quote: Option<char>,
    },
    /// After `<!` or `<?`; the characters read last, at most two, if it is a comment.
    Markup {
        begin: String,
        last: [char; 2],
    },
    /// After `&`.
    Entity(String),
}

struct Html {
    line_ends: LineEnds,
    state: State,
    /// Elements that are open in which line ends are the text's.
    preformatted: usize,
    /// The element that is open whose text is not shown.
    hidden: Option<String>,
    /// The last character was a blank that others beside it are one with.
    is_blank: bool,
    /// A tag ended the line before, and nothing came since.
    is_ended: bool,
}

impl Html {
    const fn new(line_ends: LineEnds) -> Self {
        Self {
            line_ends,
            state: State::Text,
            preformatted: 0,
            hidden: None,
            is_blank: false,
            is_ended: false,
        }
    }

    fn keeps_blanks(&self) -> bool {
        self.preformatted > 0 || self.line_ends == LineEnds::OfSource
    }

    fn character(&mut self, c: char, output: &mut Output) {
        match std::mem::replace(&mut self.state, State::Text) {
            State::Text => self.text(c, output),
            State::Open => self.open(c, output),
            State::Name { is_end, name } => self.name(is_end, name, c, output),
            State::Attributes { quote } => {
                let quote = match (quote, c) {
                    (None, '"' | '\'') => Some(c),
                    (None, '>') => return,
                    (Some(quote), c) if quote == c => None,
                    (quote, _) => quote,
                };
                self.state = State::Attributes { quote };
            }
            State::Markup { begin, last } => self.markup(begin, last, c),
            State::Entity(name) => self.entity(name, c, output),
        }
    }

    fn text(&mut self, c: char, output: &mut Output) {
        match c {
            '<' => self.state = State::Open,
            _ if self.hidden.is_some() => {}
            '&' => self.state = State::Entity(String::new()),
            '\n' if self.keeps_blanks() => {
                // The one that follows a tag in the source is not shown.
                if !(std::mem::take(&mut self.is_ended) && output.is_blank()) {
                    output.end_line();
                }
            }
            c if c.is_whitespace() && !self.keeps_blanks() => {
                if !self.is_blank && !output.line.is_empty() {
                    output.push(' ');
                }
                self.is_blank = true;
            }
            c => self.shown(c, output),
        }
    }

    fn shown(&mut self, c: char, output: &mut Output) {
        if c == '\n' {
            return output.end_line();
        }
        (self.is_blank, self.is_ended) = (false, self.is_ended && c.is_whitespace());
        output.push(c);
    }

    fn literally(&mut self, text: &str, output: &mut Output) {
        if self.hidden.is_none() {
            text.chars().for_each(|c| self.shown(c, output));
        }
    }

    fn open(&mut self, c: char, output: &mut Output) {
        let is_hidden = self.hidden.is_some();
        match c {
            '/' => {
                let name = String::new();
                self.state = State::Name { is_end: true, name };
            }
            c if c.is_ascii_alphabetic() && !is_hidden => {
                let name = c.to_string();
                self.state = State::Name {
                    is_end: false,
                    name,
                };
            }
            '!' | '?' if !is_hidden => {
                self.state = State::Markup {
                    begin: c.to_string(),
                    last: [' '; 2],
                };
            }
            c => {
                self.literally("<", output);
                self.text(c, output);
            }
        }
    }

    fn name(&mut self, is_end: bool, mut name: String, c: char, output: &mut Output) {
        if c.is_ascii_alphanumeric() && name.len() < MAX_NAME {
            name.push(c);
            self.state = State::Name { is_end, name };
            return;
        }
        let is_whole = ends_name(c.encode_utf8(&mut [0; 4]));
        let Some(element) = element(&name).filter(|_| is_whole) else {
            self.literally(if is_end { "</" } else { "<" }, output);
            self.literally(&name, output);
            return self.text(c, output);
        };
        self.tag(element, is_end, name, output);
        if c != '>' {
            self.state = State::Attributes { quote: None };
        }
    }

    fn tag(&mut self, element: Element, is_end: bool, name: String, output: &mut Output) {
        if let Some(hidden) = &self.hidden {
            if is_end && hidden.eq_ignore_ascii_case(&name) {
                self.hidden = None;
            }
            return;
        }
        match element {
            Element::Cell if is_end => output.push_str("  "),
            Element::Cell | Element::Inline => {}
            Element::Hidden if is_end => {}
            Element::Hidden => self.hidden = Some(name),
            Element::Break => self.end_line(output),
            Element::Block => self.end_text(output),
            Element::Preformatted => {
                self.end_text(output);
                self.preformatted = if is_end {
                    self.preformatted.saturating_sub(1)
                } else {
                    self.preformatted + 1
                };
                self.is_ended = true;
            }
        }
    }

    fn end_line(&mut self, output: &mut Output) {
        output.end_line();
        (self.is_blank, self.is_ended) = (false, true);
    }

    /// Ends the line, if there is text in it.
    fn end_text(&mut self, output: &mut Output) {
        if output.is_blank() {
            output.line.clear();
        } else {
            self.end_line(output);
        }
    }

    fn markup(&mut self, mut begin: String, last: [char; 2], c: char) {
        let is_comment = begin == "!--";
        if c == '>' && (!is_comment || last == ['-', '-']) {
            return;
        }
        if begin.len() < 3 && !is_comment {
            begin.push(c);
        }
        let last = [last[1], c];
        self.state = State::Markup { begin, last };
    }

    fn entity(&mut self, mut name: String, c: char, output: &mut Output) {
        if c == ';'
            && let Some(c) = entities::character(&name)
        {
            return self.shown(c, output);
        }
        if (c.is_ascii_alphanumeric() || c == '#') && name.len() < MAX_LEN {
            name.push(c);
            self.state = State::Entity(name);
            return;
        }
        self.literally("&", output);
        self.literally(&name, output);
        self.text(c, output);
    }
}

impl Decoder for Html {
    fn take(&mut self, piece: &str, has_end: bool, output: &mut Output) {
        for c in piece.chars() {
            self.character(c, output);
        }
        if has_end {
            self.character('\n', output);
        }
    }

    fn finish(&mut self, output: &mut Output) -> bool {
        match std::mem::replace(&mut self.state, State::Text) {
            State::Entity(name) => {
                self.literally("&", output);
                self.literally(&name, output);
            }
            State::Open => self.literally("<", output),
            _ => {}
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::enclosed::decoded;

    fn page(text: &str) -> Vec<String> {
        let lines = decoded(&PAGE, text).unwrap();
        let lines = lines.iter().map(|line| line.trim_end().to_owned());
        lines.filter(|line| !line.is_empty()).collect()
    }

    #[test]
    fn lines_end_where_a_browser_ends_them() {
        let text = "<!DOCTYPE html><html><head><title>a <b></title><style>p > a {}</style></head>\n\
                    <body class=\"x > y\"><!-- <br> --> <p>It <b>ran</b>\n  here:</p>\n\
                    one&nbsp; &nbsp;two<br/>three<script>if (a<b) \"</p>\"</script>\n\
                    <pre><code>[  5]   0.00\n[  5]   1.00\n</code></pre>\n\
                    <table><tr><td>4</td><td>x</td></tr></table></body></html>\n";
        assert_eq!(
            page(text),
            [
                "It ran here:",
                "one   two",
                "three",
                "[  5]   0.00",
                "[  5]   1.00",
                "4  x"
            ]
        );
    }

    #[test]
    fn without_tags_lines_end_as_in_the_source() {
        let text = "[  5] &lt;a&gt; &amp;&#39;\n\n  x &unknown; & <host> < 3 <br\n>y<br>\nz &am";
        assert_eq!(
            decoded(&LINES, text).unwrap(),
            [
                "[  5] <a> &'",
                "",
                "  x &unknown; & <host> < 3 ",
                "y",
                "z &am"
            ]
        );
    }

    #[test]
    fn marks_are_entities_and_tags_of_pages() {
        for line in ["a&gt;", "<br>", "</pre>", "<div\tclass", "<PRE>"] {
            assert!(is_in(line), "{line}");
        }
        for line in [
            "a > b",
            "<host>",
            "udp upload <dest ip>",
            "&x;",
            "1<b2",
            "<",
        ] {
            assert!(!is_in(line), "{line}");
        }
    }
}
