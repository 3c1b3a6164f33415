//! What is taken for a manifest, and every way in which one is refused.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::time::Instant;

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn home() -> Option<&'static str> {
    Some("https://app.example/v1/")
}

fn checked(manifest: &Value) -> Result<Manifest, Vec<String>> {
    let public = |url: &str| url.starts_with("https://") && !url.contains("localhost");
    check(manifest.to_string().as_bytes(), home(), public)
}

fn tool(name: &str) -> Value {
    json!({ "name": name, "description": "What it does", "endpoint": "/tools/add" })
}

fn problems_of_tool(change: &Value) -> Vec<String> {
    let mut tool = tool("add");
    for (name, value) in change.as_object().unwrap() {
        tool[name] = value.clone();
    }
    checked(&json!({ "tools": [tool] })).unwrap_err()
}

#[test]
fn manifest_defaults_follow_the_spec() {
    let manifest = checked(&json!({ "tools": [tool("send_message")] })).unwrap();
    let tool = &manifest.tools[0];
    assert_eq!(tool.method, Method::Post);
    assert!(tool.auth_required);
    assert_eq!(tool.status_message, "Using send message…");
    assert_eq!(tool.parameters, []);
    assert_eq!(tool.endpoint, "https://app.example/tools/add");
    assert_eq!(manifest.chat_messages, ChatMessages { enabled: false, target: Target::App, notify: false });
}

#[test]
fn manifest_null_is_absent_and_unknown_fields_are_ignored() {
    let mut nulls = tool("a");
    for field in ["method", "parameters", "auth_required", "status_message"] {
        nulls[field] = Value::Null;
    }
    nulls["icon"] = json!("star");
    let manifest = json!({ "tools": [nulls], "chat_messages": null, "version": 3 });
    assert_eq!(checked(&manifest), checked(&json!({ "tools": [tool("a")] })));
}

#[test]
fn manifest_endpoints_resolve_by_rfc_3986_on_the_home_urls_origin() {
    let endpoint = |text: &str| {
        let mut tool = tool("a");
        tool["endpoint"] = text.into();
        checked(&json!({ "tools": [tool] })).map(|manifest| manifest.tools[0].endpoint.clone())
    };
    assert_eq!(endpoint("/x").unwrap(), "https://app.example/x");
    assert_eq!(endpoint("x?y=1#z").unwrap(), "https://app.example/v1/x?y=1");
    assert_eq!(endpoint("../x").unwrap(), "https://app.example/x");
    assert_eq!(endpoint("https://other.example/x").unwrap(), "https://other.example/x");
    for bad in [
        "//evil.example/x",
        "\\\\evil.example/x",
        "http://app.example/",
        "https://localhost/",
        "ftp://a/",
        "https://",
    ] {
        assert_eq!(endpoint(bad).unwrap_err().len(), 1, "{bad}");
    }
}

#[test]
fn manifest_relative_endpoint_needs_a_home_url() {
    let body = json!({ "tools": [tool("a")] }).to_string();
    let problems = check(body.as_bytes(), None, |_| true).unwrap_err();
    assert_eq!(
        problems[0],
        "tools[0].endpoint: is a path, and the app has no home_url to resolve it against"
    );
}

#[test]
fn manifest_that_is_no_object_is_one_problem() {
    for (body, words) in [
        ("{", "the manifest is not JSON"),
        ("<html>", "the manifest is not JSON"),
        ("[]", "the manifest must be a JSON object"),
        ("{}", "tools: must be an array"),
        (r#"{"tools": {}}"#, "tools: must be an array"),
    ] {
        let problems = check(body.as_bytes(), home(), |_| true).unwrap_err();
        assert_eq!(problems, [words], "{body}");
    }
    let many: Vec<Value> = (0..1_000).map(|n| tool(&format!("t{n}"))).collect();
    assert_eq!(
        checked(&json!({ "tools": many })).unwrap_err(),
        ["tools: at most 64 tools are allowed, not 1000"]
    );
}

#[test]
fn manifest_problems_are_named_by_path_up_to_twenty() {
    let manifest = json!({
        "tools": [
            { "name": "a b", "description": "", "endpoint": 5, "method": "BREW" },
            tool("same"),
            tool("same"),
            "no tool",
            { "name": "x", "description": "d", "endpoint": "/x", "auth_required": "yes", "status_message": "" },
        ],
        "chat_messages": { "enabled": 1, "target": "everyone" },
    });
    let problems = checked(&manifest).unwrap_err();
    for place in [
        "tools[0].name:",
        "tools[0].description:",
        "tools[0].endpoint:",
        "tools[0].method:",
        "tools[2].name:",
        "tools[3]:",
        "tools[4].auth_required:",
        "tools[4].status_message:",
        "chat_messages.enabled:",
        "chat_messages.target:",
    ] {
        assert_eq!(
            problems.iter().filter(|text| text.starts_with(place)).count(),
            1,
            "{place} in {problems:?}"
        );
    }
    assert_eq!(problems.len(), 10);
    let many: Vec<Value> = (0..64).map(|_| json!({})).collect();
    assert_eq!(checked(&json!({ "tools": many })).unwrap_err().len(), 20);
}

#[test]
fn manifest_parameters_cannot_shadow_service_fields() {
    for name in ["uid", "app_id", "tool_name", "geolocation"] {
        let parameters = json!({ "properties": { name: { "type": "string" } } });
        let problems = problems_of_tool(&json!({ "parameters": parameters }));
        assert_eq!(problems.len(), 1);
        assert!(
            problems[0].starts_with(&format!("tools[0].parameters.properties.{name}: is a field")),
            "{problems:?}"
        );
    }
}

#[test]
fn manifest_required_lists_properties_once() {
    let properties = json!({ "a": { "type": "string" } });
    for (required, words) in [
        (json!(["b"]), "tools[0].parameters.required: names \"b\", which is no property"),
        (json!(["a", "a"]), "tools[0].parameters.required: names \"a\" twice"),
        (json!("a"), "tools[0].parameters.required: must be an array of names"),
        (json!([1]), "tools[0].parameters.required: must be an array of names"),
    ] {
        let parameters = json!({ "properties": properties, "required": required });
        assert_eq!(problems_of_tool(&json!({ "parameters": parameters })), [words]);
    }
}

#[test]
fn manifest_parameters_schema_is_kept_within_bounds() {
    let deep = json!({ "type": "object", "properties": { "a": { "type": "object", "properties": { "b": { "properties": {} } } } } });
    let endless = json!({ "type": "string", "description": "x".repeat(9_000) });
    let remote = json!({ "type": "object", "$ref": "https://evil.example/schema.json" });
    let backtracking = json!({ "type": "string", "pattern": "(?=a)b" });
    let local = json!({ "type": "array", "items": { "$ref": "#/$defs/x" }, "$defs": { "x": {} } });
    for schema in [deep, endless, remote, local, backtracking, json!({ "type": "string", "minLength": -1 })] {
        let problems = problems_of_tool(&json!({ "parameters": { "properties": { "p": schema } } }));
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("tools[0].parameters.properties.p: is "), "{problems:?}");
    }
    for kind in ["string", "integer", "number", "boolean", "array", "object"] {
        let schema = json!({ "type": kind, "description": "d", "x-own": [1, { "b": 2, "a": 1 }] });
        let mut with = tool("a");
        with["parameters"] = json!({ "properties": { "p": schema } });
        let manifest = checked(&json!({ "tools": [with] })).unwrap();
        assert_eq!(manifest.tools[0].parameters[0].schema, schema);
        let plain = json!({ "type": kind, "description": 5 });
        assert_eq!(problems_of_tool(&json!({ "parameters": { "properties": { "p": plain } } })).len(), 1);
        assert_eq!(Manifest::from_text(&manifest.to_text()), Some(manifest));
    }
    assert_eq!(
        problems_of_tool(&json!({ "parameters": { "properties": { "p": { "type": "date" } } } })),
        ["tools[0].parameters.properties.p.type: must be string, integer, number, boolean, array or object"]
    );
}

#[test]
fn manifest_of_64_tools_is_checked_in_milliseconds() {
    let properties: Map<String, Value> = (0..6)
        .map(|n| {
            (format!("p{n}"), json!({ "type": "string", "description": "What is meant", "maxLength": 200 }))
        })
        .collect();
    let tools: Vec<Value> = (0..64)
        .map(|n| {
            let mut tool = tool(&format!("tool_{n}"));
            tool["parameters"] = json!({ "properties": properties, "required": ["p0"] });
            tool
        })
        .collect();
    let body = json!({ "tools": tools }).to_string();
    let mut best = std::time::Duration::MAX;
    for _ in 0..5 {
        let begun = Instant::now();
        check(body.as_bytes(), home(), |_| true).unwrap();
        best = best.min(begun.elapsed());
    }
    println!("64 tools with 6 parameters each: {best:?}");
    // A debug build on a busy machine: a hundred times what a release build takes.
    assert!(best.as_millis() < 1_000, "{best:?}");
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z/_-]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let keys = prop_oneof![
            Just("name".to_owned()),
            Just("description".to_owned()),
            Just("endpoint".to_owned()),
            Just("parameters".to_owned()),
            Just("properties".to_owned()),
            Just("required".to_owned()),
            Just("type".to_owned()),
            "[a-z]{1,4}",
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((keys, inner), 0..5)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn fuzz_any_manifest_is_kept_whole_or_refused(tools in prop::collection::vec(any_json(), 0..4), chat in any_json()) {
        let body = json!({ "tools": tools, "chat_messages": chat });
        match checked(&body) {
            Ok(manifest) => prop_assert_eq!(manifest.tools.len(), tools.len()),
            Err(problems) => prop_assert!((1..=20).contains(&problems.len())),
        }
    }

    #[test]
    fn fuzz_no_bytes_break_the_manifest_check(body: Vec<u8>) {
        let _ = check(&body, None, |_| true);
    }
}
