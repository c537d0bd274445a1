//! The agent on a board: linerate itself, built for the board's architecture and statically linked.

use crate::tools::{failed, lacks};
use crate::{Arch, Order};
use linerate_model::exit::{ExitCode, Failure};
use object::read::elf::{FileHeader, ProgramHeader as _};
use object::{Endianness, Object as _, elf};
use std::fs;
use std::path::{Path, PathBuf};

/// File name of a program for an architecture, as `make dist` builds it.
fn file_name(program: &str, arch: Arch) -> String {
    format!("{program}-{arch}")
}

/// The program that an agent is.
const AGENT: &str = "linerate";

/// Whether an agent may be dynamically linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linking {
    /// Dynamic or static.
    Any,
    /// Static only.
    Static,
}

/// Reads the agent: the requested one, else the first in `folders`, else this program itself.
pub(crate) fn read(order: &Order, folders: &[PathBuf]) -> Result<Vec<u8>, Failure> {
    let arch = order.arch();
    let Some(path) = &order.agent else {
        return find_agent(AGENT, arch, folders, Linking::Static);
    };
    let bytes = fs::read(path).map_err(|error| {
        let message = format!("--agent {}: {error}", path.display());
        Failure::new(ExitCode::Usage, message)
    })?;
    match check(&bytes, arch, Linking::Static) {
        Ok(()) => Ok(bytes),
        Err(why) => {
            let message = format!("--agent {} {why}; {}", path.display(), remedy(AGENT, arch));
            Err(Failure::new(ExitCode::Usage, message))
        }
    }
}

/// The program that executes P4 programs.
pub(crate) const P4_SWITCH: &str = "linerate-p4";

/// Reads the executor of P4 programs for the board: beside the requested agent, else the first in `folders`; `None` if there
/// is none.
pub(crate) fn read_p4_switch(
    order: &Order,
    folders: &[PathBuf],
) -> Result<Option<Vec<u8>>, Failure> {
    let arch = order.arch();
    let beside = order.agent.iter().filter_map(|path| path.parent());
    let folders = beside.chain(folders.iter().map(PathBuf::as_path));
    let mut files = folders.map(|folder| folder.join(file_name(P4_SWITCH, arch)));
    let Some(path) = files.find(|path| path.is_file()) else {
        return Ok(None);
    };
    let bytes = fs::read(&path).map_err(|error| failed("reading", &path, &error))?;
    check(&bytes, arch, Linking::Static).map_err(|why| {
        let remedy = remedy(P4_SWITCH, arch);
        lacks(format!("{} {why}; {remedy}", path.display()))
    })?;
    Ok(Some(bytes))
}

/// The first `program` for `arch` in `folders`, else this program itself if it fits.
pub fn find_agent(
    program: &str,
    arch: Arch,
    folders: &[PathBuf],
    linking: Linking,
) -> Result<Vec<u8>, Failure> {
    let mut unfit = String::new();
    let itself = std::env::current_exe().into_iter();
    let named = folders
        .iter()
        .map(|folder| folder.join(file_name(program, arch)));
    for path in named.chain(itself) {
        if !path.is_file() {
            continue;
        }
        let bytes = fs::read(&path).map_err(|error| failed("reading", &path, &error))?;
        match check(&bytes, arch, linking) {
            Ok(()) => return Ok(bytes),
            Err(why) => unfit = format!("{unfit}; {} {why}", path.display()),
        }
    }
    let places: Vec<_> = folders
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    Err(lacks(format!(
        "no agent for {arch}: {} is not in {}{unfit}; {}",
        file_name(program, arch),
        places.join(" or "),
        remedy(program, arch)
    )))
}

fn remedy(program: &str, arch: Arch) -> String {
    format!(
        "linerate's packages have it; else build it with `make dist`, and put {} beside this program or name it with --agent FILE",
        file_name(program, arch)
    )
}

/// Checks that the file runs on a host of this architecture.
fn check(bytes: &[u8], arch: Arch, linking: Linking) -> Result<(), String> {
    let file = object::File::parse(bytes).map_err(|_| "is no ELF file".to_owned())?;
    if file.architecture() != arch.object() {
        return Err(format!("is built for {:?}", file.architecture()));
    }
    if linking == Linking::Any {
        return Ok(());
    }
    let asks = if file.is_64() {
        asks_for_loader::<elf::FileHeader64<Endianness>>(bytes)
    } else {
        asks_for_loader::<elf::FileHeader32<Endianness>>(bytes)
    };
    match asks {
        Ok(false) => Ok(()),
        Ok(true) => Err("needs shared libraries".to_owned()),
        Err(error) => Err(format!("is damaged: {error}")),
    }
}

/// Whether the ELF file has an interpreter (dynamic loader).
fn asks_for_loader<E: FileHeader<Endian = Endianness>>(bytes: &[u8]) -> object::Result<bool> {
    let header = E::parse(bytes)?;
    let endian = header.endian()?;
    let segments = header.program_headers(endian, bytes)?;
    Ok(segments
        .iter()
        .any(|segment| segment.p_type(endian) == elf::PT_INTERP))
}

/// Folders with agents: beside this program, where packages install them, where `make dist` leaves them, and in the
/// cache.
pub fn agent_folders(cache: Option<&Path>) -> Vec<PathBuf> {
    let own = std::env::current_exe().ok();
    folders_of(own.as_deref().and_then(Path::parent), cache)
}

/// Those of a program in `beside`. Installed are agents where its package put them, whatever its prefix is.
fn folders_of(beside: Option<&Path>, cache: Option<&Path>) -> Vec<PathBuf> {
    let from = |to: &str| beside.map(|folder| folder.join(to));
    let installed = from(INSTALLED).filter(|folder| folder.is_dir());
    let built = from("../dist").filter(|folder| folder.is_dir());
    let beside = beside.map(Path::to_owned);
    let cache = cache.map(|cache| cache.join("agents"));
    let folders = [beside, installed, built, cache];
    folders.into_iter().flatten().collect()
}

/// Agents of a package, from the folder of its programs: `/usr/lib/linerate/agents` of `/usr/bin`.
const INSTALLED: &str = "../lib/linerate/agents";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Equipment, Machine};

    fn order(arch: Arch) -> Order {
        let machine = Machine::find(None, Some(arch)).unwrap();
        Order::new("a".parse().unwrap(), Equipment::of(machine))
    }

    #[test]
    fn without_an_agent_it_is_said_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let said = read(&order(Arch::Riscv64), &[folder.path().to_owned()]).unwrap_err();
        assert_eq!(said.code, ExitCode::HostLacks);
        assert!(
            said.message.contains("linerate-riscv64 is not in"),
            "{said}"
        );
        assert!(said.message.contains("`make dist`"), "{said}");
    }

    #[test]
    fn agents_of_a_package_are_found_whatever_its_prefix_is() {
        let prefix = tempfile::tempdir().unwrap();
        let (bin, agents) = (prefix.path().join("bin"), "lib/linerate/agents");
        assert_eq!(folders_of(Some(&bin), None).len(), 1);
        fs::create_dir_all(prefix.path().join(agents)).unwrap();
        fs::create_dir(&bin).unwrap();
        let found = folders_of(Some(&bin), None);
        let found: Vec<_> = found
            .iter()
            .filter_map(|one| one.canonicalize().ok())
            .collect();
        assert_eq!(found, [bin, prefix.path().join(agents)]);
    }

    #[test]
    fn the_executor_of_p4_programs_is_taken_from_beside_the_agent_and_may_be_missing() {
        let [near, far] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let mut asked = order(Arch::Riscv64);
        asked.agent = Some(near.path().join("linerate-riscv64"));
        let folders = [far.path().to_owned()];
        assert!(read_p4_switch(&asked, &folders).unwrap().is_none());
        fs::write(far.path().join("linerate-p4-riscv64"), "text").unwrap();
        let said = read_p4_switch(&asked, &folders).unwrap_err();
        assert_eq!(said.code, ExitCode::HostLacks);
        assert!(said.message.contains("is no ELF file"), "{said}");
        let own = std::env::current_exe().unwrap();
        fs::copy(own, near.path().join("linerate-p4-riscv64")).unwrap();
        let said = read_p4_switch(&asked, &folders).unwrap_err();
        assert!(said.message.contains("is built for"), "{said}");
    }

    #[test]
    fn what_does_not_run_there_is_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("linerate-riscv64");
        fs::write(&path, "text").unwrap();
        let mut asked = order(Arch::Riscv64);
        asked.agent = Some(path);
        let said = read(&asked, &[]).unwrap_err();
        assert!(said.message.contains("is no ELF file"), "{said}");
        asked.agent = std::env::current_exe().ok();
        let said = read(&asked, &[]).unwrap_err();
        assert_eq!(said.code, ExitCode::Usage);
        assert!(said.message.contains("is built for"), "{said}");
    }

    #[cfg(all(
        target_arch = "x86_64",
        target_env = "gnu",
        not(target_feature = "crt-static")
    ))]
    #[test]
    fn a_program_with_shared_libraries_is_refused() {
        let mut asked = order(Arch::X86_64);
        asked.agent = std::env::current_exe().ok();
        let said = read(&asked, &[]).unwrap_err();
        assert!(said.message.contains("needs shared libraries"), "{said}");
    }
}
