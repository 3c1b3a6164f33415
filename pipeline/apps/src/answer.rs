//! How a tool's answer is read.

use serde_json::Value;

use crate::{Answered, Tool, ToolFailure};

/// How many characters of an app's error reach the assistant.
const MAX_ERROR: usize = 500;
/// The statuses whose `{"error": …}` are the app's own words.
const WITH_WORDS: [u16; 5] = [400, 401, 403, 404, 500];
/// What secrets begin with: ours, and those that are common elsewhere.
const SECRETS: [&str; 4] = ["lsk_", "lak_", "whsec_", "sk-"];
/// What stands for a secret.
const MASK: &str = "[…]";

/// Reads the answer of `tool`: its status and its whole body. `setup_url` is where the user connects to the app.
pub fn read_answer(tool: &Tool, status: u16, body: &[u8], setup_url: Option<&str>) -> Answered {
    match status {
        200..=299 => result(body),
        300..=399 => Answered::Failed(ToolFailure::Redirect),
        _ => match error_text(body).filter(|_| WITH_WORDS.contains(&status)) {
            Some(text) => {
                let connects = tool.auth_required && matches!(status, 401 | 403);
                let setup_url = setup_url.filter(|_| connects).map(str::to_owned);
                Answered::AppError { text, setup_url }
            }
            None => Answered::Failed(match status / 100 {
                4 => ToolFailure::Status4xx,
                5 => ToolFailure::Status5xx,
                _ => ToolFailure::Malformed,
            }),
        },
    }
}

/// Of 2xx: `result`, else `message`, else the body as text. Only an `error` is an error whatever the status says.
fn result(body: &[u8]) -> Answered {
    let Ok(text) = std::str::from_utf8(body) else { return Answered::Failed(ToolFailure::Malformed) };
    let fields = match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) | Err(_) => return Answered::Result(text.to_owned()),
    };
    let said =
        ["result", "message"].into_iter().find_map(|name| fields.get(name).filter(|value| !value.is_null()));
    match said {
        Some(Value::String(text)) => Answered::Result(text.clone()),
        Some(other) => Answered::Result(other.to_string()),
        None => match error_text(body) {
            Some(text) => Answered::AppError { text, setup_url: None },
            None => Answered::Result(text.to_owned()),
        },
    }
}

/// The app's own words in `{"error": …}`, made fit to be shown.
fn error_text(body: &[u8]) -> Option<String> {
    let fields: Value = serde_json::from_slice(body).ok()?;
    let text = fit(fields.get("error")?.as_str()?);
    (!text.is_empty()).then_some(text)
}

/// One line, without control and format characters, without secrets, at most [`MAX_ERROR`] characters. Secrets are masked
/// before the text is cut, so that no half of one is left.
pub(crate) fn fit(text: &str) -> String {
    let clean: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    let visible: String = clean.chars().filter(|letter| !is_hidden(*letter)).collect();
    let words: Vec<&str> = visible.split_whitespace().collect();
    let mut masked: Vec<String> = Vec::with_capacity(words.len());
    let mut after_bearer = false;
    for word in words {
        masked.push(if after_bearer { MASK.to_owned() } else { without_secret(word) });
        let bare = word.trim_matches(|letter: char| !letter.is_ascii_alphanumeric());
        after_bearer = bare.to_ascii_lowercase().ends_with("bearer");
    }
    masked.join(" ").chars().take(MAX_ERROR).collect()
}

/// Zero-width, direction and other characters that are there and not seen.
fn is_hidden(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}')
}

/// The word with every secret in it masked: from its prefix to the first character that no secret has.
fn without_secret(word: &str) -> String {
    let mut out = String::new();
    let mut rest = word;
    loop {
        let lower = rest.to_ascii_lowercase();
        let found = SECRETS.iter().filter_map(|prefix| {
            let at = lower.find(prefix)?;
            // `risk-free` holds `sk-`, and is a word.
            let begins = at == 0 || !lower.as_bytes().get(at - 1).is_some_and(u8::is_ascii_alphanumeric);
            begins.then_some((at, prefix.len()))
        });
        let Some((at, length)) = found.min() else {
            out.push_str(rest);
            return out;
        };
        let (before, secret) = rest.split_at(at);
        let tail = secret.get(length..).unwrap_or_default();
        let end = tail
            .find(|letter: char| !(letter.is_ascii_alphanumeric() || "_-+/=.".contains(letter)))
            .unwrap_or(tail.len());
        out.push_str(before);
        out.push_str(MASK);
        rest = tail.get(end..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn tool(auth_required: bool) -> Tool {
        let manifest = json!({ "tools": [{
            "name": "t", "description": "d", "endpoint": "https://a.example/", "auth_required": auth_required,
        }] });
        crate::check(manifest.to_string().as_bytes(), None, |_| true).unwrap().tools.remove(0)
    }

    fn read(status: u16, body: &str) -> Answered {
        read_answer(&tool(true), status, body.as_bytes(), Some("https://a.example/connect"))
    }

    fn error(text: &str) -> Answered {
        Answered::AppError { text: text.to_owned(), setup_url: None }
    }

    #[test]
    fn a_result_is_its_string_or_compact_json_or_the_whole_body() {
        let result = |text: &str| Answered::Result(text.to_owned());
        assert_eq!(read(200, r#"{"result": "done"}"#), result("done"));
        assert_eq!(read(201, r#"{"result": {"rows": [1, 2]}}"#), result(r#"{"rows":[1,2]}"#));
        assert_eq!(read(200, r#"{"message": "sent", "error": "none"}"#), result("sent"));
        assert_eq!(read(200, "plain words"), result("plain words"));
        assert_eq!(read(200, r#"{"other": 1}"#), result(r#"{"other": 1}"#));
        assert_eq!(
            read_answer(&tool(true), 200, &[0xff, 0xfe], None),
            Answered::Failed(ToolFailure::Malformed)
        );
    }

    #[test]
    fn an_error_is_the_apps_words_and_401_leads_to_its_setup_page() {
        assert_eq!(read(200, r#"{"error": "no such list"}"#), error("no such list"));
        assert_eq!(read(400, r#"{"error": "no such list"}"#), error("no such list"));
        let connect = |setup_url: Option<&str>| Answered::AppError {
            text: "Connect your account".to_owned(),
            setup_url: setup_url.map(str::to_owned),
        };
        let body = r#"{"error": "Connect your account"}"#;
        assert_eq!(read(401, body), connect(Some("https://a.example/connect")));
        assert_eq!(
            read_answer(&tool(false), 401, body.as_bytes(), Some("https://a.example/connect")),
            connect(None)
        );
    }

    #[test]
    fn anything_else_is_a_closed_code() {
        let failed = Answered::Failed;
        assert_eq!(read(307, ""), failed(ToolFailure::Redirect));
        assert_eq!(read(500, "<html>Traceback: password=1</html>"), failed(ToolFailure::Status5xx));
        assert_eq!(
            read(422, r#"{"error": "words of a status without words"}"#),
            failed(ToolFailure::Status4xx)
        );
        assert_eq!(read(502, r#"{"error": "x"}"#), failed(ToolFailure::Status5xx));
    }

    #[test]
    fn secrets_and_control_characters_in_errors_are_masked() {
        for (text, shown) in [
            ("key lsk_abcDEF123 is bad", "key […] is bad"),
            ("token=sk-proj-abc.def, sorry", "token=[…], sorry"),
            ("Authorization: Bearer eyJhbGciOi.x.y failed", "Authorization: Bearer […] failed"),
            ("a risk-free line\nand\u{0}another\u{200b}", "a risk-free line and another"),
            ("(whsec_AbC+/=)", "([…])"),
        ] {
            assert_eq!(read(400, &json!({ "error": text }).to_string()), error(shown), "{text}");
        }
        let Answered::AppError { text, .. } = read(400, &json!({ "error": "é".repeat(900) }).to_string())
        else {
            unreachable!()
        };
        assert_eq!(text.chars().count(), MAX_ERROR);
    }

    proptest! {
        #[test]
        fn no_secret_is_shown_wherever_it_stands(before in "\\PC{0,20}", after in "[ ,;)\"]?\\PC{0,20}") {
            let body = json!({ "error": format!("{before} lak_0123456789abcdefABCDEF{after}") });
            if let Answered::AppError { text, .. } = read(400, &body.to_string()) {
                prop_assert!(!text.contains("0123456789abcdef"), "{}", text);
            }
        }

        #[test]
        fn any_answer_is_read(status in 100u16..600, body: Vec<u8>) {
            let _ = read_answer(&tool(true), status, &body, None);
        }
    }
}
