//! The names of an object's fields, as they were sent: a parsed object has each of them once.

use std::{collections::HashSet, fmt};

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

/// Whether `json` is an object that names a field twice. What is no object names nothing.
pub(super) fn is_any_repeated(json: &[u8]) -> bool {
    let json = json.strip_prefix("\u{feff}".as_bytes()).unwrap_or(json);
    serde_json::Deserializer::from_slice(json).deserialize_map(Names).unwrap_or(false)
}

struct Names;

impl<'de> Visitor<'de> for Names {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<bool, A::Error> {
        let (mut names, mut is_repeated) = (HashSet::new(), false);
        while let Some((name, _)) = fields.next_entry::<String, IgnoredAny>()? {
            is_repeated |= !names.insert(name);
        }
        Ok(is_repeated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_json_keys_are_found_also_when_escaped() {
        for (json, repeated) in [
            (r#"{"a": 1, "b": {"a": 2}}"#, false),
            (r#"{"a": 1, "a": 1}"#, true),
            (r#"{"a": 1, "\u0061": 1}"#, true),
            (r#"[1, 1]"#, false),
            ("", false),
        ] {
            assert_eq!(is_any_repeated(json.as_bytes()), repeated, "{json}");
        }
    }
}
