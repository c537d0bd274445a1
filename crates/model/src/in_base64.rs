//! Values that documents hold as text in base64.

/// Writes and reads a type by its `to_base64` and `from_base64`, and describes it in the schema.
macro_rules! in_base64 {
    ($kind:ident, $about:literal) => {
        impl schemars::JsonSchema for $kind {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($kind).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "description": $about, "type": "string", "contentEncoding": "base64" })
            }
        }

        impl serde::Serialize for $kind {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.serialize_str(&self.to_base64())
            }
        }

        impl<'de> serde::Deserialize<'de> for $kind {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(d)?;
                Self::from_base64(&text).map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use in_base64;
