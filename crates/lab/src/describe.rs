//! A test specification as the `config.values` of a run.

use linerate_model::spec::TestSpec;
use serde_json::Value;
use std::collections::BTreeMap;

/// Every setting of `spec`, by key.
pub(crate) fn values(spec: &TestSpec) -> BTreeMap<String, Value> {
    match serde_json::to_value(spec) {
        Ok(Value::Object(map)) => map.into_iter().collect(),
        _ => BTreeMap::new(),
    }
}
