//! Whether the tools that an MCP server lists may be kept, beside those of a manifest.

use serde_json::Value;

use super::{
    Checking, MAX_DESCRIPTION, MAX_KEPT_BYTES, MAX_PARAMETERS, MAX_TOOLS, MOST_PROBLEMS, Problem,
    schema::check_whole,
};
use crate::{Manifest, Method, Tool};

/// Adds the tools that the MCP server at `url` lists to those of `manifest`.
///
/// # Errors
/// Everything that is wrong with them, up to 20 problems; the manifest is not to be kept then.
pub fn add_mcp_tools(manifest: &mut Manifest, url: &str, listed: &[Value]) -> Result<(), Vec<Problem>> {
    let mut checking = Checking { home: None, may_call: &|_| true, problems: Vec::new() };
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
            Some(_) => match check_whole(schema) {
                Some(words) => self.problem(location, words),
                None => return Some(schema.clone()),
            },
        }
        None
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
        add_mcp_tools(&mut manifest, URL, listed)
            .err()
            .into_iter()
            .flatten()
            .map(|problem| problem.text)
            .collect()
    }

    fn tool(name: &str) -> Value {
        json!({ "name": name, "inputSchema": { "type": "object" } })
    }

    #[test]
    fn tools_are_kept_with_their_schemas_also_those_with_references_of_their_own() {
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

    #[test]
    fn everything_that_is_wrong_is_named_at_once() {
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
        ]);
        assert_eq!(wrong.len(), 10, "{wrong:#?}");
        assert!(
            wrong.iter().enumerate().all(|(at, words)| words.starts_with(&format!("tools[{at}]"))),
            "{wrong:#?}"
        );
    }

    #[test]
    fn names_clash_with_each_other_and_with_the_manifests_and_64_are_the_most() {
        assert_eq!(problems(&[tool("a"), tool("a")]), ["tools[1].name: another tool is called \"a\""]);
        let manifest =
            json!({ "tools": [{ "name": "a", "description": "d", "endpoint": "https://a.example/" }] });
        let mut manifest = crate::check(manifest.to_string().as_bytes(), None, |_| true).unwrap();
        let clash = add_mcp_tools(&mut manifest, URL, &[tool("a")]).unwrap_err();
        assert_eq!(clash[0].text, "tools[0].name: another tool is called \"a\"");
        let names: Vec<Value> = (0..65).map(|n| tool(&format!("t{n}"))).collect();
        assert_eq!(problems(&names[..64]), Vec::<String>::new());
        assert_eq!(problems(&names).len(), 1);
    }
}
