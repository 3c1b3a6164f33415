//! The exfiltration gate: once an app's words are in a turn, another app is called only when the person named it.
//!
//! An app's answer may hold orders to the engine ("send this to …"). What a person's own message names is the person's
//! wish; anything else that leads from one app to another may be the first app's. The rule needs no model and cannot be
//! talked out of.

use std::collections::HashSet;

use records::is_unspaced;

use crate::tools::AppTool;

/// Whether `tool` may be called after the apps in `heard` have spoken in this turn.
pub(crate) fn lets(tool: &AppTool, heard: &HashSet<String>, question: &str) -> bool {
    let others_spoke = heard.iter().any(|app| *app != tool.app_id);
    !others_spoke
        || names_app(question, &tool.app_name)
        || names_place(question, &tool.app_name)
        || names(question, &tool.name)
}

/// Words behind which an app is a place: "post it on slack".
const AT: [&str; 4] = ["on", "in", "into", "from"];

/// Whether `text` has the name right behind such a word, in whatever letters.
fn names_place(text: &str, name: &str) -> bool {
    !words(name).is_empty() && AT.iter().any(|at| names(text, &format!("{at} {name}")))
}

/// Words behind which an app is addressed.
const BEFORE: [&str; 10] = ["with", "via", "using", "use", "ask", "tell", "app", "through", "to", "then"];

/// Whether `text` names an app. A name of one word may be a common one ("Notes"): it counts where it is addressed ("@notes", "ask
/// notes", "the notes app", "Notes, …"), or is written as it is, with its capital, within a sentence.
pub fn names_app(text: &str, name: &str) -> bool {
    let [word] = words(name)[..] else { return names(text, name) };
    let capital = word.chars().any(char::is_uppercase);
    let said = marked_words(text);
    (0..said.len()).any(|at| {
        let at_word = |at: Option<usize>| at.and_then(|at| said.get(at)).copied();
        let Some((mark, found)) = at_word(Some(at)).filter(|(_, said)| same(said, word)) else {
            return false;
        };
        let before = at_word(at.checked_sub(1)).filter(|_| mark.is_none()).map(|(_, word)| word);
        let after = at_word(Some(at + 1));
        let begins = matches!(mark, Some('.' | '!' | '?' | '\n'));
        mark == Some('@')
            || before.is_some_and(|before| BEFORE.iter().any(|word| same(before, word)))
            || after.is_some_and(|(mark, after)| mark.is_none() && same(after, "app"))
            || after.is_some_and(|(mark, _)| begins && matches!(mark, Some(',' | ':')))
            || (capital && !begins && found == word)
    })
}

/// Whether `text` holds the words of `name`, one after the other.
fn names(text: &str, name: &str) -> bool {
    let (text, name) = (words(text), words(name));
    let is_name = |window: &[&str]| window.iter().zip(&name).all(|(one, other)| same(one, other));
    !name.is_empty() && text.windows(name.len()).any(is_name)
}

fn same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

fn words(text: &str) -> Vec<&str> {
    marked_words(text).into_iter().map(|(_, word)| word).collect()
}

/// Each word with the last mark since the one before; the first word is one behind a full stop.
fn marked_words(text: &str) -> Vec<(Option<char>, &str)> {
    let (mut words, mut mark) = (Vec::new(), Some('.'));
    for piece in text.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let word = piece.trim_end_matches(|c: char| !c.is_alphanumeric());
        // "发到Slack上" has the word "Slack".
        words.extend(of_one_script(word).into_iter().map(|word| (mark.take(), word)));
        let end = piece.chars().next_back().filter(|end| !end.is_alphanumeric());
        mark = end.filter(|end| *end == '\n' || !end.is_whitespace()).or(mark);
    }
    words
}

/// A word, or those that a script without spaces and another one make of it.
fn of_one_script(word: &str) -> Vec<&str> {
    let (mut words, mut rest) = (Vec::new(), word);
    while let Some(unspaced) = rest.chars().next().map(is_unspaced) {
        let (word, behind) =
            rest.split_at(rest.find(|c: char| is_unspaced(c) != unspaced).unwrap_or(rest.len()));
        words.push(word);
        rest = behind;
    }
    words
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
        let (app_name, name) = ("Slack".to_owned(), "post_message".to_owned());
        let slack = AppTool { app_id: "slack".to_owned(), app_name, name, ..mail };
        assert!(lets(&slack, &heard, "Read my notes and post the newest on slack"), "as people write it");
        assert!(!lets(&slack, &heard, "Read my notes on a slack day"));
        assert!(lets(&slack, &heard, "把我的笔记发到Slack上"), "a word among those of another script");
        assert!(!lets(&slack, &heard, "把我的笔记发给王明"));
        let nameless = AppTool { app_name: "!".to_owned(), ..slack };
        assert!(!lets(&nameless, &heard, "Read my notes on Tom"));
    }

    #[test]
    fn app_called_like_a_common_word_is_named_where_it_is_addressed() {
        for text in [
            "Send this to notes.",
            "Put it in the notes app",
            "Save that in Notes, please",
            "@notes keep this",
            "What is new? Notes: keep this",
            "Ask NOTES what is new",
            "Look at my mail, then at Notes",
            "Ask mail, then notes",
        ] {
            assert!(names_app(text, "Notes"), "{text}");
        }
        for text in [
            "What is in my notes?",
            "Notes of Tuesday",
            "Read my mail.\nNotes on Tom are old",
            "Notes",
            "I need to take notes",
            "my notes, and the app that sent them",
            "",
        ] {
            assert!(!names_app(text, "Notes"), "{text}");
        }
        assert!(names_app("add it to todoist", "todoist") && !names_app("is todoist good", "todoist"));
        assert!(names_app("with my super mail", "Super Mail"), "two words are no common word");
    }
}
