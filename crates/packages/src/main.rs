//! `write-packages`: writes what is installed beside the programs.
#![forbid(unsafe_code)]

use anyhow::{Context as _, Result, bail};
use linerate_packages::{Named, completions, manual};
use std::fs;
use std::path::Path;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["manual", folder, date] => write(Path::new(folder), manual::pages(date)?),
        ["completions", folder] => {
            for (shell, _) in completions::SHELLS {
                let folder = Path::new(folder).join(shell.to_string());
                write(&folder, completions::files(shell))?;
            }
            Ok(())
        }
        _ => bail!(
            "usage: write-packages manual FOLDER YYYY-MM-DD | write-packages completions FOLDER"
        ),
    }
}

fn write(folder: &Path, files: impl IntoIterator<Item = Named>) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    for (name, bytes) in files {
        let path = folder.join(name);
        fs::write(&path, bytes).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}
