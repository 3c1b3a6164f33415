//! How a tool's answer is read.

use serde_json::Value;

use crate::{Answered, Tool, ToolFailure};

/// How many characters of an app's error reach the assistant.
const MAX_ERROR: usize = 500;
/// The statuses whose `{"error": …}` are the app's own words.
const WITH_WORDS: [u16; 5] = [400, 401, 403, 404, 500];
/// What secrets begin with, in lower case: ours, and those that are common elsewhere.
const SECRETS: [&str; 20] = [
    "lsk_",
    "lak_",
    "whsec_",
    "sk-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xapp-",
    "akia",
    "aiza",
    "eyj",
    "npm_",
];
/// What secrets are called where they stand behind their names.
const NAMES: [&str; 9] =
    ["password", "passwd", "pwd", "secret", "token", "apikey", "api_key", "api-key", "access_key"];
/// A shorter value behind such a name, or one without a digit, is a word: "token: expired".
const SECRET_LENGTH: usize = 6;
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

/// Of 2xx: `result`, else `message`, else the body as text, but for pages and broken JSON. Only an `error` is an error whatever the status says.
fn result(body: &[u8]) -> Answered {
    let Ok(text) = std::str::from_utf8(body) else { return Answered::Failed(ToolFailure::Malformed) };
    let fields = match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => fields,
        // A page of a proxy, and an object that is cut off.
        Err(_) if text.trim_start().starts_with(['<', '{']) => {
            return Answered::Failed(ToolFailure::Malformed);
        }
        Ok(_) | Err(_) => return Answered::Result(visible(text)),
    };
    let said =
        ["result", "message"].into_iter().find_map(|name| fields.get(name).filter(|value| !value.is_null()));
    match said {
        Some(Value::String(text)) => Answered::Result(visible(text)),
        Some(other) => Answered::Result(visible(&other.to_string())),
        None => match error_text(body) {
            Some(text) => Answered::AppError { text, setup_url: None },
            None => Answered::Result(visible(text)),
        },
    }
}

/// The app's own words in `{"error": …}`, made fit to be shown.
fn error_text(body: &[u8]) -> Option<String> {
    let fields: Value = serde_json::from_slice(body).ok()?;
    let text = fit(fields.get("error")?.as_str()?);
    (!text.is_empty()).then_some(text)
}

/// A result as it may be shown: lines and tabs stay, other control characters and those that turn the direction of what stands behind
/// them go.
pub(crate) fn visible(text: &str) -> String {
    let turns = |letter: char| matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}');
    let stays = |letter: &char| matches!(letter, '\n' | '\t') || !(letter.is_control() || turns(*letter));
    text.chars().filter(stays).collect()
}

/// One line, without control and format characters, without secrets, at most [`MAX_ERROR`] characters. Secrets are masked
/// before the text is cut, so that no half of one is left.
pub(crate) fn fit(text: &str) -> String {
    let clean: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    let visible: String = clean.chars().filter(|letter| !is_hidden(*letter)).collect();
    let words: Vec<&str> = visible.split_whitespace().collect();
    let mut masked: Vec<String> = Vec::with_capacity(words.len());
    let (mut after_bearer, mut after_name) = (false, false);
    for word in words {
        let is_secret = after_bearer || after_name && may_be_secret(word);
        masked.push(if is_secret { MASK.to_owned() } else { without_secret(&without_values(word)) });
        let bare = word.trim_matches(|letter: char| !letter.is_ascii_alphanumeric());
        after_bearer = bare.to_ascii_lowercase().ends_with("bearer");
        after_name = word.ends_with([':', '=']) && names_secret(word);
    }
    masked.join(" ").chars().take(MAX_ERROR).collect()
}

/// Zero-width, direction and other characters that are there and not seen.
fn is_hidden(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}')
}

/// Whether a name, with quotes and the like around it, is one of a secret.
fn names_secret(name: &str) -> bool {
    let name = name.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric()).to_ascii_lowercase();
    NAMES.iter().any(|secret| name.ends_with(secret))
}

fn may_be_secret(value: &str) -> bool {
    value.chars().count() >= SECRET_LENGTH && value.contains(|letter: char| letter.is_ascii_digit())
}

/// The word without the values that stand behind names of secrets, and without the user and the password of an address.
fn without_values(word: &str) -> String {
    let part = |part: &str| match part.split_once(['=', ':']) {
        Some((name, value)) if names_secret(name) && may_be_secret(value) => {
            let separator = part.get(name.len()..=name.len()).unwrap_or_default();
            let end = if value.ends_with(['&', ';', ',']) { value.get(value.len() - 1..) } else { None };
            format!("{name}{separator}{MASK}{}", end.unwrap_or_default())
        }
        _ => part.to_owned(),
    };
    let plain: String = word.split_inclusive(['&', ';', ',']).map(part).collect();
    let Some((scheme, address)) = plain.split_once("://") else { return plain };
    let (authority, path) = address.split_at(address.find('/').unwrap_or(address.len()));
    match authority.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://{MASK}@{host}{path}"),
        None => plain,
    }
}

/// The word with every secret in it masked: from its prefix to the first character that no secret has. It is read once, because it is as
/// long as its sender makes it.
fn without_secret(word: &str) -> String {
    let lower = word.to_ascii_lowercase();
    let (mut out, mut masked_to, mut before) = (String::new(), 0, None::<char>);
    for (at, letter) in word.char_indices() {
        // `risk-free` holds `sk-`, and is a word.
        let begins = before.replace(letter).is_none_or(|one| !one.is_ascii_alphanumeric());
        let rest = lower.get(at..).filter(|_| begins && at >= masked_to).unwrap_or_default();
        if let Some(prefix) = SECRETS.iter().find(|prefix| rest.starts_with(**prefix)) {
            let tail = word.get(at + prefix.len()..).unwrap_or_default();
            let ends = |letter: char| !(letter.is_ascii_alphanumeric() || "_-+/=.".contains(letter));
            masked_to = word.len() - tail.len() + tail.find(ends).unwrap_or(tail.len());
            out.push_str(MASK);
        }
        if at >= masked_to {
            out.push(letter);
        }
    }
    out
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
    fn tool_result_is_a_string_compact_json_or_the_whole_body() {
        let result = |text: &str| Answered::Result(text.to_owned());
        assert_eq!(read(200, r#"{"result": "done"}"#), result("done"));
        assert_eq!(read(201, r#"{"result": {"rows": [1, 2]}}"#), result(r#"{"rows":[1,2]}"#));
        assert_eq!(read(200, r#"{"message": "sent", "error": "none"}"#), result("sent"));
        assert_eq!(read(200, "plain words"), result("plain words"));
        for broken in ["<html><script>alert(1)</script></html>", "{\"result\": \"half"] {
            assert_eq!(read(200, broken), Answered::Failed(ToolFailure::Malformed), "{broken}");
        }
        let hidden = json!({ "result": "a\u{0}\u{1b}[31mb\u{202e}c\r\n\td" }).to_string();
        assert_eq!(read(200, &hidden), result("a[31mbc\n\td"));
        assert_eq!(read(200, "{\"result\": [\"a\u{202e}b\"]}"), result(r#"["ab"]"#));
        assert_eq!(read(200, "{\"other\": \"a\u{202e}b\"}"), result(r#"{"other": "ab"}"#));
        assert_eq!(read(200, r#"{"other": 1}"#), result(r#"{"other": 1}"#));
        assert_eq!(
            read_answer(&tool(true), 200, &[0xff, 0xfe], None),
            Answered::Failed(ToolFailure::Malformed)
        );
    }

    #[test]
    fn tool_error_is_the_apps_text_and_401_names_its_setup_page() {
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
    fn tool_answer_of_another_form_is_a_fixed_code() {
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
    fn tool_error_masks_secrets_and_control_characters() {
        for (text, shown) in [
            ("key lsk_abcDEF123 is bad", "key […] is bad"),
            ("token=sk-proj-abc.def, sorry", "token=[…], sorry"),
            ("Authorization: Bearer eyJhbGciOi.x.y failed", "Authorization: Bearer […] failed"),
            ("a risk-free line\nand\u{0}another\u{200b}", "a risk-free line and another"),
            ("(whsec_AbC+/=)", "([…])"),
            ("ghp_16C7e42F292c and AKIAIOSFODNN7EXAMPLE, eyJhbGciOi.e30.x", "[…] and […], […]"),
            ("password=hunter22 api_key: 42424242", "password=[…] api_key: […]"),
            ("GET https://a.example/?q=1&token=abc123&x=2", "GET https://a.example/?q=1&token=[…]&x=2"),
            ("https://ann:pw@host/x or https://host/@ann", "https://[…]@host/x or https://host/@ann"),
            ("postgres://ann:p@ss@host/x?a=b@c", "postgres://[…]@host/x?a=b@c"),
            ("token: expired, password: too short", "token: expired, password: too short"),
            ("task-id=5,key=sk-proj-abc was refused", "task-id=5,key=[…] was refused"),
            ("lsk_a1,lsk_b2,risk-lsk_c3;é:AKIA9", "[…],[…],risk-[…];é:[…]"),
        ] {
            assert_eq!(read(400, &json!({ "error": text }).to_string()), error(shown), "{text}");
        }
        // As much as is read of an answer, in one word: a process that looked at it secret by secret did nothing else for seconds.
        let many = json!({ "error": "sk-;".repeat(16_000) }).to_string();
        assert_eq!(read(400, &many), error(&"[…];".repeat(MAX_ERROR / 4)));
        let Answered::AppError { text, .. } = read(400, &json!({ "error": "é".repeat(900) }).to_string())
        else {
            unreachable!()
        };
        assert_eq!(text.chars().count(), MAX_ERROR);
    }

    proptest! {
        #[test]
        fn tool_error_masks_secrets_at_any_position(before in "\\PC{0,20}", after in "[ ,;)\"]?\\PC{0,20}") {
            let body = json!({ "error": format!("{before} lak_0123456789abcdefABCDEF{after}") });
            if let Answered::AppError { text, .. } = read(400, &body.to_string()) {
                prop_assert!(!text.contains("0123456789abcdef"), "{}", text);
            }
        }

        #[test]
        fn fuzz_any_tool_answer_is_read(status in 100u16..600, body: Vec<u8>) {
            let _ = read_answer(&tool(true), status, &body, None);
        }
    }
}
