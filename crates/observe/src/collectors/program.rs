//! Identity of the program's build and start: facts only.

use super::Collector;
use crate::blind::blind;
use crate::host_view::HostView;
use linerate_model::hex;
use linerate_sys::host_files::FileUse;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{ReadCache, ReadRef};
use std::fs::File;

pub(super) static COLLECTOR: Collector = Collector {
    facts: |host, into| {
        into.program_start = start(host);
        let own = host.files().open("proc/self/exe", FileUse::Read);
        into.program_build = build_id(own.ok());
    },
    ..Collector::new(
        "program",
        "Start and build of the program that measures, which runs of a study may share.",
    )
};

/// What boot id, PID namespace, PID and start time make unique to this process, without telling any of them.
fn start(host: &HostView<'_>) -> Option<String> {
    let boot = host.files().boot_id()?;
    let space = host.link_target("proc/self/ns/pid");
    let space = space.and_then(|link| {
        Some(
            link.to_str()?
                .trim_matches(|c: char| !c.is_ascii_digit())
                .to_owned(),
        )
    });
    let stat = host.read("proc/self/stat").ok()?;
    let number = stat.split_whitespace().next()?;
    // The name, in brackets, may contain anything; field 22 is the start in ticks since the boot, and field 3 is the
    // first after the name.
    let (_, after) = stat.rsplit_once(')')?;
    let ticks = after.split_whitespace().nth(22 - 3)?;
    let space = space.unwrap_or_default();
    Some(blind(
        "program",
        &format!("{boot} {space} {number} {ticks}"),
    ))
}

/// Build id of an ELF file, in hexadecimal; `None` without one, or without the file.
fn build_id(file: Option<File>) -> Option<String> {
    // Read on demand: a file of hundreds of megabytes has its notes at its beginning.
    let file = ReadCache::new(file?);
    match object::FileKind::parse(&file).ok()? {
        object::FileKind::Elf32 => note::<object::elf::FileHeader32<object::Endianness>, _>(&file),
        object::FileKind::Elf64 => note::<object::elf::FileHeader64<object::Endianness>, _>(&file),
        _ => None,
    }
}

fn note<'data, Elf, R>(file: R) -> Option<String>
where
    Elf: FileHeader,
    R: ReadRef<'data>,
{
    let header = Elf::parse(file).ok()?;
    let endian = header.endian().ok()?;
    for part in header.program_headers(endian, file).ok()? {
        let Ok(Some(mut notes)) = part.notes(endian, file) else {
            continue;
        };
        while let Ok(Some(note)) = notes.next() {
            let is_gnu = note.name() == object::elf::ELF_NOTE_GNU;
            if is_gnu && note.n_type(endian) == object::elf::NT_GNU_BUILD_ID {
                return Some(hex(note.desc()));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_view::Scope;
    use linerate_model::facts::Facts;
    use linerate_sys::host_files::HostFiles;

    fn facts(scope: &Scope) -> Facts {
        let mut facts = Facts::default();
        (COLLECTOR.facts)(&HostView::new(scope), &mut facts);
        facts
    }

    #[test]
    fn one_process_is_one_start_and_one_file_one_build() {
        let live = Scope::live(None);
        let (first, second) = (facts(&live), facts(&live));
        assert!(first.program_start.is_some());
        assert_eq!(first, second);
        let own = build_id(File::open(std::env::current_exe().unwrap()).ok());
        assert_eq!(own, first.program_build);
    }

    #[test]
    fn another_process_of_that_number_is_another_start() {
        let tree = tempfile::tempdir().unwrap();
        let process = |ticks: u32| {
            let proc = tree.path().join("proc");
            std::fs::create_dir_all(proc.join("sys/kernel/random")).unwrap();
            std::fs::create_dir_all(proc.join("self")).unwrap();
            std::fs::write(proc.join("sys/kernel/random/boot_id"), "ab12-34\n").unwrap();
            let stat = format!("7 (a) b) S 1 7 7 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 {ticks} 1 1\n");
            std::fs::write(proc.join("self/stat"), stat).unwrap();
            let root = HostFiles::new(tree.path());
            let scope = Scope {
                root,
                ..Scope::live(None)
            };
            facts(&scope).program_start
        };
        let first = process(812).unwrap();
        assert_eq!(process(812), Some(first.clone()));
        assert!(
            !first.contains("ab12") && !first.contains("812-"),
            "{first}"
        );
        assert_ne!(process(813), process(812));
    }

    #[test]
    fn what_is_no_program_has_no_build() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(build_id(File::open(file.path()).ok()), None);
        std::fs::write(file.path(), b"\x7fELF\x02\x01\x01").unwrap();
        assert_eq!(build_id(File::open(file.path()).ok()), None);
        assert_eq!(build_id(None), None);
    }
}
