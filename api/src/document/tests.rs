//! Is the document whole, and can people and generators read it?

use std::collections::BTreeSet;

use super::*;
use crate::{
    Settings,
    endpoint::{Access, Repeats},
    routes,
};

fn endpoints() -> Vec<Endpoint> {
    routes::endpoints(&Settings::default())
}

#[test]
fn every_field_that_is_read_is_described_and_no_description_is_unused() {
    for endpoint in endpoints() {
        let bodies = endpoint.body.iter().map(|body| &body.fields);
        for takes in endpoint.query.iter().chain(bodies) {
            let mistakes = takes.mistakes();
            assert!(mistakes.is_empty(), "{} {}: {mistakes:?}", endpoint.method, endpoint.path);
        }
    }
}

#[test]
fn every_operation_has_a_name_a_title_and_a_success_response() {
    let endpoints = endpoints();
    let documented: Vec<&Endpoint> = endpoints.iter().filter(|endpoint| endpoint.is_documented()).collect();
    let names: BTreeSet<&str> = documented.iter().map(|endpoint| endpoint.id).collect();
    assert_eq!(names.len(), documented.len());
    let document = write(&endpoints);
    for endpoint in documented {
        assert!(endpoint.title.contains(' ') || endpoint.id == "search", "{}", endpoint.id);
        let responses = &document["paths"][endpoint.path][endpoint.method]["responses"];
        let good = ["101", "200", "204"].iter().any(|status| responses.get(status).is_some());
        assert!(good, "{}", endpoint.id);
    }
}

#[test]
fn every_public_route_is_documented() {
    let settings = Settings::default();
    let public = endpoints();
    let pages = routes::pages(&settings, &write(&public));
    let hidden: Vec<&str> =
        public.iter().filter(|endpoint| !endpoint.is_documented()).map(|endpoint| endpoint.path).collect();
    assert_eq!(hidden, ["/mcp"]);
    assert!(pages.iter().all(|page| page.method == "get" && page.access == Access::Open));
    assert!(routes::deliveries().iter().all(|endpoint| !endpoint.is_documented()));
}

#[test]
fn every_tag_has_operations_and_every_operation_a_tag() {
    let used: BTreeSet<&str> = endpoints().iter().map(|endpoint| endpoint.tag).collect();
    let known: BTreeSet<&str> = GROUPS.iter().map(|(name, _)| *name).collect();
    assert_eq!(used, known);
}

#[test]
fn every_reference_and_link_resolves() {
    let endpoints = endpoints();
    let document = write(&endpoints);
    let text = document.to_string();
    let references = text.split("\"$ref\":\"#").skip(1).map(|rest| rest.split('"').next().unwrap_or(""));
    for pointer in references {
        assert!(document.pointer(pointer).is_some(), "{pointer}");
    }
    let names: BTreeSet<&str> = endpoints.iter().map(|endpoint| endpoint.id).collect();
    for (operation, _, _) in
        endpoints.iter().flat_map(|endpoint| &endpoint.answers).flat_map(|one| &one.links)
    {
        assert!(names.contains(operation), "{operation}");
    }
}

#[test]
fn every_field_and_parameter_is_described_and_no_schema_is_repeated() {
    let document = write(&endpoints());
    for (name, schema) in document["components"]["schemas"].as_object().unwrap_or(&Map::new()) {
        assert!(!name.ends_with(|last: char| last.is_ascii_digit()), "{name} is the second of its name");
        let is_object = schema.get("properties").is_some() || schema.get("oneOf").is_some();
        assert!(schema["description"].is_string() || is_object, "{name}");
        for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
            assert!(schema["description"].is_string(), "{name}.{field}");
        }
    }
    for endpoint in endpoints() {
        let operation = &document["paths"][endpoint.path][endpoint.method];
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let described = parameter["description"].is_string() || parameter["$ref"].is_string();
            assert!(described, "{}: {parameter}", endpoint.id);
        }
    }
}

/// The 403 of a missing scope took the place of every other one: another user's app was in no operation.
#[test]
fn every_answer_that_is_registered_is_shown() {
    let endpoints = endpoints();
    let document = write(&endpoints);
    for endpoint in endpoints.iter().filter(|endpoint| endpoint.is_documented()) {
        let responses = &document["paths"][endpoint.path][endpoint.method]["responses"];
        for answer in &endpoint.answers {
            let examples = &responses[answer.status.to_string()]["content"]["application/json"]["examples"];
            let shown: Vec<&Value> =
                examples.as_object().into_iter().flat_map(Map::values).map(|shown| &shown["value"]).collect();
            let all_shown = answer.examples.iter().all(|example| shown.contains(&example));
            assert!(all_shown, "{} {}: {shown:?}", endpoint.id, answer.status);
        }
    }
}

#[test]
fn operations_that_create_are_posts() {
    for endpoint in endpoints() {
        let creates = !matches!(endpoint.repeats, Repeats::Plain);
        assert!(!creates || endpoint.method == "post", "{}", endpoint.path);
    }
}

/// A generated client sends every default that a body documents: one that depends on something else would override that.
#[test]
fn defaults_that_depend_on_something_else_are_not_documented() {
    let document = write(&endpoints());
    let schemas = &document["components"]["schemas"];
    for (body, field) in [
        ("NewConversationFromText", "language"),
        ("NewConversationFromSegments", "language"),
        ("NewAudioWebhook", "seconds"),
    ] {
        let field = &schemas[body]["properties"][field];
        assert!(field["description"].is_string() && field.get("default").is_none(), "{body}: {field}");
    }
}
