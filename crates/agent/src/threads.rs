//! Threads of clients.

use std::{io, thread};

/// Starts a thread in `scope`; an error if the host allows no more.
pub(crate) fn start_thread<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    thread: thread::Builder,
    work: impl FnOnce() + Send + 'scope,
) -> io::Result<()> {
    thread.spawn_scoped(scope, work).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_thread_that_the_host_refuses_is_an_error_and_others_go_on() {
        // More than any address space has.
        let refused = thread::Builder::new().stack_size(1 << 60);
        let (done, outcome) = mpsc::channel();
        thread::scope(|scope| {
            start_thread(scope, refused, || {}).expect_err("no such stack");
            start_thread(scope, thread::Builder::new(), move || {
                done.send(()).unwrap();
            })
            .unwrap();
        });
        outcome.recv().unwrap();
    }
}
