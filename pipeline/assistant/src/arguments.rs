//! Whether the arguments of a call fit the tool's schema: checked before anything is called.

use serde_json::{Value, json};

/// How many problems are named at once.
const MOST: usize = 5;

/// Checks `arguments` against a tool's `parameters`.
///
/// # Errors
/// What is wrong, in words for the engine. Values are not repeated in it.
pub fn check_arguments(parameters: &Value, arguments: &Value) -> Result<(), String> {
    if !arguments.is_object() {
        return Err("The arguments must be an object.".to_owned());
    }
    let mut schema = parameters.clone();
    if let Some(fields) = schema.as_object_mut() {
        fields.entry("type").or_insert_with(|| json!("object"));
    }
    let options = jsonschema::options();
    let Ok(validator) = options.should_validate_formats(true).build(&schema) else {
        return Err("The tool's own schema cannot be read.".to_owned());
    };
    let problems: Vec<String> = validator
        .iter_errors(arguments)
        .take(MOST)
        .map(|problem| {
            let place = problem.instance_path().to_string();
            let place = if place.is_empty() { "arguments".to_owned() } else { place };
            format!("{place}: {}", problem.masked())
        })
        .collect();
    if problems.is_empty() { Ok(()) } else { Err(format!("Wrong arguments. {}.", problems.join("; "))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DataTool;

    #[test]
    fn tool_arguments_are_checked_against_the_schema_without_repeating_values() {
        let schema = DataTool::CreateActionItem.parameters();
        assert_eq!(check_arguments(&schema, &json!({"description": "Call Tom"})), Ok(()));
        assert!(check_arguments(&schema, &json!([])).is_err());
        let wrong = check_arguments(&schema, &json!({"description": 4711, "due_at": "tomorrow"}));
        let words = wrong.err().unwrap_or_default();
        assert!(words.contains("/description") && words.contains("/due_at"), "{words}");
        assert!(!words.contains("4711") && !words.contains("tomorrow"), "{words}");
        assert!(check_arguments(&schema, &json!({})).is_err(), "the description is missing");
    }

    #[test]
    fn schema_without_a_type_is_an_object_schema() {
        let schema = json!({"properties": {"city": {"type": "string"}}, "required": ["city"]});
        assert_eq!(check_arguments(&schema, &json!({"city": "Lisbon"})), Ok(()));
        assert!(check_arguments(&schema, &json!({"city": 3})).is_err());
    }
}
