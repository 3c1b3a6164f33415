//! Inside a version of a path, things are only added: the document is compared with the one of the last release.

use std::collections::HashSet;

use serde_json::Value;

use crate::document::{CHECKED_IN, parsed};

/// Copied from `openapi.json` when a version is tagged.
const RELEASED: &str = include_str!("../../openapi.released.json");

/// Words, which may change. (Where clients choose the names, a name may be one of these.)
const WORDS: [&str; 6] = ["description", "summary", "example", "examples", "title", "x-program-version"];
const BOUNDS: [&str; 8] =
    ["minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "pattern", "enum"];

#[test]
fn nothing_that_was_released_has_gone_or_become_narrower() {
    let lost = Comparison::of(&parsed(RELEASED), &parsed(CHECKED_IN));
    assert!(lost.is_empty(), "clients of the released document would break: {lost:#?}");
}

/// Walks the released document. Paths, methods, parameters, fields and answers may be added. Nothing may go, nothing
/// that is sent may become required, nothing that is answered may become optional, no closed list may lose a value,
/// and no bound may become narrower or appear.
struct Comparison {
    /// The schemas of bodies that are sent.
    sent: HashSet<String>,
    lost: Vec<String>,
}

impl Comparison {
    fn of(released: &Value, now: &Value) -> Vec<String> {
        let operations = released["paths"]
            .as_object()
            .unwrap()
            .values()
            .flat_map(|path| path.as_object().unwrap().values());
        let bodies = operations.filter_map(|operation| {
            operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].as_str()
        });
        let sent = bodies.map(|reference| reference.trim_start_matches('#').to_owned()).collect();
        let mut comparison = Self { sent, lost: Vec::new() };
        comparison.compare("", released, now);
        comparison.lost
    }

    fn compare(&mut self, path: &str, released: &Value, now: &Value) {
        match (released, now) {
            // One shape became one of several.
            (before, after) if before.get("$ref").is_some() && is_one_of(before, after) => {}
            (Value::Object(before), Value::Object(after)) => {
                let free_names = path.ends_with("/properties") || path.ends_with("/schemas");
                for (name, value) in before {
                    if !free_names && WORDS.contains(&name.as_str()) {
                        continue;
                    }
                    let inner = format!("{path}/{name}");
                    match after.get(name) {
                        Some(same) => self.compare(&inner, value, same),
                        None => self.lost.push(format!("{inner} has gone")),
                    }
                }
                let appears = |bound: &&&str| {
                    before.contains_key("type")
                        && !before.contains_key(**bound)
                        && after.contains_key(**bound)
                };
                self.lost.extend(BOUNDS.iter().filter(appears).map(|bound| format!("{path}/{bound} is new")));
            }
            (Value::Array(before), Value::Array(after)) if path.ends_with("/required") => {
                // Of what is sent, a name more is too much; of what is answered, a name less.
                let (some, all) = if self.is_sent(path) { (after, before) } else { (before, after) };
                let strange = some.iter().filter(|name| !all.contains(name));
                self.lost.extend(strange.map(|name| format!("{path} differs in {name}")));
            }
            (Value::Array(before), Value::Array(after)) => self.walk_list(path, before, after),
            (before, after) if before == after || widened(path, before, after) => {}
            // What is sent may be of one more type.
            (before, Value::Array(types)) if self.is_sent(path) && types.contains(before) => {}
            (before, after) => self.lost.push(format!("{path} was {before} and is {after}")),
        }
    }

    /// Lists are sets here; parameters are known by their names and places.
    fn walk_list(&mut self, path: &str, before: &[Value], after: &[Value]) {
        for item in before {
            let same = match item.get("name") {
                Some(name) => after.iter().find(|other| other["name"] == *name && other["in"] == item["in"]),
                None => after.iter().find(|other| *other == item),
            };
            match same {
                Some(same) => self.compare(&format!("{path}/{}", item["name"]), item, same),
                None => self.lost.push(format!("{path} lost {item}")),
            }
        }
        if path.ends_with("/parameters") {
            let demanded = after.iter().filter(|parameter| parameter["required"] == true);
            let new =
                demanded.filter(|parameter| !before.iter().any(|known| known["name"] == parameter["name"]));
            self.lost.extend(new.map(|parameter| format!("{path} demands {}", parameter["name"])));
        }
    }

    fn is_sent(&self, path: &str) -> bool {
        self.sent
            .iter()
            .any(|schema| path.strip_prefix(schema.as_str()).is_some_and(|rest| rest.starts_with('/')))
    }
}

fn is_one_of(before: &Value, after: &Value) -> bool {
    after["anyOf"].as_array().is_some_and(|shapes| shapes.contains(before))
}

/// Whether a bound only takes more than before.
fn widened(path: &str, before: &Value, after: &Value) -> bool {
    let (Some(before), Some(after)) = (before.as_f64(), after.as_f64()) else { return false };
    let lower = ["/minLength", "/minimum", "/minItems"].iter().any(|bound| path.ends_with(bound));
    let upper = ["/maxLength", "/maximum", "/maxItems"].iter().any(|bound| path.ends_with(bound));
    (lower && after <= before) || (upper && after >= before)
}

#[test]
fn the_comparison_sees_what_would_break_a_client_and_nothing_else() {
    let released = parsed(RELEASED);
    let faults = |pointer: &str, change: &dyn Fn(&mut Value)| {
        let mut now = released.clone();
        change(now.pointer_mut(pointer).unwrap());
        Comparison::of(&released, &now).len()
    };
    let without =
        |name: &'static str| move |value: &mut Value| drop(value.as_object_mut().unwrap().remove(name));
    let push = |name: &'static str| move |value: &mut Value| value.as_array_mut().unwrap().push(name.into());
    assert_eq!(faults("/paths", &without("/v1/dev/key")), 1);
    assert_eq!(faults("/paths/~1v1~1dev~1key/get/responses", &without("401")), 1);
    assert_eq!(faults("/components/schemas/Key/properties", &without("name")), 1);
    assert_eq!(faults("/components/schemas/NewKey/properties/name/maxLength", &|value| *value = 5.into()), 1);
    assert_eq!(faults("/components/schemas/NewKey/required", &push("scopes")), 1);
    assert_eq!(
        faults("/components/schemas/Scope/enum", &|value| drop(value.as_array_mut().unwrap().pop())),
        1
    );
    assert_eq!(
        faults("/components/schemas/Key/required", &|value| drop(value.as_array_mut().unwrap().pop())),
        1
    );

    assert_eq!(
        faults("/components/schemas/NewKey/properties/name/maxLength", &|value| *value = 500.into()),
        0
    );
    assert_eq!(faults("/components/schemas/Key/required", &push("colour")), 0);
    assert_eq!(faults("/components/schemas/Scope/enum", &push("audio:read")), 0);
    assert_eq!(faults("/info/description", &|value| *value = "other words".into()), 0);
}
