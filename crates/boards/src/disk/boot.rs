//! How machines boot from a disk: where their firmware is, and what QEMU is given in the place of a ROM.
//!
//! # References
//! - Partitions that a HiFive Unleashed boots from: "`SiFive` HiFive Unleashed" in QEMU's documentation, "`sifive_u`"

/// A machine's way from power-on to the kernel of a disk.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Disk {
    /// Kernel modules that its disk needs.
    pub(crate) modules: &'static [&'static str],
    /// The Debian package of its boot loader.
    pub(crate) package: &'static str,
    /// The file of that package which QEMU is given.
    pub(crate) loader: &'static str,
    /// What the board reads from partitions of its own.
    pub(crate) firmware: &'static [Slot],
    /// The first sector of the root.
    pub(crate) root_sector: u64,
    /// QEMU's words; `{image}` and `{loader}` are the files.
    pub(crate) emulation: &'static [&'static str],
}

/// A partition with firmware.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) name: &'static str,
    /// The partition's type, by which the loader before finds it.
    pub(crate) kind: &'static str,
    pub(crate) first_sector: u64,
    pub(crate) sectors: u64,
    /// The file of the package that it holds.
    pub(crate) file: &'static str,
}

/// The HiFive Unleashed: its ROM reads the first loader from the card, that one U-Boot, which reads the kernel.
pub(crate) static SIFIVE_U: Disk = Disk {
    modules: &["spi_sifive", "mmc_spi", "mmc_block", "ext4"],
    package: "u-boot-sifive",
    loader: "usr/lib/u-boot/sifive_unleashed/u-boot-spl.bin",
    firmware: &[
        Slot {
            name: "spl",
            kind: "5b193300-fc78-40cd-8002-e86c45580b47",
            first_sector: 34,
            sectors: 2048,
            file: "usr/lib/u-boot/sifive_unleashed/u-boot-spl.bin",
        },
        Slot {
            name: "u-boot",
            kind: "2e54b353-1271-4842-806f-e436d6af6985",
            first_sector: 2082,
            sectors: 8192,
            file: "usr/lib/u-boot/sifive_unleashed/u-boot.itb",
        },
    ],
    root_sector: 16384,
    emulation: &[
        "qemu-system-riscv64",
        "-machine",
        "sifive_u,msel=11",
        "-smp",
        "5",
        // What the device tree of its U-Boot says.
        "-m",
        "8G",
        "-bios",
        "{loader}",
        "-drive",
        "file={image},format=raw,if=sd",
        "-nographic",
    ],
};

/// QEMU's own machine: it is given U-Boot, which finds the disk.
pub(crate) static VIRT_RISCV64: Disk = Disk {
    modules: &["virtio_mmio", "virtio_blk", "ext4"],
    package: "u-boot-qemu",
    loader: "usr/lib/u-boot/qemu-riscv64_smode/u-boot.bin",
    firmware: &[],
    root_sector: 2048,
    emulation: &[
        "qemu-system-riscv64",
        "-machine",
        "virt",
        "-smp",
        "2",
        "-m",
        "1G",
        "-kernel",
        "{loader}",
        "-drive",
        "file={image},format=raw,if=none,id=disk",
        "-device",
        "virtio-blk-device,drive=disk",
        "-nographic",
    ],
};

impl Disk {
    /// The words that boot `image` in QEMU, which is given `loader`.
    pub(crate) fn emulation(&self, image: &str, loader: &str) -> Vec<String> {
        let fill = |word: &&str| word.replace("{image}", image).replace("{loader}", loader);
        self.emulation.iter().map(fill).collect()
    }

    /// Whether it is a file that the board boots by.
    pub(crate) fn has_loader(&self, path: &str) -> bool {
        path == self.loader || self.firmware.iter().any(|slot| slot.file == path)
    }
}
