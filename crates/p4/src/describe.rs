//! What a control plane asks of a program.

use crate::program::{Array, Profile, Program, Table};

impl Table {
    /// Places of its actions in the program's list.
    pub fn actions(&self) -> &[u32] {
        &self.actions
    }

    /// The place of its action profile.
    pub fn profile(&self) -> Option<usize> {
        self.profile.map(|profile| profile as usize)
    }

    /// Whether packets are metered by the entry that they match.
    pub fn is_metered(&self) -> bool {
        self.meter.is_some()
    }

    /// Whether the action on a miss cannot be changed.
    pub fn default_is_constant(&self) -> bool {
        let default = self.default.as_ref();
        default.is_some_and(|default| default.constant)
    }
}

impl Profile {
    /// Whether its tables choose among the members of a group.
    pub fn has_selector(&self) -> bool {
        self.selector.is_some()
    }
}

impl Array {
    /// Bits of a register's cell.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Whether a meter counts bytes; else packets.
    pub fn counts_bytes(&self) -> bool {
        self.bytes
    }
}

impl Program {
    /// Names of the digests, with the widths in bits of their fields.
    pub fn digests(&self) -> impl Iterator<Item = (&str, Vec<u32>)> {
        self.digests.iter().map(|list| {
            let widths = list.fields.iter().map(|field| field.width);
            (list.name.as_str(), widths.collect())
        })
    }
}
