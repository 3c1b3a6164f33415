//! What a call of a tool sends, to the letter of the spec: uid, app_id, tool_name, the parameters, and the location if there is one.

use records::Geolocation;
use serde_json::{Map, Value, json};
use url::Url;

use crate::{Method, Tool};

/// The longest query of a GET.
const MAX_QUERY_BYTES: usize = 8 * 1_024;

/// A request that is ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// How.
    pub method: Method,
    /// Where, with the query of a GET or DELETE.
    pub url: Url,
    /// JSON; `None`: the fields stand in the query.
    pub body: Option<Vec<u8>>,
}

impl Outgoing {
    /// What a signature covers: the body, or the query string of a request without a body.
    pub fn signed(&self) -> &[u8] {
        match &self.body {
            Some(body) => body,
            None => self.url.query().unwrap_or_default().as_bytes(),
        }
    }
}

/// The query would be longer than 8 KiB, or the kept endpoint is no URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

/// The request of one call. `arguments` were checked against the tool's parameters; one that is null is left out, and only
/// parameters of the manifest are sent. The fields of the service are written last, so that nothing can take their location.
///
/// # Errors
/// [`TooLong`].
pub fn tool_request(
    tool: &Tool,
    uid: &str,
    app_id: &str,
    arguments: &Map<String, Value>,
    geolocation: Option<&Geolocation>,
) -> Result<Outgoing, TooLong> {
    let mut fields = Map::new();
    for parameter in &tool.parameters {
        if let Some(value) = arguments.get(&parameter.name).filter(|value| !value.is_null()) {
            fields.insert(parameter.name.clone(), value.clone());
        }
    }
    for (name, value) in [("uid", uid), ("app_id", app_id), ("tool_name", tool.name.as_str())] {
        fields.insert(name.to_owned(), value.into());
    }
    fields.shift_remove("geolocation");
    if let Some(location) = geolocation {
        fields.insert("geolocation".to_owned(), shape(location));
    }
    let mut url = Url::parse(&tool.endpoint).map_err(|_| TooLong)?;
    match tool.method {
        Method::Post | Method::Put | Method::Patch => {
            let body = Value::Object(fields).to_string().into_bytes();
            Ok(Outgoing { method: tool.method, url, body: Some(body) })
        }
        Method::Get | Method::Delete => {
            for (name, value) in &fields {
                url.query_pairs_mut().append_pair(name, &in_query(value));
            }
            match url.query().is_some_and(|query| query.len() > MAX_QUERY_BYTES) {
                true => Err(TooLong),
                false => Ok(Outgoing { method: tool.method, url, body: None }),
            }
        }
    }
}

/// A string as it is; numbers and truths as JSON writes them; arrays and objects as compact JSON.
fn in_query(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn shape(location: &Geolocation) -> Value {
    json!({
        "latitude": location.latitude,
        "longitude": location.longitude,
        "address": location.address,
        "google_place_id": location.google_place_id,
        "location_type": location.location_type,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use super::*;
    use crate::check;

    fn tool(method: &str) -> Tool {
        let body = json!({ "tools": [{
            "name": "add", "description": "Adds a row", "endpoint": "https://app.example/api?v=2", "method": method,
            "parameters": { "properties": {
                "text": { "type": "string" }, "tags": { "type": "array" }, "n": { "type": "integer" }, "ok": { "type": "boolean" },
            }, "required": ["text"] },
        }] });
        check(body.to_string().as_bytes(), None, |_| true).unwrap().tools.remove(0)
    }

    fn arguments() -> Map<String, Value> {
        let arguments = json!({ "text": "a & b", "tags": ["x", "y"], "n": 3, "ok": true, "more": "dropped" });
        arguments.as_object().unwrap().clone()
    }

    fn here() -> Geolocation {
        Geolocation {
            latitude: 52.5,
            longitude: 13.4,
            address: Some("Berlin".to_owned()),
            google_place_id: None,
            location_type: None,
        }
    }

    #[test]
    fn tool_post_body_has_the_specified_fields_and_no_absent_location() {
        let sent = tool_request(&tool("POST"), "u1", "a1", &arguments(), None).unwrap();
        assert_eq!(sent.url.as_str(), "https://app.example/api?v=2");
        let body: Value = serde_json::from_slice(sent.body.as_deref().unwrap()).unwrap();
        assert_eq!(
            body,
            json!({ "text": "a & b", "tags": ["x", "y"], "n": 3, "ok": true, "uid": "u1", "app_id": "a1", "tool_name": "add" })
        );
    }

    #[test]
    fn tool_location_has_null_for_unknown_fields() {
        let sent = tool_request(&tool("POST"), "u1", "a1", &Map::new(), Some(&here())).unwrap();
        let body: Value = serde_json::from_slice(sent.body.as_deref().unwrap()).unwrap();
        assert_eq!(
            body["geolocation"],
            json!({ "latitude": 52.5, "longitude": 13.4, "address": "Berlin", "google_place_id": null, "location_type": null })
        );
    }

    #[test]
    fn tool_get_query_has_the_same_fields_with_nested_compact_json() {
        for method in ["GET", "DELETE"] {
            let sent = tool_request(&tool(method), "u 1", "a1", &arguments(), Some(&here())).unwrap();
            assert!(sent.body.is_none());
            let pairs: Map<String, Value> = sent
                .url
                .query_pairs()
                .map(|(name, value)| (name.into_owned(), value.into_owned().into()))
                .collect();
            assert_eq!(pairs["tags"], r#"["x","y"]"#);
            assert_eq!(pairs["uid"], "u 1");
            assert_eq!(pairs["ok"], "true");
            assert_eq!(pairs["v"], "2");
            let location: Value = serde_json::from_str(pairs["geolocation"].as_str().unwrap()).unwrap();
            assert_eq!(location["google_place_id"], Value::Null);
            assert_eq!(sent.signed(), sent.url.query().unwrap().as_bytes());
        }
    }

    #[test]
    fn tool_arguments_cannot_override_service_fields() {
        let mut shadowing = tool("POST");
        for name in ["uid", "app_id", "tool_name", "geolocation"] {
            let mut parameter = shadowing.parameters[0].clone();
            parameter.name = name.to_owned();
            shadowing.parameters.push(parameter);
        }
        let evil: Map<String, Value> = ["uid", "app_id", "tool_name", "geolocation"]
            .map(|name| (name.to_owned(), Value::from("evil")))
            .into_iter()
            .collect();
        let sent = tool_request(&shadowing, "u1", "a1", &evil, None).unwrap();
        let body: Value = serde_json::from_slice(sent.body.as_deref().unwrap()).unwrap();
        assert_eq!(body, json!({ "uid": "u1", "app_id": "a1", "tool_name": "add" }));
    }

    #[test]
    fn tool_get_query_over_8_kib_is_not_sent() {
        let long = Map::from_iter([("text".to_owned(), Value::from("x".repeat(MAX_QUERY_BYTES)))]);
        assert_eq!(tool_request(&tool("GET"), "u", "a", &long, None), Err(TooLong));
        assert!(tool_request(&tool("POST"), "u", "a", &long, None).is_ok());
    }
}
