//! Disk images that a board boots from: a partition table, the board's firmware where it reads it from the disk, and a
//! root of Debian packages with the agent. Made without root.
//!
//! ```text
//!   stock (.deb) ──► root, a folder ── mke2fs -d ──► partition ──┐
//!     │                ▲ kernel, initramfs, agent                ├──► sd.img
//!     ├── loader ────────────────────────────────► partitions ───┘
//!     ├── kernel's .config ──► options: present, module, absent
//!     └── control, copyright ──► bill of materials ─────────────────► sd.img.spdx.json
//! ```

mod bill;
mod boot;
mod content;
mod kernel_option;
mod layout;
mod licence;
mod profile;
mod root;
mod stock;

pub use kernel_option::{KernelOption, OptionState, kernel_options};
pub use profile::Profile;

pub(crate) use boot::{Disk, SIFIVE_U, VIRT_RISCV64};

use crate::base::hash_of;
use crate::tools::{failed, run};
use crate::{Order, Places, agent, machine};
use bill::{Image, Part};
use content::Filled;
use layout::Layout;
use linerate_model::ByteCount;
use linerate_model::exit::{ExitCode, Failure, Result};
use linerate_model::hex;
use linerate_sys::clock::wall_now;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use stock::{Request, Stock};

/// An image to build.
#[derive(Debug, Clone)]
pub struct ImageOrder {
    /// The board and its name.
    pub board: Order,
    /// Its purposes.
    pub profiles: Vec<&'static Profile>,
    /// How it gets its address.
    pub address: Addressing,
    /// SSH public keys for root in the form of `authorized_keys`; without any there is no ssh.
    pub authorized_keys: Option<PathBuf>,
    /// Its size, a power of two; the minimum unless given.
    pub size: Option<ByteCount>,
    /// Output file.
    pub output: PathBuf,
}

/// A program of linerate's own in an image.
#[derive(Debug)]
struct OwnProgram {
    name: &'static str,
    bytes: Vec<u8>,
}

/// How a board gets its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Addressing {
    /// From its network, by DHCP.
    Dhcp,
    /// Fixed address of the first interface.
    Fixed {
        /// Address with prefix length: `192.0.2.7/24`.
        address: String,
        /// Default gateway.
        gateway: Option<String>,
    },
}

/// A finished image.
#[derive(Debug)]
pub struct MadeImage {
    /// Its bill of materials.
    pub bill: PathBuf,
    /// Its size.
    pub size: ByteCount,
    /// Number of Debian packages in it.
    pub packages: usize,
    /// The kernel's release.
    pub kernel: String,
    /// State of the kernel options that the profiles need.
    pub options: Vec<KernelOption>,
    /// QEMU's arguments to boot it.
    pub emulation: Vec<String>,
}

/// Builds an image, and its bill of materials beside it. `tell` receives progress messages.
pub fn make_image(
    order: &ImageOrder,
    places: &Places,
    tell: &mut dyn FnMut(&str),
) -> Result<MadeImage> {
    let disk = order.disk()?;
    // Check for missing tools before anything is fetched.
    run(Command::new("mke2fs").arg("-V"))?;
    run(Command::new("depmod").arg("--version"))?;
    let programs = order.own_programs(places, tell)?;
    let stock = order.stock(disk, places, tell)?;
    tell(&format!("making {}", order.output.display()));
    let folder = order.folder();
    let work = tempfile::Builder::new()
        .prefix(".linerate-image-")
        .tempdir_in(folder)
        .map_err(|error| failed("creating a folder in", folder, &error))?;
    let filled = content::fill(work.path(), order, disk, &stock, &programs)?;
    let unfinished = work.path().join("image");
    let layout = Layout::new(disk, &filled.loaders)?;
    let size = layout.write(&unfinished, &filled.root, order.size)?;
    let hash = hash_of(&unfinished).map_err(|error| failed("reading", &unfinished, &error))?;

    let loader = order.beside("loader");
    let bytes = layout::loader(disk, &filled.loaders, disk.loader)?;
    fs::write(&loader, bytes).map_err(|error| failed("writing", &loader, &error))?;
    let bill = order.write_bill(&stock, &filled, &hash, &programs)?;
    fs::rename(&unfinished, &order.output)
        .map_err(|error| failed("writing", &order.output, &error))?;
    Ok(MadeImage {
        bill,
        size,
        packages: stock.all().count(),
        options: kernel_options(&order.profiles, &filled.config),
        kernel: filled.release,
        emulation: disk.emulation(&shown(&order.output), &shown(&loader)),
    })
}

impl ImageOrder {
    fn disk(&self) -> Result<&'static Disk> {
        let machine = self.board.equipment.machine;
        machine.disk.ok_or_else(|| {
            let all = machine::ALL.iter().filter(|machine| machine.disk.is_some());
            let all: Vec<_> = all.map(ToString::to_string).collect();
            let known = all.join(", ");
            let message =
                format!("linerate makes no image for {machine}; it makes them for {known}");
            Failure::new(ExitCode::Usage, message)
        })
    }

    /// The agent, and the executor of P4 programs where there is one.
    fn own_programs(&self, places: &Places, tell: &mut dyn FnMut(&str)) -> Result<Vec<OwnProgram>> {
        let folders = agent::agent_folders(Some(&places.cache));
        let mut programs = vec![OwnProgram {
            name: "linerate",
            bytes: agent::read(&self.board, &folders)?,
        }];
        match agent::read_p4_switch(&self.board, &folders)? {
            Some(bytes) => programs.push(OwnProgram {
                name: agent::P4_SWITCH,
                bytes,
            }),
            None => tell("without linerate-p4, which `make dist` builds beside the agent"),
        }
        Ok(programs)
    }

    fn stock(&self, disk: &Disk, places: &Places, tell: &mut dyn FnMut(&str)) -> Result<Stock> {
        let equipment = &self.board.equipment;
        let mut packages = profile::packages(&self.profiles, &equipment.packages);
        packages.extend(content::PACKAGES);
        packages.push(disk.package);
        packages.sort_unstable();
        packages.dedup();
        let request = Request {
            arch: equipment.machine.arch,
            suite: &equipment.suite,
            mirror: equipment.mirror.as_deref(),
            packages,
        };
        Stock::get(&places.cache.join("packages"), &request, tell)
    }

    /// Folder of the image.
    fn folder(&self) -> &Path {
        let parent = self.output.parent();
        parent
            .filter(|path| !path.as_os_str().is_empty())
            .unwrap_or_else(|| Path::new("."))
    }

    /// Path beside the image, with this suffix.
    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = self.output.clone().into_os_string();
        name.push(".");
        name.push(ending);
        name.into()
    }

    /// Writes the bill of materials beside the image; returns its path.
    fn write_bill(
        &self,
        stock: &Stock,
        filled: &Filled,
        hash: &str,
        programs: &[OwnProgram],
    ) -> Result<PathBuf> {
        let path = self.beside("spdx.json");
        let parts: Vec<_> = stock
            .all()
            .map(|deb| Part::new(&deb.package, &filled.root))
            .collect();
        let programs = programs.iter();
        let programs: Vec<_> = programs
            .map(|program| (program.name, hex(&Sha256::digest(&program.bytes))))
            .collect();
        let name = self
            .output
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        let image = Image {
            name: &name,
            hash,
            programs: &programs,
            suite: &self.board.equipment.suite,
            made: wall_now(),
        };
        let text = serde_json::to_vec_pretty(&bill::bill(&image, &parts))
            .map_err(|error| Failure::new(ExitCode::Other, error.to_string()))?;
        fs::write(&path, text).map_err(|error| failed("writing", &path, &error))?;
        Ok(path)
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
