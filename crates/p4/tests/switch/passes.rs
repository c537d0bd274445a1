//! Packets that come again without end.

use super::{act, drops, program, send};
use linerate_p4::{DropPlace, Limits, Switch};

#[test]
fn a_packet_that_never_ends_is_dropped() {
    // Copies of copies are as many as they like, whatever the limit of one packet's passes.
    for passes in [Limits::default().passes, u32::MAX] {
        let limits = Limits {
            passes,
            ..Limits::default()
        };
        let mut switch = Switch::new(program(), limits, 0);
        act(&mut switch, 1, "again", &[]);
        assert!(send(&mut switch, &[1, 1], 0).is_empty());
        assert_eq!(drops(&switch, DropPlace::TooManyPasses), 1);
    }
}
