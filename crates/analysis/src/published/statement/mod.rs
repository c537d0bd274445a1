//! What is said of a table's figures, as a comparison: rules that must hold, and claims of its text.
//!
//! ```text
//! [metric=total] = [metric=text] + [metric=data] + [metric=bss]
//! [stack=lwip] > 2 * [stack=zephyr] where transport=tcp -- lwIP is more than twice as fast over TCP
//! mean[stack=lwip] / mean[stack=zephyr] = 2.3 +- 0.05
//! [size=64].p99 < 1.2 * [size=64]
//! ```
//!
//! `[factor=level, …]` is the value of a cell, `.sd`, `.min`, `.max`, `.median`, `.p99` another figure of it; factors that no selector
//! names are gone through: the statement is asked of every combination of their levels. `mean[…]`, `sum[…]`,
//! `largest[…]` and `smallest[…]` are of all cells that match. A figure stands for all values that round to it, so a
//! statement holds, does not, or is left open by the rounding.

mod evaluate;
mod parse;

pub(super) use evaluate::Cells;
pub use evaluate::StatementCase;

/// A statement about cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// As written, without its words.
    pub text: String,
    /// What it says, in the words of the source.
    pub words: Option<String>,
    left: Expression,
    comparison: Comparison,
    right: Expression,
    /// How far both sides of an equation may lie apart.
    tolerance: Option<Expression>,
    only: Selector,
}

/// Factors and levels that cells must have.
type Selector = Vec<(String, String)>;

linerate_model::named_enum! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Comparison {
        GreaterOrEqual = ">=",
        LessOrEqual = "<=",
        Equal = "=",
        Greater = ">",
        Less = "<",
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Expression {
    Aggregate(Aggregate, Selector),
    Binary(Box<Self>, Operation, Box<Self>),
    /// A figure of the one cell that matches.
    Cell(Selector, String),
    Number(f64),
}

linerate_model::named_enum! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Operation {
        Add = "+",
        Divide = "/",
        Multiply = "×",
        Subtract = "−",
    }
}

linerate_model::named_enum! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Aggregate {
        Mean = "mean",
        Sum = "sum",
        Largest = "largest",
        Smallest = "smallest",
    }
}

impl Expression {
    /// The selectors of single cells in it.
    fn selectors<'a>(&'a self, found: &mut Vec<(&'a Selector, bool)>) {
        match self {
            Self::Aggregate(_, selector) => found.push((selector, false)),
            Self::Binary(left, _, right) => {
                left.selectors(found);
                right.selectors(found);
            }
            Self::Cell(selector, _) => found.push((selector, true)),
            Self::Number(_) => {}
        }
    }
}

impl Statement {
    /// Every selector; `true` for those of single cells.
    fn selectors(&self) -> Vec<(&Selector, bool)> {
        let mut found = Vec::new();
        for side in [&self.left, &self.right].into_iter().chain(&self.tolerance) {
            side.selectors(&mut found);
        }
        found
    }

    /// Every factor and level that it names.
    pub(super) fn named(&self) -> impl Iterator<Item = (&str, &str)> {
        let selectors = self.selectors().into_iter().map(|(selector, _)| selector);
        let all = selectors.chain(std::iter::once(&self.only));
        all.flat_map(|selector| selector.iter().map(|(f, l)| (f.as_str(), l.as_str())))
    }
}
