//! Two VLAN tags: a provider's outside, a customer's inside (IEEE 802.1ad).

use super::vlan::{CUSTOMER, DEI, PCP, SERVICE, Tag};
use super::{Header, HeaderKind, HeaderText};
use crate::error::HeaderError;
use std::sync::Arc;

pub(super) struct QinQ;

impl HeaderKind for QinQ {
    fn name(&self) -> &'static str {
        "qinq"
    }

    fn value(&self) -> &'static str {
        "OUTER/INNER"
    }

    fn attributes(&self) -> &'static [&'static str] {
        &[PCP, DEI]
    }

    fn summary(&self) -> &'static str {
        "Two tags, of types 0x88a8 and 0x8100 (802.1ad); pcp and dei are of both."
    }

    fn make(&self, given: &HeaderText<'_>) -> Result<Vec<Arc<dyn Header>>, HeaderError> {
        let value = given.value()?;
        let (outer, inner) = value.split_once('/').ok_or_else(|| {
            HeaderError(format!(
                "{value:?} is not two identifiers: qinq=OUTER/INNER"
            ))
        })?;
        let tag = |id, tpid| Tag::read(self.name(), given, id, tpid);
        Ok(vec![
            Arc::new(tag(outer, SERVICE)?),
            Arc::new(tag(inner, CUSTOMER)?),
        ])
    }
}
