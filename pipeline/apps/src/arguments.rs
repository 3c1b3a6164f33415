//! Whether arguments fit a tool, before anything is sent.

use serde_json::{Map, Value};

use crate::{
    Parameter, Tool,
    check::{compile, written_out},
};

/// How many problems are named at most.
const MOST: usize = 20;

/// What is wrong with `arguments`; each entry names the argument. A null is as good as absent.
///
/// # Errors
/// The problems, when there are any.
pub fn check_arguments(tool: &Tool, arguments: &Map<String, Value>) -> Result<(), Vec<String>> {
    if let Some(input) = &tool.input {
        return check_whole(input, arguments);
    }
    let mut problems = Vec::new();
    for parameter in &tool.parameters {
        match arguments.get(&parameter.name).filter(|value| !value.is_null()) {
            None if parameter.required => problems.push(format!("{}: is required", parameter.name)),
            None => {}
            Some(value) => problems.extend(wrong(parameter, value)),
        }
    }
    let known = |name: &str| tool.parameters.iter().any(|parameter| parameter.name == name);
    problems.extend(
        arguments.keys().filter(|name| !known(name)).map(|name| format!("{}: is no parameter", short(name))),
    );
    problems.truncate(MOST);
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// The same for a tool of an MCP server, whose schema is one for all arguments.
fn check_whole(input: &Value, arguments: &Map<String, Value>) -> Result<(), Vec<String>> {
    let schema = written_out(input).ok().and_then(|input| compile(&input).ok());
    let Some(schema) = schema else { return Err(vec!["arguments: cannot be checked".to_owned()]) };
    let required = input.get("required").and_then(Value::as_array).into_iter().flatten();
    let missing = required.filter_map(Value::as_str).filter(|name| !arguments.contains_key(*name));
    let mut problems: Vec<String> = missing.map(|name| format!("{}: is required", short(name))).collect();
    if problems.is_empty() {
        let arguments = Value::Object(arguments.clone());
        problems.extend(schema.iter_errors(&arguments).map(|error| {
            let place = error.instance_path().to_string().replace('/', ".");
            let place = place.trim_start_matches('.');
            let place = if place.is_empty() { "arguments" } else { place };
            format!("{}: breaks the rule `{}`", short(place), rule(&error.schema_path().to_string()))
        }));
    }
    problems.truncate(MOST);
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// The keyword at the end of a schema's path.
fn rule(path: &str) -> &str {
    path.rsplit('/').find(|part| part.parse::<usize>().is_err()).unwrap_or("schema")
}

/// The validator's messages repeat the value, which may be long: the place and the rule are enough for one repair.
fn wrong(parameter: &Parameter, value: &Value) -> Vec<String> {
    let name = &parameter.name;
    let Ok(schema) = compile(&parameter.schema) else {
        // A kept manifest was checked; one that cannot be compiled any more must not let everything through.
        return vec![format!("{name}: cannot be checked")];
    };
    schema
        .iter_errors(value)
        .map(|error| {
            let place = error.instance_path().to_string().replace('/', ".");
            match rule(&error.schema_path().to_string()) {
                "type" => format!("{name}{place}: must be of type {}", parameter.kind.as_str()),
                rule => format!("{name}{place}: breaks the rule `{rule}`"),
            }
        })
        .collect()
}

fn short(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_control()).take(64).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use serde_json::json;

    use super::*;

    fn check_with(arguments: &Value) -> Result<(), Vec<String>> {
        let manifest = json!({ "tools": [{
            "name": "t", "description": "d", "endpoint": "https://a.example/",
            "parameters": { "properties": {
                "text": { "type": "string", "maxLength": 5 }, "count": { "type": "integer" },
                "rows": { "type": "array", "items": { "type": "integer" } }, "share": { "type": "number" },
            }, "required": ["text"] },
        }] });
        let manifest = crate::check(manifest.to_string().as_bytes(), None, |_| true).unwrap();
        check_arguments(&manifest.tools[0], arguments.as_object().unwrap())
    }

    #[test]
    fn tool_arguments_are_validated_and_null_is_absent() {
        assert_eq!(check_with(&json!({ "text": "a", "count": null, "rows": [1], "share": 0.5 })), Ok(()));
    }

    #[test]
    fn tool_argument_errors_name_every_argument_without_its_value() {
        let wrong = check_with(&json!({ "count": "secret", "rows": [1, "secret"], "more": 1 })).unwrap_err();
        assert_eq!(wrong.len(), 4, "{wrong:?}");
        assert!(wrong.iter().all(|problem| !problem.contains("secret")), "{wrong:?}");
        for name in ["text:", "count:", "rows.1:", "more:"] {
            assert!(wrong.iter().any(|problem| problem.starts_with(name)), "{name} in {wrong:?}");
        }
        let long = check_with(&json!({ "text": "abcdef" })).unwrap_err();
        assert_eq!(long, ["text: breaks the rule `maxLength`"]);
    }
}
