//! Kernel modules of a board with their dependencies, in load order.

use super::{Content, Entry};
use crate::tools::{lacks, not_started};
use linerate_model::exit::Result;
use object::{Object as _, ObjectSection as _};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Modules of a kernel, compressed.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    packed: BTreeMap<String, (String, Vec<u8>)>,
    /// Modules built into the kernel.
    built_in: Vec<String>,
}

impl Modules {
    /// Takes a file of a kernel's package if it is a module or the list of built-in ones.
    pub(crate) fn take(&mut self, entry: &Entry) {
        let Content::File(bytes) = &entry.content else {
            return;
        };
        if entry.path.ends_with("/modules.builtin") {
            let text = String::from_utf8_lossy(bytes);
            self.built_in
                .extend(text.lines().filter_map(|line| Some(module_in(line)?.0)));
        } else if let Some((name, packing)) = module_in(&entry.path) {
            self.packed.insert(name, (packing, bytes.clone()));
        }
    }

    /// The modules `wanted` with their dependencies, in load order; name and file.
    pub(crate) fn closure(&self, wanted: &[&str]) -> Result<Vec<(String, Vec<u8>)>> {
        let mut loaded = Vec::new();
        for name in wanted {
            self.load(name, &mut loaded)?;
        }
        Ok(loaded)
    }

    fn load(&self, name: &str, loaded: &mut Vec<(String, Vec<u8>)>) -> Result<()> {
        let is_known = |other: &str| other == name;
        if loaded.iter().any(|(other, _)| is_known(other))
            || self.built_in.iter().any(|other| is_known(other))
        {
            return Ok(());
        }
        let (packing, packed) = self.packed.get(name).ok_or_else(|| {
            lacks(format!(
                "this kernel of Debian has no module {name}, which the board needs; take another release with --suite"
            ))
        })?;
        let file = unpacked(packing, packed)?;
        let Needs { modules, soft } = needs(&file);
        // One that does not exist is built in, or not needed by this release.
        let soft = soft.iter().filter_map(|name| self.implementation(name));
        for needed in soft.chain(modules) {
            self.load(&needed, loaded)?;
        }
        loaded.push((name.to_owned(), file));
        Ok(())
    }

    /// The module with this name, or one that implements this algorithm (`crypto-crc32c`) on any processor.
    fn implementation(&self, name: &str) -> Option<String> {
        let algorithm = name.strip_prefix("crypto_").unwrap_or(name);
        let names = [name.to_owned(), format!("{algorithm}_generic")];
        names
            .into_iter()
            .find(|name| self.packed.contains_key(name))
    }
}

/// Dependencies of a module.
#[derive(Debug, Default, PartialEq, Eq)]
struct Needs {
    modules: Vec<String>,
    /// Soft dependencies, requested by name at run time, as ext4 does for a checksum: modules or algorithms.
    soft: Vec<String>,
}

/// Name and compression of the module at `path`; the kernel treats `-` and `_` in names alike.
fn module_in(path: &str) -> Option<(String, String)> {
    let file = path.rsplit('/').next()?;
    let (name, packing) = file.split_once(".ko")?;
    Some((name.replace('-', "_"), packing.to_owned()))
}

fn unpacked(packing: &str, bytes: &[u8]) -> Result<Vec<u8>> {
    let program = match packing {
        "" => return Ok(bytes.to_vec()),
        ".xz" => "xz",
        ".zst" => "zstd",
        other => {
            return Err(lacks(format!(
                "a kernel module is packed as {other}, which linerate does not unpack"
            )));
        }
    };
    let mut command = Command::new(program);
    command.args(["-d", "-c"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(Stdio::null());
    let mut child = command
        .spawn()
        .map_err(|error| not_started(command.get_program(), &error))?;
    let input = child.stdin.take();
    let output = std::thread::scope(|scope| {
        // Write and read concurrently: no pipe holds a whole module. Errors show in the exit status.
        scope.spawn(move || input.map(|mut input| input.write_all(bytes)));
        child.wait_with_output()
    });
    match output {
        Ok(output) if output.status.success() => Ok(output.stdout),
        Ok(output) => Err(lacks(format!("{program} failed ({})", output.status))),
        Err(error) => Err(lacks(format!("reading what {program} unpacks: {error}"))),
    }
}

/// Dependencies from section `.modinfo` of the module in `file` (`depends=a,b`, `softdep=pre: c d post: e`).
fn needs(file: &[u8]) -> Needs {
    let section = object::File::parse(file)
        .ok()
        .and_then(|elf| Some(elf.section_by_name(".modinfo")?.data().ok()?.to_vec()));
    named_in(&section.unwrap_or_default())
}

fn named_in(modinfo: &[u8]) -> Needs {
    let mut needs = Needs::default();
    let text = String::from_utf8_lossy(modinfo).replace('-', "_");
    for field in text.split('\0') {
        if let Some(names) = field.strip_prefix("depends=") {
            let names = names.split(',').filter(|name| !name.is_empty());
            needs.modules.extend(names.map(str::to_owned));
        } else if let Some(words) = field.strip_prefix("softdep=pre:") {
            let before = words.split_whitespace();
            let before = before.take_while(|word| !word.ends_with(':'));
            needs.soft.extend(before.map(str::to_owned));
        }
    }
    needs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module without dependencies: no ELF file, so that nothing is read from it.
    fn with(files: &[(&str, &[u8])]) -> Modules {
        let mut modules = Modules::default();
        for (path, bytes) in files {
            modules.take(&Entry {
                path: (*path).to_owned(),
                mode: 0o644,
                content: Content::File(bytes.to_vec()),
            });
        }
        modules
    }

    #[test]
    fn a_module_is_found_by_its_name_and_one_that_is_built_in_needs_no_file() {
        let modules = with(&[
            (
                "usr/lib/modules/6.12/kernel/drivers/net/virtio-net.ko",
                b"net",
            ),
            (
                "usr/lib/modules/6.12/modules.builtin",
                b"kernel/drivers/virtio/virtio_mmio.ko\n",
            ),
            ("usr/lib/modules/6.12/modules.order", b"kernel/a.ko\n"),
        ]);
        let loaded = modules
            .closure(&["virtio_mmio", "virtio_net", "virtio_net"])
            .unwrap();
        assert_eq!(loaded, [("virtio_net".to_owned(), b"net".to_vec())]);
    }

    #[test]
    fn a_module_needs_what_it_names_and_what_it_asks_for_when_it_is_used() {
        let modinfo = b"license=GPL\0softdep=pre: crypto-crc32c other-one post: late\0depends=mbcache,jbd2\0depends=\0";
        let needs = named_in(modinfo);
        assert_eq!(needs.modules, ["mbcache", "jbd2"]);
        assert_eq!(needs.soft, ["crypto_crc32c", "other_one"]);
        let modules = with(&[("usr/lib/modules/6.12/kernel/crypto/crc32c_generic.ko", b"")]);
        let found = modules.implementation("crypto_crc32c");
        assert_eq!(found.as_deref(), Some("crc32c_generic"));
        assert_eq!(modules.implementation("other_one"), None);
    }

    #[test]
    fn a_module_that_is_not_there_is_named() {
        let said = with(&[]).closure(&["macb"]).unwrap_err();
        assert!(said.message.contains("no module macb"), "{said}");
    }

    #[test]
    fn a_packed_module_is_unpacked_by_its_program() {
        let packed = crate::tools::run(Command::new("sh").args(["-c", "printf abc | xz"]));
        let packed = packed.unwrap().stdout;
        assert_eq!(unpacked(".xz", &packed).unwrap(), b"abc");
        assert!(unpacked(".xz", b"no xz").is_err());
        assert!(unpacked(".lz", b"").is_err());
    }
}
