//! The program within the page: a question on standard input, the answer on standard output.
#![forbid(unsafe_code)]

use linerate_site::{answer, explain, question};
use std::io::{self, Read as _, Write as _};

fn main() -> io::Result<()> {
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes)?;
    let (files, asked, now) = question(&bytes)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("{error:?}")))?;
    drop(bytes);
    io::stdout().write_all(&answer(&explain(files, &asked, &now)))
}
