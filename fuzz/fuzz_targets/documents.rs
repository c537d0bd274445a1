//! Whatever a run document holds, of either version, it is refused with a sentence, or explained, shown and exported.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_report::{Style, Whereabouts, explanation_text, export, summary_text};
use linerate_store::Store;
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Columns of a terminal.
const WIDTH: usize = 80;

fuzz_target!(|data: &[u8]| {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("linerate-documents-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("the temporary folder can be written");
        folder
    });
    let path = folder.join("run.json");
    fs::write(&path, data).expect("the temporary folder can be written");
    let store = Store::open(folder).expect("the folder is there");
    match store.load(&path.to_string_lossy()) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(run) => {
            let (verdict, _) = linerate_analysis::diagnose(&run);
            assert!(!verdict.claim.is_empty());
            let at = Whereabouts { name: None, report: None };
            let _ = (summary_text(&run, Some(&at), WIDTH, Style::Plain), explanation_text(&run, WIDTH));
            let _ = (export::json(&run), export::csv([&run]), export::intervals_csv(&run));
        }
    }
});
