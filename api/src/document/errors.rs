//! The answers that operations share when they do not do what was asked.

use serde_json::{Map, Value, json};

use crate::error::example;

fn schema(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// A response of `components.responses`.
pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/responses/{name}") })
}

/// A header of `components.headers`.
pub(super) fn header(name: &str) -> Value {
    json!({ "$ref": format!("#/components/headers/{name}") })
}

/// All of them.
pub(super) fn all() -> Map<String, Value> {
    let passing = example(503, "The service is temporarily unavailable");
    [
        (
            "NotAuthenticated",
            problem(
                "The key is missing, unknown, malformed, revoked or expired.",
                &["WWW-Authenticate"],
                example(401, "Not authenticated"),
            ),
        ),
        (
            "UnreadableBody",
            problem(
                "The body is not UTF-8, or ended early.",
                &[],
                example(400, "There was an error parsing the body"),
            ),
        ),
        (
            "BodyTooLarge",
            problem("The body is larger than 4 MiB, or has more values than the service parses.", &[], example(413, "Request body too large")),
        ),
        (
            "BodyTooSlow",
            problem(
                "The body has not arrived within a minute; the connection is closed.",
                &[],
                example(408, "Request body took too long"),
            ),
        ),
        (
            "CreatedAndDeleted",
            problem(
                "A repeat under an `Idempotency-Key`: what the first request made was deleted meanwhile.",
                &[],
                example(404, "Memory not found"),
            ),
        ),
        (
            "StillRunning",
            problem(
                "A request with this `Idempotency-Key` is still running.",
                &["Retry-After"],
                example(409, "A request with this Idempotency-Key is still running"),
            ),
        ),
        (
            "TooManyRequests",
            problem(
                "The user asks too often, by all keys together; or has created as many conversations today, or has as many \
                 being processed, as they may. `detail` says which.",
                &["Retry-After"],
                example(429, "Too many requests"),
            ),
        ),
        ("Unavailable", problem("Temporarily unavailable: ask again later.", &["Retry-After"], passing)),
        ("NotModified", json!({
            "description": "Unchanged.", "headers": headers(&["ETag"]),
        })),
        ("Invalid", invalid()),
    ]
    .into_iter()
    .map(|(name, response)| (name.to_owned(), counted(name, response)))
    .collect()
}

/// Every answer to a key says how its user's quota stands.
fn counted(name: &str, mut response: Value) -> Value {
    if name != "NotAuthenticated" {
        say_what_is_left(&mut response);
    }
    response
}

/// Adds the headers that every answer to a key has; an answer that is only referred to has them where it is written.
pub(super) fn say_what_is_left(response: &mut Value) {
    if response.get("$ref").is_none() {
        for name in ["RateLimit", "RateLimit-Policy"] {
            response["headers"][name] = header(name);
        }
    }
}

fn invalid() -> Value {
    let mut example = example(422, "");
    example["detail"] = json!([
        { "type": "missing", "loc": ["body", "text"], "msg": "Field required" },
        {
            "type": "string_too_long", "loc": ["body", "title"],
            "msg": "String should have at most 500 characters", "ctx": { "max_length": 500 },
        },
    ]);
    json!({
        "description": "Something is wrong with the request; every failing field is named.",
        "headers": headers(&[]),
        "content": { "application/json": { "schema": schema("HTTPValidationError"), "example": example } },
    })
}

fn problem(words: &str, names: &[&str], example: Value) -> Value {
    json!({
        "description": words,
        "headers": headers(names),
        "content": { "application/json": { "schema": schema("Problem"), "example": example } },
    })
}

fn headers(names: &[&str]) -> Value {
    let header =
        |name: &&str| ((*name).to_owned(), json!({ "$ref": format!("#/components/headers/{name}") }));
    names.iter().chain(&["X-Request-Id"]).map(header).collect::<Map<_, _>>().into()
}
