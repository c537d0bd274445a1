//! Statements read, by recursive descent.

use super::{Aggregate, Comparison, Expression, Operation, Selector, Statement};

/// Deepest parentheses, and longest statement.
const MAX_DEPTH: usize = 32;
const MAX_LENGTH: usize = 2000;

impl Statement {
    /// Reads a statement; the error says where it breaks off and what is possible there.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_LENGTH {
            return Err(format!("a statement has at most {MAX_LENGTH} bytes"));
        }
        let (text, words) = match text.split_once(" -- ") {
            Some((text, words)) => (text.trim(), Some(words.trim().to_owned())),
            None => (text.trim(), None),
        };
        let (body, only) = match text.split_once(" where ") {
            Some((body, only)) => (body, selector(only)?),
            None => (text, Selector::new()),
        };
        let mut parser = Parser { rest: body, text };
        let left = parser.sum(0)?;
        let mut signs = Comparison::ALL.into_iter();
        let comparison = signs
            .find(|sign| parser.take(sign.as_str()))
            .ok_or_else(|| parser.fail("=, <, >, <= or >="))?;
        let right = parser.sum(0)?;
        let tolerance = if comparison == Comparison::Equal && parser.take("+-") {
            Some(parser.sum(0)?)
        } else {
            None
        };
        if !parser.rest.trim().is_empty() {
            return Err(parser.fail("the end, `where` or ` -- `"));
        }
        Ok(Self {
            text: text.to_owned(),
            words,
            left,
            comparison,
            right,
            tolerance,
            only,
        })
    }
}

/// `ip=ipv4, stack=lwip`.
fn selector(text: &str) -> Result<Selector, String> {
    if text.trim().is_empty() {
        return Ok(Selector::new());
    }
    let part = |part: &str| {
        let pair = part.split_once('=');
        let pair = pair.map(|(factor, level)| (factor.trim().to_owned(), level.trim().to_owned()));
        pair.filter(|(factor, _)| !factor.is_empty())
            .ok_or_else(|| format!("\"{}\" is not FACTOR=LEVEL", part.trim()))
    };
    text.split(',').map(part).collect()
}

struct Parser<'a> {
    rest: &'a str,
    text: &'a str,
}

impl<'a> Parser<'a> {
    fn fail(&self, wanted: &str) -> String {
        let at = self
            .text
            .len()
            .min(self.text.find(self.rest.trim()).unwrap_or(self.text.len()));
        format!("{}: at byte {at} must stand {wanted}", self.text)
    }

    fn take(&mut self, sign: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// What comes before the first character that is not `wanted`.
    fn word(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest.trim_start();
        let end = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.rest = &rest[end..];
        &rest[..end]
    }

    fn sum(&mut self, depth: usize) -> Result<Expression, String> {
        let mut left = self.product(depth)?;
        loop {
            // `+-` begins a tolerance.
            let operation = if self.rest.trim_start().starts_with("+-") {
                return Ok(left);
            } else if self.take("+") {
                Operation::Add
            } else if self.take("-") {
                Operation::Subtract
            } else {
                return Ok(left);
            };
            let right = self.product(depth)?;
            left = Expression::Binary(Box::new(left), operation, Box::new(right));
        }
    }

    fn product(&mut self, depth: usize) -> Result<Expression, String> {
        let mut left = self.factor(depth)?;
        loop {
            let operation = if self.take("*") {
                Operation::Multiply
            } else if self.take("/") {
                Operation::Divide
            } else {
                return Ok(left);
            };
            let right = self.factor(depth)?;
            left = Expression::Binary(Box::new(left), operation, Box::new(right));
        }
    }

    fn factor(&mut self, depth: usize) -> Result<Expression, String> {
        if depth > MAX_DEPTH {
            return Err(format!("{}: more than {MAX_DEPTH} parentheses", self.text));
        }
        if self.take("(") {
            let inner = self.sum(depth + 1)?;
            return if self.take(")") {
                Ok(inner)
            } else {
                Err(self.fail(")"))
            };
        }
        if self.take("[") {
            let selector = self.selector()?;
            let figure = if self.take(".") {
                self.word(|c| c.is_ascii_alphanumeric() || c == '.')
            } else {
                "value"
            };
            return known_figure(figure).map(|figure| Expression::Cell(selector, figure));
        }
        let number = self.word(|c| c.is_ascii_digit() || c == '.');
        if number.is_empty() {
            return self.aggregate();
        }
        let value: f64 = number
            .parse()
            .map_err(|_| format!("{number} is not a number"))?;
        let scale = if self.take("%") { 0.01 } else { 1.0 };
        Ok(Expression::Number(value * scale))
    }

    fn aggregate(&mut self) -> Result<Expression, String> {
        let mut known = Aggregate::ALL.into_iter();
        let found = known.find(|aggregate| self.take(&format!("{aggregate}[")));
        let aggregate = found.ok_or_else(|| {
            self.fail("a number, [FACTOR=LEVEL], mean[…], sum[…], largest[…], smallest[…] or (")
        })?;
        Ok(Expression::Aggregate(aggregate, self.selector()?))
    }

    /// After the bracket.
    fn selector(&mut self) -> Result<Selector, String> {
        let (inside, rest) = self
            .rest
            .split_once(']')
            .ok_or_else(|| format!("{}: a [ without ]", self.text))?;
        self.rest = rest;
        selector(inside)
    }
}

fn known_figure(name: &str) -> Result<String, String> {
    let is_known = ["value", "sd", "min", "max"].contains(&name)
        || crate::published::levels::quantile(name).is_some();
    if is_known {
        Ok(name.to_owned())
    } else {
        Err(format!(".{name}: must be .sd, .min, .max, .median or .p99"))
    }
}
