//! Parses a client's request of either kind (classic or OMNI).

use super::block::{Block, kind};
use super::order::{Order, Wrong, errno, wrong};
use super::test::Test;
use super::{classic, omni};

/// Parses a request for a test.
pub(super) fn read(request: &Block) -> Result<Order, Wrong> {
    if request.kind == kind::OMNI {
        return omni::read(request);
    }
    let test = Test::ALL
        .into_iter()
        .find(|test| test.kind() == request.kind);
    let test = test.ok_or_else(|| {
        let cause = format!("a test of type {} is not made here", request.kind);
        wrong(errno::UNKNOWN_TEST, cause)
    })?;
    classic::read(test, request)
}
