//! Published pipelines load, or are refused by the name of what they need.

use linerate_p4::{LoadError, Program};
use linerate_p4_runtime::check_p4info;
use std::fs;
use std::path::PathBuf;

/// `LINERATE_P4` is the folder with published pipelines.
fn folder() -> PathBuf {
    let folder = std::env::var_os("LINERATE_P4")
        .expect("LINERATE_P4 names the folder with published pipelines");
    PathBuf::from(folder).join("public")
}

#[test]
#[ignore = "needs LINERATE_P4: a folder of published pipelines"]
fn published_pipelines_load_or_are_refused_by_name() {
    let sources = fs::read_to_string(folder().join("SOURCES.tsv")).unwrap();
    let (mut loaded, mut refused, mut wrong) = (0, 0, Vec::new());
    for line in sources.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let (file, architecture) = (columns[3], columns[4]);
        let Ok(text) = fs::read(folder().join(format!("{file}.json"))) else {
            continue;
        };
        match Program::from_json(&text) {
            Ok(program) if architecture == "v1model" => {
                loaded += 1;
                if let Ok(info) = fs::read(folder().join(format!("{file}.p4info.txt")))
                    && let Err(error) = check_p4info(&program, &info)
                {
                    wrong.push(format!("{file}: {error}"));
                }
            }
            Err(LoadError::Unsupported { what, .. }) if architecture != "v1model" => {
                assert!(what.to_lowercase().contains(architecture), "{file}: {what}");
                refused += 1;
            }
            Ok(_) => wrong.push(format!("{file} is {architecture} and was loaded")),
            Err(error) => wrong.push(format!("{file}: {error}")),
        }
    }
    println!("{loaded} loaded, {refused} refused");
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(loaded > 0, "no pipeline was found");
}
