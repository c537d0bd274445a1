//! Root of an image: Debian packages, a kernel with all its modules, the agent, and the boot configuration.

use super::boot::Disk;
use super::root::Root;
use super::stock::Stock;
use super::{Addressing, ImageOrder, OwnProgram};
use crate::base::{is_kernel, is_wanted};
use crate::image::{Archive, SEED, seed};
use crate::packages::{Content, Entry, Modules, entries};
use crate::tools::{failed, lacks, run};
use flate2::Compression;
use flate2::write::GzEncoder;
use linerate_model::exit::{ExitCode, Failure, Result};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

/// Packages of every image: its shell, modules on demand, and ssh.
pub(super) const PACKAGES: &[&str] = &["busybox-static", "dropbear-bin", "kmod"];

/// Name of the root's partition, by which the initramfs finds it.
pub(super) const ROOT_NAME: &str = "linerate-root";

/// Init scripts, and scripts that they call.
const INITRAMFS: &str = include_str!("initramfs.sh");
const BOOT: &str = include_str!("boot.sh");
const DHCP: &str = include_str!("dhcp.sh");

/// Paths that other steps use.
const KERNEL: &str = "boot/vmlinuz";
const BUSYBOX: &str = "usr/bin/busybox";

/// A complete root, and data for later steps.
#[derive(Debug)]
pub(super) struct Filled {
    pub(super) root: Root,
    /// The kernel's release.
    pub(super) release: String,
    /// The kernel's build options.
    pub(super) config: String,
    /// Boot files by their path in the package.
    pub(super) loaders: BTreeMap<String, Vec<u8>>,
}

/// Data from the kernel's packages besides files.
#[derive(Debug, Default)]
struct Kernel {
    image: Option<Vec<u8>>,
    config: Option<String>,
    release: Option<String>,
    modules: Modules,
}

/// Fills a root below `folder`.
pub(super) fn fill(
    folder: &Path,
    order: &ImageOrder,
    disk: &Disk,
    stock: &Stock,
    programs: &[OwnProgram],
) -> Result<Filled> {
    let mut root = Root::create(folder.join("root"))?;
    let kernel = install_kernel(&mut root, stock)?;
    let loaders = install_programs(&mut root, disk, stock)?;
    let missing = |what: &str| lacks(format!("Debian's kernel packages have no {what}"));
    let release = kernel.release.ok_or_else(|| missing("modules"))?;
    let config = kernel
        .config
        .ok_or_else(|| missing("list of the kernel's options"))?;
    let image = kernel.image.ok_or_else(|| missing("kernel"))?;
    root.file(KERNEL, 0o644, &packed(&image)?)?;
    root.file("boot/config", 0o644, config.as_bytes())?;
    // As Debian does when the package is installed.
    let path = root.path().to_owned();
    run(Command::new("depmod").arg("-b").arg(path).arg(&release))?;
    let machine = order.board.equipment.machine;
    let wanted: Vec<_> = machine
        .modules
        .iter()
        .chain(disk.modules)
        .copied()
        .collect();
    let initramfs = initramfs(&kernel.modules.closure(&wanted)?, &root)?;
    root.file("boot/initrd.img", 0o644, &packed(&initramfs)?)?;
    root.file(
        "boot/extlinux/extlinux.conf",
        0o644,
        extlinux(order).as_bytes(),
    )?;
    own(&mut root, order, programs)?;
    Ok(Filled {
        root,
        release,
        config,
        loaders,
    })
}

/// Unpacks the kernel's packages.
fn install_kernel(root: &mut Root, stock: &Stock) -> Result<Kernel> {
    let mut kernel = Kernel::default();
    for deb in &stock.kernel {
        unpack(root, &stock.path(deb), |entry| {
            kernel.modules.take(entry);
            let Content::File(bytes) = &entry.content else {
                return true;
            };
            if let Some(release) = release_in(&entry.path) {
                kernel.release.get_or_insert_with(|| release.to_owned());
            }
            if is_config(&entry.path) {
                kernel.config = Some(String::from_utf8_lossy(bytes).into_owned());
                return false;
            }
            if is_kernel(&entry.path) {
                kernel.image = Some(bytes.clone());
                return false;
            }
            true
        })?;
    }
    Ok(kernel)
}

/// Unpacks all other packages; returns the boot files.
fn install_programs(
    root: &mut Root,
    disk: &Disk,
    stock: &Stock,
) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut loaders = BTreeMap::new();
    for deb in &stock.programs {
        unpack(root, &stock.path(deb), |entry| {
            // The image needs only its own loader, and not as a file.
            if !entry.path.starts_with("usr/lib/u-boot/") {
                return true;
            }
            if let Content::File(bytes) = &entry.content
                && disk.has_loader(&entry.path)
            {
                loaders.insert(entry.path.clone(), bytes.clone());
            }
            false
        })?;
    }
    Ok(loaders)
}

/// Unpacks the files of the package in `path` for which `keep` holds into `root`.
fn unpack(root: &mut Root, path: &Path, mut keep: impl FnMut(&Entry) -> bool) -> Result<()> {
    let mut put = Ok(());
    entries(path, is_of_use, |entry| {
        if put.is_ok() && keep(&entry) {
            put = root.entry(&entry);
        }
    })?;
    put
}

/// Whether a file is needed; copyright files stay with their packages.
fn is_of_use(path: &str) -> bool {
    let is_licence = path.strip_prefix("usr/share/doc/").is_some_and(|rest| {
        let (_, file) = rest.split_once('/').unwrap_or((rest, "copyright"));
        file == "copyright"
    });
    is_licence || is_wanted(path)
}

/// Kernel release of this module.
fn release_in(path: &str) -> Option<&str> {
    let (_, rest) = path.split_once("lib/modules/")?;
    let (release, file) = rest.split_once('/')?;
    file.contains(".ko").then_some(release)
}

/// The list of the kernel's options: in `/boot`, or beside the modules since Debian 14.
fn is_config(path: &str) -> bool {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    (folder == "boot" && file.starts_with("config-"))
        || (folder.contains("lib/modules/") && file == "config")
}

/// Compressed by gzip: U-Boot and the kernel unpack faster than a board reads from a card.
fn packed(bytes: &[u8]) -> Result<Vec<u8>> {
    const GZIP: &[u8] = &[0x1f, 0x8b];
    if bytes.starts_with(GZIP) {
        return Ok(bytes.to_vec());
    }
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    let written = packed.write_all(bytes).and_then(|()| packed.finish());
    written.map_err(|error| Failure::new(ExitCode::Other, format!("packing the kernel: {error}")))
}

/// The initramfs.
fn initramfs(modules: &[(String, Vec<u8>)], root: &Root) -> Result<Vec<u8>> {
    let path = root.path().join(BUSYBOX);
    let busybox = std::fs::read(&path).map_err(|error| failed("reading", &path, &error))?;
    let mut archive = Archive::with_root();
    archive.modules(modules);
    archive.file(BUSYBOX, 0o755, &busybox);
    archive.console();
    archive.file("init", 0o755, INITRAMFS.as_bytes());
    archive.finish()
}

/// U-Boot's boot configuration, in the format of Syslinux.
fn extlinux(order: &ImageOrder) -> String {
    let machine = order.board.equipment.machine;
    let mut words = vec![
        format!("console={}", machine.console),
        format!("linerate.root={ROOT_NAME}"),
    ];
    if let Addressing::Fixed { address, gateway } = &order.address {
        words.push(format!("linerate.address={address}"));
        words.extend(
            gateway
                .iter()
                .map(|gateway| format!("linerate.gateway={gateway}")),
        );
    }
    words.extend(order.board.kernel_options.iter().cloned());
    format!(
        "default linerate\nprompt 0\ntimeout 1\nlabel linerate\n    kernel /{KERNEL}\n    initrd /boot/initrd.img\n    append {}\n",
        words.join(" ")
    )
}

/// Adds linerate's own files.
fn own(root: &mut Root, order: &ImageOrder, programs: &[OwnProgram]) -> Result<()> {
    for OwnProgram { name, bytes } in programs {
        root.file(&format!("usr/bin/{name}"), 0o755, bytes)?;
    }
    root.file("usr/lib/linerate/boot", 0o755, BOOT.as_bytes())?;
    root.file("usr/lib/linerate/dhcp", 0o755, DHCP.as_bytes())?;
    root.file(
        "etc/hostname",
        0o644,
        format!("{}\n", order.board.name).as_bytes(),
    )?;
    root.file(SEED, 0o600, &seed()?)?;
    if let Some(path) = &order.authorized_keys {
        let keys = std::fs::read(path).map_err(|error| {
            let message = format!("--authorized-keys {}: {error}", path.display());
            Failure::new(ExitCode::Usage, message)
        })?;
        root.file("root/.ssh/authorized_keys", 0o600, &keys)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arch, Equipment, Machine, Order};

    fn order() -> ImageOrder {
        let machine = Machine::find(Some("virt"), Some(Arch::Riscv64)).unwrap();
        ImageOrder {
            board: Order::new("board".parse().unwrap(), Equipment::of(machine)),
            profiles: Vec::new(),
            address: Addressing::Dhcp,
            authorized_keys: None,
            size: None,
            output: "sd.img".into(),
        }
    }

    #[test]
    fn the_kernel_is_told_its_console_root_and_address() {
        let mut order = order();
        let said = extlinux(&order);
        let append = "    append console=ttyS0 linerate.root=linerate-root\n";
        assert!(said.ends_with(append), "{said}");
        order.address = Addressing::Fixed {
            address: "192.0.2.7/24".to_owned(),
            gateway: Some("192.0.2.1".to_owned()),
        };
        order.board.kernel_options = vec!["isolcpus=2".to_owned()];
        let said = extlinux(&order);
        let end = " linerate.address=192.0.2.7/24 linerate.gateway=192.0.2.1 isolcpus=2\n";
        assert!(said.ends_with(end), "{said}");
    }

    #[test]
    fn files_of_each_release_are_found() {
        assert!(is_config("boot/config-6.12.48+deb13-riscv64"));
        assert!(is_config("usr/lib/modules/7.2-riscv64/config"));
        assert!(!is_config("etc/config") && !is_config("boot/vmlinux-6.12"));
        let module = "usr/lib/modules/6.12.48+deb13-riscv64/kernel/fs/ext4/ext4.ko.xz";
        assert_eq!(release_in(module), Some("6.12.48+deb13-riscv64"));
        assert_eq!(release_in("usr/lib/modules/6.12/modules.order"), None);
    }

    #[test]
    fn licences_stay_and_other_documents_do_not() {
        assert!(is_of_use("usr/share/doc/iperf3/copyright"));
        // A link to the folder of another package.
        assert!(is_of_use("usr/share/doc/libiperf0"));
        assert!(!is_of_use("usr/share/doc/iperf3/README"));
        assert!(!is_of_use("usr/share/man/man1/iperf3.1.gz"));
        assert!(is_of_use("usr/bin/iperf3"));
    }

    #[test]
    fn an_address_is_not_ascribed_to_a_board_that_asks_for_one() {
        assert!(!extlinux(&order()).contains("linerate.address"));
    }
}
