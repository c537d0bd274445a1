//! What a fault is: a known bottleneck at three strengths, and what must be said of it.

use crate::scene::Scene;

/// One way to make a known bottleneck.
pub(crate) struct Fault {
    /// A sentence in kebab case; filters match it.
    pub(crate) name: &'static str,
    /// What limits. Several only where one physical cause honestly has several names.
    pub(crate) expect: &'static [&'static str],
    /// Why several names are right; empty for one.
    pub(crate) why: &'static str,
    /// What the host must have or allow beyond namespaces.
    pub(crate) needs: &'static [Need],
    /// From weak to strong, or from small to large.
    pub(crate) strengths: [Strength; 3],
}

/// One strength of a fault: a cell of the table.
pub(crate) struct Strength {
    /// In the units of what is set: `10 Mbit/s`.
    pub(crate) name: &'static str,
    /// Builds what the cell needs.
    pub(crate) scene: fn() -> Scene,
}

/// What a cell needs of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Control groups version 1 with the cpu controller, as real root.
    CpuQuota,
    /// The program `nft` (Debian package nftables).
    Nft,
    /// Sysctls of the whole machine, as real root.
    RealRoot,
    /// The program `tc` (Debian package iproute2).
    Tc,
}
