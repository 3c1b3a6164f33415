//! Headers and header parameters that operations share.

use serde_json::{Value, json};

/// 1 to 255 printable characters without blanks and backslashes, bare or (as a Structured Field string) in quotes.
const IDEMPOTENCY_KEY: &str = r#"^("[!#-\[\]-~]{1,255}"|[!#-\[\]-~]{1,255})$"#;

/// `components.headers`.
pub(super) fn headers() -> Value {
    json!({
        "X-Request-Id": {
            "description": "Names the request in the service's logs: the client's own `X-Request-Id` where it was harmless.",
            "schema": { "type": "string" },
        },
        "Link": {
            "description": "The neighbouring pages (RFC 8288), `next` and `prev`.",
            "schema": { "type": "string" },
        },
        "ETag": {
            "description": "The version of the answer, for `If-None-Match`.",
            "schema": { "type": "string" },
        },
        "Location": {
            "description": "Where to poll.",
            "schema": { "type": "string", "format": "uri-reference" },
        },
        "Retry-After": {
            "description": "Seconds to wait before asking again.",
            "schema": { "type": "integer", "minimum": 0 },
        },
        "RateLimit": {
            "description": "Of every answer to a key: `r` requests are left of the user's quota, and in `t` seconds there is one more (draft-ietf-httpapi-ratelimit-headers). Missing where the operator set no limit.",
            "schema": { "type": "string" },
        },
        "RateLimit-Policy": {
            "description": "Of every answer to a key: the user's quota `q`, which all of their keys share, and the `w` seconds in which it fills up.",
            "schema": { "type": "string" },
        },
        "Idempotency-Replayed": {
            "description": "`true`: a request with this `Idempotency-Key` was made before, and nothing was made now.",
            "schema": { "type": "string", "const": "true" },
        },
        "WWW-Authenticate": {
            "description": "How to authenticate.",
            "schema": { "type": "string", "const": "Bearer" },
        },
    })
}

/// `components.parameters`.
pub(super) fn parameters() -> Value {
    json!({
        "IdempotencyKey": {
            "name": "Idempotency-Key", "in": "header", "required": false,
            "description": "A name for this request, such as a UUID, quoted or bare. A repeat with the same name and body makes nothing \
                new and gets the first answer, for 24 hours; with another body, or another id in the path, it is 422.",
            "schema": { "type": "string", "minLength": 1, "maxLength": 257, "pattern": IDEMPOTENCY_KEY },
        },
        "ModelKey": {
            "name": "X-BYOK-OpenAI", "in": "header", "required": false,
            "description": "The user's own key for the configured model server. It is kept in memory, for this \
                conversation's runs alone, an hour at most.",
            "schema": { "type": "string", "minLength": 1, "maxLength": 512, "pattern": "^[!-~]+$" },
        },
        "IfNoneMatch": {
            "name": "If-None-Match", "in": "header", "required": false,
            "description": "An `ETag` that was given before. When it still holds, the answer is 304 without a body.",
            "schema": { "type": "string" },
        },
    })
}
