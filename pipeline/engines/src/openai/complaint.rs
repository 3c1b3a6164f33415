//! What a server complains of, as far as a program can act on it. Its words go no further than this.

use serde::Deserialize;

/// A field of a request that some servers refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// `max_tokens` or `max_completion_tokens`.
    Limit,
    /// `temperature`.
    Temperature,
    /// `response_format`.
    Format,
    /// The whole is longer than the model's context.
    Length,
}

/// The body of an error, in the form that most servers share: `{"error": {"message", "param", "code"}}`.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Complaint {
    error: Details,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    message: Option<String>,
    param: Option<String>,
    code: Option<serde_json::Value>,
}

impl Complaint {
    /// Any body; one in another form complains of nothing in particular.
    pub(super) fn read(body: &[u8]) -> Self {
        serde_json::from_slice(body).unwrap_or_default()
    }

    /// Which field is complained of: by its name where the server gives one, else by its words.
    pub(super) fn field(&self) -> Option<Field> {
        let code = self.error.code.as_ref().and_then(serde_json::Value::as_str);
        if code == Some("context_length_exceeded") {
            return Some(Field::Length);
        }
        let named = self.error.param.as_deref().and_then(field_in);
        named.or_else(|| self.error.message.as_deref().and_then(field_in))
    }

    /// Whether the account has no credit left.
    pub(super) fn is_about_credit(&self) -> bool {
        let code = self.error.code.as_ref().and_then(serde_json::Value::as_str);
        matches!(code, Some("insufficient_quota" | "billing_hard_limit_reached"))
    }
}

fn field_in(words: &str) -> Option<Field> {
    const NAMES: [(&str, Field); 8] = [
        ("context length", Field::Length),
        ("context size", Field::Length),
        ("temperature", Field::Temperature),
        ("response_format", Field::Format),
        ("json_schema", Field::Format),
        ("grammar", Field::Format),
        ("max_completion_tokens", Field::Limit),
        ("max_tokens", Field::Limit),
    ];
    NAMES.iter().find(|(name, _)| words.contains(name)).map(|(_, field)| *field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_names_its_field_in_one_way_or_another() {
        for (body, expected) in [
            (r#"{"error": {"param": "temperature", "code": "unsupported_value"}}"#, Some(Field::Temperature)),
            (
                r#"{"error": {"message": "Use 'max_completion_tokens' instead.", "param": "max_tokens"}}"#,
                Some(Field::Limit),
            ),
            (r#"{"error": {"message": "unknown field: response_format"}}"#, Some(Field::Format)),
            (r#"{"error": {"message": "Either json_schema or grammar", "code": 400}}"#, Some(Field::Format)),
            (r#"{"error": {"code": "context_length_exceeded", "param": "messages"}}"#, Some(Field::Length)),
            (r#"{"error": {"message": "exceeds the available context size"}}"#, Some(Field::Length)),
            (r#"{"error": {"message": "no such model"}}"#, None),
            (r#"{"error": "bad"}"#, None),
            ("<html>", None),
        ] {
            assert_eq!(Complaint::read(body.as_bytes()).field(), expected, "{body}");
        }
    }

    #[test]
    fn an_empty_account_is_told_from_a_busy_server() {
        let code = |code| Complaint::read(format!(r#"{{"error": {{"code": "{code}"}}}}"#).as_bytes());
        assert!(code("insufficient_quota").is_about_credit());
        assert!(!code("rate_limit_exceeded").is_about_credit());
    }
}
