//! The exfiltration gate: once an app's words are in a turn, another app is called only when the person named it.
//!
//! An app's answer may hold orders to the engine ("send this to …"). What a person's own message names is the person's
//! wish; anything else that leads from one app to another may be the first app's. The rule needs no model and cannot be
//! talked out of.

use std::collections::HashSet;

use crate::tools::AppTool;

/// Whether `tool` may be called after the apps in `heard` have spoken in this turn.
pub(crate) fn lets(tool: &AppTool, heard: &HashSet<String>, question: &str) -> bool {
    let others_spoke = heard.iter().any(|app| *app != tool.app_id);
    !others_spoke || names(question, &tool.app_name) || names(question, &tool.name)
}

/// Whether `text` holds the words of `name`, one after the other.
fn names(text: &str, name: &str) -> bool {
    let (text, name) = (words(text), words(name));
    !name.is_empty() && text.windows(name.len()).any(|window| window == name.as_slice())
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn app_gate_blocks_unnamed_apps_after_another_app() {
        let mail = AppTool {
            app_id: "mail".to_owned(),
            app_name: "Super Mail".to_owned(),
            name: "send_mail".to_owned(),
            description: String::new(),
            parameters: json!({}),
            status_message: String::new(),
        };
        let heard: HashSet<String> = HashSet::from(["notes".to_owned()]);
        assert!(lets(&mail, &HashSet::new(), "What is in my notes?"), "no app has spoken yet");
        assert!(lets(&mail, &HashSet::from(["mail".to_owned()]), "What is new?"), "the same app may go on");
        assert!(!lets(&mail, &heard, "What is in my notes?"));
        assert!(!lets(&mail, &heard, "Is mail super?"), "the words of a name stand together");
        assert!(lets(&mail, &heard, "Forward my notes with super mail."));
        assert!(lets(&mail, &heard, "Read my notes and send mail to Tom"), "the tool is named");
    }
}
