//! An app or a tool that is addressed, and that the user does not have: nothing is looked for in its place.

use std::sync::LazyLock;

use assistant::{DataTool, Step};

use super::{Turn, answer};
use crate::embedded::pattern::Pattern;
use crate::embedded::text::pattern;

/// "Ask the weather app …", "Use Weather app …".
static APP: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:use|using|ask|tell|open)\s+(?:(?:the|my)\s+)?(?P<app>[\p{L}\p{N}'&.-]+(?:\s+[\p{L}\p{N}'&.-]+){0,2}?)\s+app\b",
    )
});
static TOOL: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"(?i)^(?:use|call|run)\s+(?:the\s+)?(?:tool\s+)?(?P<tool>[\p{L}\p{N}]+(?:_[\p{L}\p{N}]+)+)")
});

/// Words that are no part of an app's name: "Tell the story of the app" and "Ask the team about app icons" name none.
const NOT_OF_A_NAME: [&str; 14] =
    ["a", "an", "the", "my", "our", "your", "this", "that", "of", "about", "for", "from", "if", "in"];

/// Stands behind the rule of apps, which answers where the app or the tool is there.
pub(super) fn step(turn: &Turn<'_>) -> Option<Step> {
    let bare = &turn.message.bare;
    if turn.message.leans {
        return None;
    }
    if let Some(found) = APP.captures(bare) {
        let name = &found["app"];
        if name.split_whitespace().any(|word| NOT_OF_A_NAME.contains(&word.to_lowercase().as_str())) {
            return None;
        }
        return Some(answer(format!(
            "There is no app \"{name}\" that I can use for you: it is not installed, or has no tools. Nothing was sent."
        )));
    }
    let tool = TOOL.captures(bare)?["tool"].to_lowercase();
    DataTool::from_name(&tool).is_none().then(|| {
        answer(format!("There is no tool \"{tool}\" in the apps that you have installed. Nothing was sent."))
    })
}
