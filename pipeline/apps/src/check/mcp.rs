//! Whether the tools that an MCP server lists may be kept, beside those of a manifest.

use serde_json::Value;

use super::{
    Checking, MAX_DESCRIPTION, MAX_KEPT_BYTES, MAX_PARAMETERS, MAX_PATTERNS, MAX_TOOLS, MOST_PROBLEMS,
    schema::{uncheckable, written_whole},
};
use crate::{Manifest, Method, Tool};

/// Adds the tools that the MCP server at `url` lists to those of `manifest`.
///
/// # Errors
/// Everything that is wrong with them, up to 20 problems; the manifest is not to be kept then.
pub fn add_mcp_tools(manifest: &mut Manifest, url: &str, listed: &[Value]) -> Result<(), Vec<String>> {
    let mut checking =
        Checking { home: None, may_call: &|_| true, problems: Vec::new(), patterns_left: MAX_PATTERNS };
    let all = manifest.tools.len() + listed.len();
    if all > MAX_TOOLS {
        let words =
            format!("at most {MAX_TOOLS} tools are allowed, those of the manifest included, not {all}");
        checking.problem("tools".to_owned(), words);
        return Err(checking.problems);
    }
    for (index, entry) in listed.iter().enumerate() {
        let location = format!("tools[{index}]");
        let Some(tool) = checking.mcp_tool(&location, url, entry) else { continue };
        if manifest.tool(&tool.name).is_some() {
            checking.problem(format!("{location}.name"), format!("another tool is called \"{}\"", tool.name));
        }
        manifest.tools.push(tool);
    }
    if checking.problems.is_empty() && manifest.to_text().len() > MAX_KEPT_BYTES {
        let words = format!("all tools together are longer than {} KiB", MAX_KEPT_BYTES / 1_024);
        checking.problem("tools".to_owned(), words);
    }
    checking.problems.truncate(MOST_PROBLEMS);
    if checking.problems.is_empty() { Ok(()) } else { Err(checking.problems) }
}

impl Checking<'_> {
    /// `None` where something is wrong, which is noted. Descriptions are cut: their length is not the app's to change.
    fn mcp_tool(&mut self, location: &str, url: &str, entry: &Value) -> Option<Tool> {
        let Value::Object(fields) = entry else {
            self.problem(location.to_owned(), "must be an object");
            return None;
        };
        let name = self.name(format!("{location}.name"), fields.get("name"));
        let input = self.input(format!("{location}.inputSchema"), fields.get("inputSchema"));
        let words = ["description", "title"].into_iter().find_map(|field| fields.get(field)?.as_str());
        let (name, input) = (name?, input?);
        let spoken = name.replace(['_', '-'], " ").trim().to_owned();
        let description: String =
            words.unwrap_or(&spoken).chars().filter(|letter| *letter != '\0').take(MAX_DESCRIPTION).collect();
        Some(Tool {
            description: if description.trim().is_empty() { spoken.clone() } else { description },
            endpoint: url.to_owned(),
            method: Method::Post,
            parameters: Vec::new(),
            auth_required: false,
            status_message: format!("Using {spoken}…"),
            input: Some(input),
            name,
        })
    }

    fn input(&mut self, location: String, value: Option<&Value>) -> Option<Value> {
        let Some(schema @ Value::Object(fields)) = value else {
            self.problem(location, "must be an object");
            return None;
        };
        if fields.get("type").and_then(Value::as_str) != Some("object") {
            self.problem(location, "must be of type object");
            return None;
        }
        let properties =
            fields.get("properties").map_or(Some(0), |properties| Some(properties.as_object()?.len()));
        match properties {
            None => self.problem(location, "must have an object of properties"),
            Some(many) if many > MAX_PARAMETERS => {
                self.problem(
                    location,
                    format!("at most {MAX_PARAMETERS} parameters are allowed, not {many}"),
                );
            }
            Some(_) => match self.whole(schema) {
                Some(words) => self.problem(location, words),
                None => return Some(schema.clone()),
            },
        }
        None
    }

    /// What is wrong with a schema.
    fn whole(&mut self, schema: &Value) -> Option<String> {
        let written = match written_whole(schema) {
            Ok(written) => written,
            Err(words) => return Some(words),
        };
        self.too_many_patterns(&written).or_else(|| uncheckable(&written))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use serde_json::json;

    use super::*;

    const URL: &str = "https://mcp.example/mcp";

    fn problems(listed: &[Value]) -> Vec<String> {
        let mut manifest = Manifest::default();
        add_mcp_tools(&mut manifest, URL, listed).err().unwrap_or_default()
    }

    fn tool(name: &str) -> Value {
        json!({ "name": name, "inputSchema": { "type": "object" } })
    }

    #[test]
    fn mcp_tools_keep_their_schemas_and_internal_references() {
        let input = json!({
            "type": "object", "required": ["to"],
            "properties": {
                "to": { "$ref": "#/$defs/Person" },
                "note": { "anyOf": [{ "type": "string" }, { "type": "null" }], "default": null },
            },
            "$defs": { "Person": { "type": "object", "properties": { "name": { "type": "string" } } } },
        });
        let mut manifest = Manifest::default();
        let listed = [json!({ "name": "send_note", "description": "x".repeat(5_000), "inputSchema": input })];
        add_mcp_tools(&mut manifest, URL, &listed).unwrap();
        let kept = Manifest::from_text(&manifest.to_text()).unwrap();
        assert_eq!(kept, manifest);
        let tool = kept.tool("send_note").unwrap();
        assert_eq!((tool.schema(), tool.endpoint.as_str()), (input, URL));
        assert_eq!((tool.description.len(), tool.status_message.as_str()), (1_024, "Using send note…"));
        let check = |arguments: Value| crate::check_arguments(tool, arguments.as_object().unwrap());
        assert_eq!(check(json!({ "to": { "name": "Tom" }, "note": null })), Ok(()));
        assert_eq!(check(json!({ "to": { "name": 7 } })).unwrap_err(), ["to.name: breaks the rule `type`"]);
        assert_eq!(check(json!({})).unwrap_err(), ["to: is required"]);
    }

    /// A schema of which each part refers to the next one twice: to check anything by it takes a day.
    fn twice_over() -> Value {
        let part = |next: usize| {
            let next = json!({ "$ref": format!("#/$defs/p{next}") });
            json!({ "allOf": [next, next] })
        };
        let mut parts: serde_json::Map<String, Value> =
            (0..40).map(|number| (format!("p{number}"), part(number + 1))).collect();
        parts.insert("p40".to_owned(), json!({}));
        json!({ "type": "object", "$ref": "#/$defs/p0", "$defs": parts })
    }

    #[test]
    fn mcp_tool_with_a_recursive_schema_is_kept() {
        let input = json!({
            "type": "object", "properties": { "name": { "type": "string" }, "parts": { "type": "array", "items": { "$ref": "#" } } },
        });
        let mut manifest = Manifest::default();
        add_mcp_tools(&mut manifest, URL, &[json!({ "name": "plant", "inputSchema": input })]).unwrap();
        let tool = manifest.tool("plant").unwrap();
        let check = |arguments: Value| crate::check_arguments(tool, arguments.as_object().unwrap());
        assert_eq!(check(json!({ "name": "a", "parts": [{ "name": "b", "parts": [] }] })), Ok(()));
        assert_eq!(check(json!({ "parts": [{ "parts": [{ "name": 7 }] }] })), Ok(()), "within");
        assert_eq!(
            check(json!({ "parts": [{ "name": 7 }] })).unwrap_err(),
            ["parts.0.name: breaks the rule `type`"]
        );
    }

    #[test]
    fn mcp_tool_list_errors_are_all_named() {
        let schema = |schema: Value| json!({ "name": "a", "inputSchema": schema });
        let deep =
            (0..20).fold(json!({ "type": "string" }), |inner, _| json!({ "type": "array", "items": inner }));
        let many: serde_json::Map<String, Value> = (0..40).map(|n| (format!("p{n}"), json!({}))).collect();
        let wrong = problems(&[
            json!(7),
            json!({ "name": "has.dots", "inputSchema": { "type": "object" } }),
            json!({ "name": "bare" }),
            schema(json!({ "type": "string" })),
            schema(json!({ "type": "object", "properties": [] })),
            schema(json!({ "type": "object", "properties": many })),
            schema(json!({ "type": "object", "properties": { "a": deep } })),
            schema(json!({ "type": "object", "properties": { "a": { "enum": ["x".repeat(40_000)] } } })),
            schema(json!({ "type": "object", "properties": { "a": { "$ref": "https://evil.example/s" } } })),
            schema(json!({ "type": "object", "properties": { "a": { "type": "strange" } } })),
            schema(twice_over()),
            schema(json!({ "type": "object", "properties": { "a": { "pattern": "\\p{L}{1000}" } } })),
            schema(json!({ "type": "object", "allOf": vec![json!({ "pattern": "a" }); 201] })),
        ]);
        assert_eq!(wrong.len(), 13, "{wrong:#?}");
        assert!(
            wrong.iter().enumerate().all(|(at, words)| words.starts_with(&format!("tools[{at}]"))),
            "{wrong:#?}"
        );
    }

    #[test]
    fn mcp_tool_names_must_be_unique_and_at_most_64() {
        assert_eq!(problems(&[tool("a"), tool("a")]), ["tools[1].name: another tool is called \"a\""]);
        let manifest =
            json!({ "tools": [{ "name": "a", "description": "d", "endpoint": "https://a.example/" }] });
        let mut manifest = crate::check(manifest.to_string().as_bytes(), None, |_| true).unwrap();
        let clash = add_mcp_tools(&mut manifest, URL, &[tool("a")]).unwrap_err();
        assert_eq!(clash[0], "tools[0].name: another tool is called \"a\"");
        let names: Vec<Value> = (0..65).map(|n| tool(&format!("t{n}"))).collect();
        assert_eq!(problems(&names[..64]), Vec::<String>::new());
        assert_eq!(problems(&names).len(), 1);
    }
}
