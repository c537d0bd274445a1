//! The architectures that packages are made for, as each of their readers names them.

use std::fmt;

/// An architecture that `make dist` builds for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// 64-bit Arm.
    Aarch64,
    /// 32-bit Arm with hardware floating point.
    Armv7,
    /// 64-bit RISC-V.
    Riscv64,
    /// 64-bit x86.
    X86_64,
}

impl Architecture {
    /// All.
    pub const ALL: [Self; 4] = [Self::Aarch64, Self::Armv7, Self::Riscv64, Self::X86_64];

    /// Debian's name.
    pub const fn debian(self) -> &'static str {
        match self {
            Self::Aarch64 => "arm64",
            Self::Armv7 => "armhf",
            Self::Riscv64 => "riscv64",
            Self::X86_64 => "amd64",
        }
    }

    /// The name at Fedora, RHEL and openSUSE.
    pub const fn rpm(self) -> &'static str {
        match self {
            Self::Armv7 => "armv7hl",
            other => other.alpine(),
        }
    }

    /// Alpine's name.
    pub const fn alpine(self) -> &'static str {
        match self {
            Self::Aarch64 => "aarch64",
            Self::Armv7 => "armv7",
            Self::Riscv64 => "riscv64",
            Self::X86_64 => "x86_64",
        }
    }

    /// The target of Rust that `ci/dist` builds for.
    pub const fn target(self) -> &'static str {
        match self {
            Self::Aarch64 => "aarch64-unknown-linux-gnu",
            Self::Armv7 => "armv7-unknown-linux-gnueabihf",
            Self::Riscv64 => "riscv64gc-unknown-linux-gnu",
            Self::X86_64 => "x86_64-unknown-linux-musl",
        }
    }

    /// `GOARCH` and its variant, which container images go by.
    pub const fn container(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Aarch64 => ("arm64", None),
            Self::Armv7 => ("arm", Some("v7")),
            Self::Riscv64 => ("riscv64", None),
            Self::X86_64 => ("amd64", None),
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Aarch64 => "aarch64",
            Self::Armv7 => "armv7",
            Self::Riscv64 => "riscv64",
            Self::X86_64 => "x86-64",
        })
    }
}
