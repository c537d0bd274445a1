//! A stack before its start: prepared while the network is available, started when it is not.

use crate::options::Places;
use crate::running::RunningStack;
use crate::spec::StackSpec;
use linerate_model::exit::{ExitCode, Failure};
use std::path::PathBuf;

/// A stack that can be started once it is [prepared](Self::prepare).
#[derive(Debug, Clone)]
pub struct Stack {
    spec: StackSpec,
    program: Option<PathBuf>,
}

impl Stack {
    /// A stack that is not built yet.
    pub const fn new(spec: StackSpec) -> Self {
        Self {
            spec,
            program: None,
        }
    }

    /// Its specification.
    pub const fn spec(&self) -> &StackSpec {
        &self.spec
    }

    /// Builds its program if it is missing. Needs the Debian archive if its source was never fetched, so call it before
    /// this process leaves its network. `tell` receives progress messages.
    pub fn prepare(&mut self, places: &Places, tell: &mut dyn FnMut(&str)) -> Result<(), Failure> {
        let StackSpec { kind, options } = &self.spec;
        self.program = Some((kind.program)(options, places, tell)?);
        Ok(())
    }

    /// Starts it; returns once it answers. It ends with the calling thread at the latest.
    pub fn start(&self) -> Result<RunningStack, Failure> {
        let program = self.program.as_deref().ok_or_else(|| {
            let message = format!("the stack {} was not prepared before its start", self.spec);
            Failure::new(ExitCode::Other, message)
        })?;
        RunningStack::start(&self.spec, program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_that_is_not_prepared_is_not_started() {
        let stack = Stack::new("kernel".parse().unwrap());
        let error = stack.start().unwrap_err();
        assert!(error.message.contains("not prepared"), "{error}");
    }
}
