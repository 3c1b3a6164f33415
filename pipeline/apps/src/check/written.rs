//! Schemas with their references written out. A schema that refers to parts of itself twice over and over takes twice as long with
//! each of them: written out it shows how long that is, and it is bounded.

use serde_json::{Map, Value, json};

/// How long a schema may be, written out.
const MAX_BYTES: usize = 64 * 1_024;
/// How many objects and arrays may stand in one another, written out.
const MAX_LEVELS: usize = 16;

/// Why a schema cannot be written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unwritten {
    /// It refers to something that is not a part of itself.
    Refers,
    /// It would be too long or too deep.
    TooLarge,
}

/// `root` without references. What refers to a part in which it stands is not followed again: there everything is let through, and
/// left to the server.
pub(crate) fn written_out(root: &Value) -> Result<Value, Unwritten> {
    Writing { root, bytes_left: MAX_BYTES, open: Vec::new() }.schema(root, 0)
}

struct Writing<'a> {
    root: &'a Value,
    bytes_left: usize,
    /// The references that are being followed.
    open: Vec<&'a str>,
}

impl<'a> Writing<'a> {
    fn schema(&mut self, value: &'a Value, level: usize) -> Result<Value, Unwritten> {
        match value {
            Value::Object(fields) => self.object(fields, level + 1),
            Value::Array(all) => {
                self.take(2, level + 1)?;
                all.iter().map(|one| self.schema(one, level + 1)).collect()
            }
            leaf => {
                self.take(leaf.to_string().len(), level)?;
                Ok(leaf.clone())
            }
        }
    }

    fn object(&mut self, fields: &'a Map<String, Value>, level: usize) -> Result<Value, Unwritten> {
        self.take(2, level)?;
        let mut written = Map::new();
        let mut reference = None;
        for (name, value) in fields {
            self.take(name.len() + 4, level)?;
            let value = match (name.as_str(), value) {
                ("$ref", Value::String(place)) => {
                    reference = Some(place.as_str());
                    continue;
                }
                ("$defs" | "definitions" | "$anchor", _) => continue,
                ("$id", Value::String(_)) if level == 1 => continue,
                ("$id" | "$dynamicRef" | "$recursiveRef", Value::String(_)) => return Err(Unwritten::Refers),
                // Data, whatever it looks like.
                ("const" | "enum" | "default" | "examples", data) => {
                    self.take(data.to_string().len(), level)?;
                    data.clone()
                }
                // What these hold has names of the app's.
                ("properties" | "patternProperties" | "dependentSchemas", Value::Object(all)) => {
                    self.take(2, level + 1)?;
                    let mut named = Map::new();
                    for (name, schema) in all {
                        self.take(name.len() + 4, level + 1)?;
                        named.insert(name.clone(), self.schema(schema, level + 1)?);
                    }
                    Value::Object(named)
                }
                (_, value) => self.schema(value, level)?,
            };
            written.insert(name.clone(), value);
        }
        let Some(place) = reference.filter(|place| !self.open.contains(place)) else {
            return Ok(Value::Object(written));
        };
        let target = place.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
        self.open.push(place);
        let target = self.schema(target.ok_or(Unwritten::Refers)?, level)?;
        self.open.pop();
        if written.is_empty() {
            return Ok(target);
        }
        let all = written.entry("allOf").or_insert_with(|| json!([]));
        if let Value::Array(all) = all {
            all.push(target);
        }
        Ok(Value::Object(written))
    }

    fn take(&mut self, bytes: usize, level: usize) -> Result<(), Unwritten> {
        let left = self.bytes_left.checked_sub(bytes).filter(|_| level <= MAX_LEVELS);
        self.bytes_left = left.ok_or(Unwritten::TooLarge)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_references_are_inlined() {
        let schema = json!({
            "type": "object",
            "properties": { "$ref": { "$ref": "#/$defs/a~1b" }, "n": { "$ref": "#/$defs/n", "title": "N" } },
            "$defs": { "a/b": { "enum": [{ "$ref": "#" }] }, "n": { "type": "integer" } },
        });
        let written = json!({
            "type": "object",
            "properties": { "$ref": { "enum": [{ "$ref": "#" }] }, "n": { "title": "N", "allOf": [{ "type": "integer" }] } },
        });
        assert_eq!(written_out(&schema), Ok(written));
    }

    #[test]
    fn schema_recursion_is_followed_once() {
        let schema = json!({
            "type": "object",
            "properties": { "tree": { "$ref": "#/$defs/tree" } },
            "$defs": { "tree": { "type": "object", "properties": {
                "name": { "type": "string" }, "children": { "type": "array", "items": { "$ref": "#/$defs/tree" } },
            } } },
        });
        let tree = json!({ "type": "object", "properties": {
            "name": { "type": "string" }, "children": { "type": "array", "items": {} },
        } });
        assert_eq!(written_out(&schema), Ok(json!({ "type": "object", "properties": { "tree": tree } })));
        assert_eq!(written_out(&json!({ "$ref": "#" })), Ok(json!({})));
    }

    #[test]
    fn schema_that_explodes_or_refers_elsewhere_is_refused() {
        let mut parts = Map::new();
        for number in 0..40 {
            let next = json!({ "$ref": format!("#/$defs/p{}", number + 1) });
            parts.insert(format!("p{number}"), json!({ "allOf": [next, next] }));
        }
        parts.insert("p40".to_owned(), json!({ "type": "object" }));
        let grows = json!({ "$ref": "#/$defs/p0", "$defs": parts });
        assert_eq!(written_out(&grows), Err(Unwritten::TooLarge));
        for elsewhere in ["https://a.example/s.json", "#name", "#/$defs/none", "other.json#/a"] {
            assert_eq!(written_out(&json!({ "$ref": elsewhere })), Err(Unwritten::Refers), "{elsewhere}");
        }
        let dynamic = json!({ "items": { "$dynamicRef": "#node" } });
        assert_eq!(written_out(&dynamic), Err(Unwritten::Refers));
    }
}
