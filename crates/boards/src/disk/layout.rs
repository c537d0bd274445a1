//! The bytes of an image: a GUID partition table, firmware in partitions of its own, and the root's filesystem.
//!
//! ```text
//!   | MBR, GPT | firmware … | root: ext4 …                     | GPT |
//!   0          34           root_sector                          2^n
//! ```
//!
//! # References
//! - UEFI 2.10, section 5: GUID Partition Table Disk Layout
//! - Kernel.org: `generic-distro` of U-Boot reads the partition that is marked for the first stage of legacy BIOS

use super::boot::{Disk, Slot};
use super::content::ROOT_NAME;
use super::root::Root;
use crate::tools::{failed, lacks, run};
use gpt::GptConfig;
use gpt::disk::LogicalBlockSize;
use gpt::mbr::ProtectiveMBR;
use gpt::partition::Partition;
use gpt::partition_types::{LINUX_FS, OperatingSystem, Type};
use linerate_model::ByteCount;
use linerate_model::exit::{ExitCode, Failure, Result};
use linerate_sys::random::random_bytes;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use uuid::{Builder, Uuid};

const SECTOR: u64 = 512;

/// Free space: for a board's own files, and for the filesystem's tables.
const SPARE: u64 = 64 << 20;

/// Sectors for the backup table, rounded up to the partition alignment.
const TAIL: u64 = 2048;

/// GPT's attribute "legacy BIOS bootable", by which U-Boot finds the partition with the kernel.
const BOOTABLE: u64 = 1 << 2;

/// Features of the filesystem: only those that U-Boot reads.
const FEATURES: &str = "none,dir_index,ext_attr,extent,extra_isize,filetype,flex_bg,has_journal,huge_file,large_file,sparse_super";

/// Layout of an image.
#[derive(Debug)]
pub(super) struct Layout<'a> {
    disk: &'static Disk,
    firmware: Vec<(&'static Slot, &'a [u8])>,
}

/// A file of the boot loader's package.
pub(super) fn loader<'a>(
    disk: &Disk,
    loaders: &'a BTreeMap<String, Vec<u8>>,
    path: &str,
) -> Result<&'a [u8]> {
    loaders.get(path).map(Vec::as_slice).ok_or_else(|| {
        let package = disk.package;
        lacks(format!(
            "Debian's package {package} has no {path} in this release; take another with --suite"
        ))
    })
}

impl<'a> Layout<'a> {
    /// Layout with the firmware that the board reads from the disk.
    pub(super) fn new(disk: &'static Disk, loaders: &'a BTreeMap<String, Vec<u8>>) -> Result<Self> {
        let firmware = disk.firmware.iter().map(|slot| {
            let bytes = loader(disk, loaders, slot.file)?;
            if bytes.len() as u64 > slot.sectors * SECTOR {
                return Err(lacks(format!(
                    "{} has {} bytes, {} more than its partition",
                    slot.file,
                    bytes.len(),
                    bytes.len() as u64 - slot.sectors * SECTOR
                )));
            }
            Ok((slot, bytes))
        });
        Ok(Self {
            disk,
            firmware: firmware.collect::<Result<_, _>>()?,
        })
    }

    /// Writes the image with `root` to `path`; returns its size.
    pub(super) fn write(
        &self,
        path: &Path,
        root: &Root,
        asked: Option<ByteCount>,
    ) -> Result<ByteCount> {
        let size = size(self.needed(root.bytes), asked)?;
        self.write_table(path, size)
            .map_err(|error| failed("writing the partition table of", path, &error))?;
        let kib = (self.root_end(size) - self.root_start()) / 1024;
        let mut format = mke2fs();
        format.args(["-q", "-F", "-t", "ext4", "-m", "0", "-L", ROOT_NAME]);
        format.args(["-O", FEATURES, "-d"]).arg(root.path());
        format.args([
            "-E",
            &format!("offset={},root_owner=0:0", self.root_start()),
        ]);
        format.arg(path).arg(format!("{kib}k")).stdin(Stdio::null());
        run(&mut format)?;
        Ok(ByteCount::new(size))
    }

    /// Image size for files of `bytes`: tables take a tenth at most.
    fn needed(&self, bytes: u64) -> u64 {
        self.root_start() + bytes + bytes / 10 + SPARE + TAIL * SECTOR
    }

    const fn root_start(&self) -> u64 {
        self.disk.root_sector * SECTOR
    }

    #[expect(clippy::unused_self, reason = "beside where it starts")]
    const fn root_end(&self, size: u64) -> u64 {
        size - TAIL * SECTOR
    }

    fn write_table(&self, path: &Path, size: u64) -> io::Result<()> {
        let mut options = File::options();
        let mut file = options.create_new(true).read(true).write(true).open(path)?;
        file.set_len(size)?;
        for (slot, bytes) in &self.firmware {
            file.seek(SeekFrom::Start(slot.first_sector * SECTOR))?;
            file.write_all(bytes)?;
        }
        let sectors = size / SECTOR;
        let protective = u32::try_from(sectors - 1).unwrap_or(u32::MAX);
        let table = |error: &dyn std::error::Error| io::Error::other(error.to_string());
        ProtectiveMBR::with_lb_size(protective)
            .overwrite_lba0(&mut file)
            .map_err(|error| table(&error))?;
        let config = GptConfig::new().writable(true);
        let mut disk = config
            .logical_block_size(LogicalBlockSize::Lb512)
            .create_from_device(file, Some(unique()?))
            .map_err(|error| table(&error))?;
        disk.update_partitions(self.partitions(size)?)
            .map_err(|error| table(&error))?;
        disk.write().map_err(|error| table(&error))?;
        Ok(())
    }

    fn partitions(&self, size: u64) -> io::Result<BTreeMap<u32, Partition>> {
        let firmware = self
            .firmware
            .iter()
            .map(|(slot, _)| -> io::Result<Partition> {
                let kind = Uuid::parse_str(slot.kind).map_err(io::Error::other)?;
                Ok(Partition {
                    part_type_guid: Type {
                        guid: kind,
                        os: OperatingSystem::None,
                    },
                    part_guid: unique()?,
                    first_lba: slot.first_sector,
                    last_lba: slot.first_sector + slot.sectors - 1,
                    flags: 0,
                    name: slot.name.to_owned(),
                })
            });
        let root = Partition {
            part_type_guid: LINUX_FS,
            part_guid: unique()?,
            first_lba: self.disk.root_sector,
            last_lba: self.root_end(size) / SECTOR - 1,
            flags: BOOTABLE,
            name: ROOT_NAME.to_owned(),
        };
        let all = (1..).zip(firmware.chain([Ok(root)]));
        all.map(|(number, made)| Ok((number, made?))).collect()
    }
}

/// mke2fs command that makes this user's files root's.
fn mke2fs() -> Command {
    const PROGRAM: &str = "mke2fs";
    if rustix::process::getuid().is_root() {
        return Command::new(PROGRAM);
    }
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", PROGRAM]);
    command
}

/// A unique id for a disk or partition.
fn unique() -> io::Result<Uuid> {
    Ok(Builder::from_random_bytes(random_bytes()?).into_uuid())
}

/// Size of an image that needs `needed` bytes: a power of two, as QEMU requires of an SD card.
fn size(needed: u64, asked: Option<ByteCount>) -> Result<u64> {
    let least = needed.next_power_of_two();
    let usage = |message| Failure::new(ExitCode::Usage, message);
    match asked.map(ByteCount::get) {
        None => Ok(least),
        Some(size) if !size.is_power_of_two() => {
            let next = ByteCount::new(size.next_power_of_two());
            Err(usage(format!(
                "--size {} is not a power of two, which an SD card in QEMU must be: give {next}",
                ByteCount::new(size)
            )))
        }
        Some(size) if size < least => Err(usage(format!(
            "--size {} is too small for these packages: give {}",
            ByteCount::new(size),
            ByteCount::new(least)
        ))),
        Some(size) => Ok(size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::boot::{SIFIVE_U, VIRT_RISCV64};
    use std::fs;

    #[test]
    fn the_size_is_a_power_of_two_that_holds_all() {
        assert_eq!(size(300 << 20, None).unwrap(), 512 << 20);
        let asked = |size| Some(ByteCount::new(size));
        assert_eq!(size(300 << 20, asked(1 << 30)).unwrap(), 1 << 30);
        let said = size(300 << 20, asked(1_000_000_000)).unwrap_err();
        assert_eq!(said.code, ExitCode::Usage);
        assert!(said.message.contains("give 1.00 GiB"), "{said}");
        let said = size(300 << 20, asked(256 << 20)).unwrap_err();
        assert!(said.message.contains("give 512 MiB"), "{said}");
    }

    #[test]
    fn firmware_is_where_the_board_looks_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let files = SIFIVE_U.firmware.iter();
        let loaders: BTreeMap<_, _> = files
            .map(|slot| (slot.file.to_owned(), slot.name.as_bytes().to_vec()))
            .collect();
        let layout = Layout::new(&SIFIVE_U, &loaders).unwrap();
        let path = folder.path().join("image");
        layout.write_table(&path, 64 << 20).unwrap();
        let bytes = fs::read(&path).unwrap();
        assert_eq!(bytes.len(), 64 << 20);
        assert!(bytes[34 * 512..].starts_with(b"spl"));
        assert!(bytes[2082 * 512..].starts_with(b"u-boot"));
        let disk = GptConfig::new().open(&path).unwrap();
        let all: Vec<_> = disk
            .partitions()
            .values()
            .map(|p| (p.name.as_str(), p.first_lba, p.flags))
            .collect();
        assert_eq!(
            all,
            [
                ("spl", 34, 0),
                ("u-boot", 2082, 0),
                (ROOT_NAME, 16384, BOOTABLE)
            ]
        );
        let kinds: Vec<_> = disk
            .partitions()
            .values()
            .map(|p| p.part_type_guid.guid.to_string())
            .collect();
        assert_eq!(kinds[0], SIFIVE_U.firmware[0].kind);
    }

    #[test]
    fn firmware_that_is_missing_or_too_long_is_refused() {
        let said = Layout::new(&SIFIVE_U, &BTreeMap::new()).unwrap_err();
        assert_eq!(said.code, ExitCode::HostLacks);
        assert!(said.message.contains("u-boot-sifive"), "{said}");
        let files = SIFIVE_U.firmware.iter();
        let loaders: BTreeMap<_, _> = files
            .map(|slot| (slot.file.to_owned(), vec![0; 2 << 20]))
            .collect();
        let said = Layout::new(&SIFIVE_U, &loaders).unwrap_err();
        assert!(said.message.contains("more than its partition"), "{said}");
    }

    #[test]
    fn a_root_is_written_with_its_files_as_root_s() {
        let folder = tempfile::tempdir().unwrap();
        let mut root = Root::create(folder.path().join("root")).unwrap();
        root.file("etc/hostname", 0o644, b"board\n").unwrap();
        let loaders = BTreeMap::new();
        let layout = Layout::new(&VIRT_RISCV64, &loaders).unwrap();
        let path = folder.path().join("image");
        let size = layout.write(&path, &root, None).unwrap();
        assert_eq!(size, ByteCount::new(128 << 20));
        let device = format!("{}?offset={}", path.display(), 2048 * 512);
        let ask = |request: &str| {
            let output = run(Command::new("debugfs").args(["-R", request, &device])).unwrap();
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        assert_eq!(ask("cat /etc/hostname"), "board\n");
        let listed = ask("stat /etc/hostname");
        assert!(listed.contains("User:     0   Group:     0"), "{listed}");
    }
}
