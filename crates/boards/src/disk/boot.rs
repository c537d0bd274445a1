//! How machines boot from a disk: where their firmware is, and what QEMU is given in the place of a ROM.
//!
//! # References
//! - Partitions that a HiFive Unleashed boots from: "`SiFive` HiFive Unleashed" in QEMU's documentation, "`sifive_u`"

/// How a machine boots from a disk, from power-on to the kernel.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Disk {
    /// Kernel modules that its disk needs.
    pub(crate) modules: &'static [&'static str],
    /// The Debian package of its boot loader.
    pub(crate) package: &'static str,
    /// The file of that package that QEMU loads.
    pub(crate) loader: &'static str,
    /// Firmware in partitions of its own.
    pub(crate) firmware: &'static [Slot],
    /// First sector of the root.
    pub(crate) root_sector: u64,
    /// QEMU's arguments; `{image}` and `{loader}` are the files.
    pub(crate) emulation: &'static [&'static str],
}

/// A partition with firmware.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) name: &'static str,
    /// Partition type by which the previous boot stage finds it.
    pub(crate) kind: &'static str,
    pub(crate) first_sector: u64,
    pub(crate) sectors: u64,
    /// The file of the package in it.
    pub(crate) file: &'static str,
}

/// HiFive Unleashed: its ROM loads the first stage from the card, which loads U-Boot, which loads the kernel.
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
        // Required by the device tree of its U-Boot.
        "-m",
        "8G",
        "-bios",
        "{loader}",
        "-drive",
        "file={image},format=raw,if=sd",
        "-nographic",
    ],
};

/// QEMU's virtual machine: it loads U-Boot, which finds the disk.
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
    /// QEMU's arguments to boot `image` with `loader`.
    pub(crate) fn emulation(&self, image: &str, loader: &str) -> Vec<String> {
        let fill = |word: &&str| word.replace("{image}", image).replace("{loader}", loader);
        self.emulation.iter().map(fill).collect()
    }

    /// Whether the board boots by this file.
    pub(crate) fn has_loader(&self, path: &str) -> bool {
        path == self.loader || self.firmware.iter().any(|slot| slot.file == path)
    }
}
