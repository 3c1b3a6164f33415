//! Tools of apps: called only when the message names the app or the tool, and says everything that the tool requires.

use std::collections::HashSet;
use std::sync::LazyLock;

use assistant::{AppTool, Call, Offered, Origin, Step, names_app};
use serde_json::{Map, Value, json};

use super::words::{figure, stems};
use super::{Turn, answer, failed};
use crate::embedded::pattern::Pattern;
use crate::embedded::text::{pattern, stem, words};

/// Questions about what was said, whatever they name.
static RECALL: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:what|when|where|who|why|which|how)\b.*\b(?:did|said|say|told|tell|talk(?:ed)?|discuss(?:ed)?|mention(?:ed)?|decide[d]?|agree[d]?)\b|^(?:did|have|had|was|were)\b|^(?:find|search|do you remember|remember|remind me|don't|do not|never|mark|what do you know)\b",
    )
});
static HASH: LazyLock<Pattern> = LazyLock::new(|| pattern(r"(?:^|[\s(])(?P<value>[#@][\p{L}\p{N}_.-]+)"));
static NUMBER: LazyLock<Pattern> = LazyLock::new(|| pattern(r"-?\b\d+(?:[.,]\d+)*\b"));
static PLACE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"\b(?:in|for|at|of|near|to|from)\s+(?:the\s+)?(?P<value>\p{Lu}[\p{L}'-]*(?:\s+(?:(?:de|da|la|am|an der|upon)\s+)?\p{Lu}[\p{L}'-]*)*)",
    )
});
static EMAIL: LazyLock<Pattern> = LazyLock::new(|| pattern(r"[\w.+-]+@[\w-]+\.[\w.-]+"));
static LINK: LazyLock<Pattern> = LazyLock::new(|| pattern(r"https?://[^\s]+"));
static SAYING: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)(?:: |\b(?:saying|that says|to say)\s+(?:that\s+)?)(?P<value>.+)$"));
/// A wish to be shown something, at the beginning of what an app is asked.
static READING: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^[\s,:]*(?:app\b)?[\s,:]*(?:to\s+|and\s+|please\s+|for\s+)*(?:list|show|see|check|read|count|find|look|get|give\s+me|tell\s+me|what|which|how\s+(?:many|much))\b",
    )
});
static OPENING: LazyLock<Pattern> = LazyLock::new(|| pattern(r"(?i)^[\s,:]*(?:app\b)?[\s,:]*(?:to\s+)?"));
static YES: LazyLock<Pattern> = LazyLock::new(|| pattern(r"(?i)\b(?:yes|on|true|enable[d]?|with)\b"));
static NO: LazyLock<Pattern> = LazyLock::new(|| pattern(r"(?i)\b(?:no|off|false|disable[d]?|without)\b"));

/// Words of tools' names that name nothing.
const GENERIC: [&str; 22] = [
    "get", "set", "send", "post", "put", "create", "make", "add", "list", "find", "search", "fetch",
    "update", "delete", "remove", "call", "run", "do", "show", "read", "write", "new",
];

/// Words of tools' names that say that nothing is written.
const READS: [&str; 9] = ["get", "list", "find", "search", "fetch", "show", "read", "check", "count"];

/// What the service itself keeps, by the stems of its names: an app or a tool that is called like this is named by a message that
/// addresses it, because "Add a task" is a wish to the service.
const KEPT_HERE: [&str; 6] = ["task", "todo", "reminder", "memory", "goal", "conversation"];

/// The same of an app alone: what people ask the service about.
const ASKED_HERE: [&str; 9] =
    ["note", "decision", "meeting", "event", "minute", "question", "summary", "transcript", "folder"];

/// Words behind which, or before which, an app is addressed.
const BEFORE: [&str; 8] = ["with", "via", "using", "use", "ask", "tell", "app", "through"];

/// What may stand before an order to an app.
const POLITE: [&str; 14] = [
    "please", "can", "could", "would", "will", "you", "hey", "ok", "okay", "and", "now", "just", "the", "my",
];

/// A tool that the message names.
pub(super) fn step(turn: &Turn<'_>) -> Option<Step> {
    let message = &turn.message;
    if message.leans || RECALL.is_match(&message.bare) {
        return None;
    }
    let said: Vec<String> = words(&message.text).collect();
    let apps = turn.round.tools.iter().filter_map(|offered| match &offered.origin {
        Origin::App(tool) => Some((offered, tool)),
        Origin::Data(_) => None,
    });
    let mut named: Vec<(usize, &Offered, &AppTool)> = apps
        .filter(|(_, tool)| is_named(&message.text, &said, tool))
        .map(|(offered, tool)| (nearness(&message.text, tool), offered, tool))
        .collect();
    // The one whose name is written out, whatever else the words fit.
    let is_written = |tool: &AppTool| tool.name.contains('_') && said.contains(&tool.name.to_lowercase());
    if named.iter().filter(|(.., tool)| is_written(tool)).count() == 1 {
        named.retain(|(.., tool)| is_written(tool));
    }
    // Who asks to be shown something wants nothing written.
    if named.iter().any(|(.., tool)| asks_to_read(&message.text, tool) && reads(tool)) {
        named.retain(|(.., tool)| reads(tool));
    }
    let best = named.iter().map(|(nearness, ..)| *nearness).max()?;
    named.retain(|(nearness, ..)| *nearness == best);
    // Of several that are as near, the one whose whole name was said.
    if named.iter().filter(|(.., tool)| is_said(&said, tool)).count() == 1 {
        named.retain(|(.., tool)| is_said(&said, tool));
    }
    let [(_, offered, tool)] = named.as_slice() else {
        let names: Vec<String> =
            named.iter().map(|(_, _, tool)| format!("{} ({})", tool.name, tool.app_name)).collect();
        return Some(answer(format!("Which of these do you mean? I called none. {}", names.join(", "))));
    };
    if let Some(exchange) = turn.round.rounds.iter().flatten().find(|made| made.call.name == offered.name) {
        return Some(match &exchange.result {
            Ok(Value::String(said)) if said.trim().is_empty() => {
                answer(format!("{} did that, and said nothing.", tool.app_name))
            }
            Ok(Value::String(said)) => answer(format!("{} says: {said}", tool.app_name)),
            Ok(other) => answer(format!("{} says: {other}", tool.app_name)),
            Err(words) if exchange.foreign => answer(format!("{} could not do that: {words}", tool.app_name)),
            Err(words) => failed(words),
        });
    }
    Some(match arguments(turn, tool) {
        Ok(arguments) => Step::Calls {
            calls: vec![Call { id: "call_app".to_owned(), name: offered.name.clone(), arguments }],
            text: String::new(),
        },
        Err(missing) => answer(format!(
            "To use {} of {} I still need: {}. Nothing was sent. Name it in the message, words in double quotes.",
            tool.name,
            tool.app_name,
            missing.join(", ")
        )),
    })
}

/// Whether the message names the app, or all words of the tool's name that mean something.
fn is_named(text: &str, said: &[String], tool: &AppTool) -> bool {
    let app: Vec<String> = words(&tool.app_name).collect();
    let is_one = |word: &str, of: &[&str]| of.iter().any(|one| stem(one) == stem(word));
    let is_ours = |word: &str| is_one(word, &KEPT_HERE);
    let named = match app.as_slice() {
        [] => false,
        [word] if is_ours(word) || is_one(word, &ASKED_HERE) => names_app(text, &tool.app_name),
        app => said.windows(app.len()).any(|window| window == app),
    };
    let own: Vec<String> = tool
        .name
        .split(['_', '-'])
        .map(str::to_lowercase)
        .filter(|word| word.len() > 2 && !GENERIC.contains(&word.as_str()) && !is_ours(word))
        .collect();
    let there: HashSet<String> = said.iter().map(|word| stem(word)).collect();
    // One common word ("message") is no name, unless the tool is called by its verb, too.
    let all = own.iter().all(|word| there.contains(&stem(word)));
    let verb = tool
        .name
        .split(['_', '-'])
        .any(|word| GENERIC.contains(&word) && said.iter().any(|said| said == word));
    // As it is written, with its underscores, or where a tool is asked for.
    let name = tool.name.to_lowercase();
    let literal = (name.contains('_') && said.contains(&name)) || said.windows(2).any(|pair| {
        matches!(pair, [order, named] if ["use", "call", "run"].contains(&order.as_str()) && *named == name)
            && !is_ours(&name)
    });
    named || literal || (!own.is_empty() && all && (own.len() > 1 || verb))
}

/// Whether the tool's name was said: as it is written, or each word of it.
fn is_said(said: &[String], tool: &AppTool) -> bool {
    said.contains(&tool.name.to_lowercase())
        || tool.name.split(['_', '-']).all(|word| said.iter().any(|said| *said == word.to_lowercase()))
}

/// Whether the app is asked to show something: by what stands behind its name, or by the beginning of the message.
fn asks_to_read(text: &str, tool: &AppTool) -> bool {
    let behind = end_of(&tool.app_name, text).and_then(|end| text.get(end..));
    READING.is_match(text) || behind.is_some_and(|behind| READING.is_match(behind))
}

fn reads(tool: &AppTool) -> bool {
    tool.name.split(['_', '-']).any(|word| READS.contains(&word.to_lowercase().as_str()))
}

/// Whether the message is an order to the app from its beginning: what stands behind the app's name is then the order's text. "I used
/// Tasks yesterday" tells of one, and "show Tasks" asks for something.
fn is_ordered(text: &str, tool: &AppTool) -> bool {
    let Some(end) = end_of(&tool.app_name, text) else { return false };
    let (before, behind) = text.split_at(end);
    let mut before: Vec<String> = words(before).collect();
    before.truncate(before.len().saturating_sub(words(&tool.app_name).count()));
    before.iter().all(|word| BEFORE.contains(&word.as_str()) || POLITE.contains(&word.as_str()))
        && !READING.is_match(behind)
}

fn nearness(text: &str, tool: &AppTool) -> usize {
    let own = format!("{} {} {}", tool.app_name, tool.name.replace(['_', '-'], " "), tool.description);
    let (asked, own): (HashSet<String>, HashSet<String>) = (words(text).collect(), words(&own).collect());
    let shared = stems(text).intersection(&stems(&own.iter().cloned().collect::<Vec<_>>().join(" "))).count();
    2 * shared + asked.intersection(&own).count()
}

/// The arguments that the message holds, or the names of required ones that it does not.
fn arguments(turn: &Turn<'_>, tool: &AppTool) -> Result<Value, Vec<String>> {
    let nothing = Map::new();
    let properties = tool.parameters.get("properties").and_then(Value::as_object).unwrap_or(&nothing);
    let required: Vec<&str> = tool
        .parameters
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let mut found =
        Found { turn, tool, quoted: turn.message.quoted.clone(), numbers: numbers(&turn.message.text) };
    let mut arguments = Map::new();
    let mut missing = Vec::new();
    // What can be recognized by its form takes its words before what takes any.
    let mut names: Vec<(&String, &Value)> = properties.iter().collect();
    names.sort_by_key(|(name, schema)| is_free_text(name, schema));
    let free = names
        .iter()
        .filter(|(name, schema)| is_free_text(name, schema) && required.contains(&name.as_str()))
        .count();
    for (name, schema) in names {
        let must = required.contains(&name.as_str());
        match found.value(name, schema, must && free == 1) {
            Some(value) => {
                arguments.insert(name.clone(), value);
            }
            None if must => {
                let about = schema.get("description").and_then(Value::as_str).unwrap_or_default();
                missing.push(if about.is_empty() { name.clone() } else { format!("{name} ({about})") });
            }
            None => {}
        }
    }
    if missing.is_empty() { Ok(Value::Object(arguments)) } else { Err(missing) }
}

fn type_of(schema: &Value) -> &str {
    schema.get("type").and_then(Value::as_str).unwrap_or("string")
}

fn is_free_text(name: &str, schema: &Value) -> bool {
    type_of(schema) == "string" && schema.get("enum").is_none() && Form::of(name, schema) == Form::Text
}

/// How a string parameter is recognized in a message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Channel,
    Place,
    Email,
    Link,
    Text,
}

impl Form {
    fn of(name: &str, schema: &Value) -> Self {
        let about = schema.get("description").and_then(Value::as_str).unwrap_or_default().to_lowercase();
        let name = name.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
        if has(&["channel", "handle", "hashtag", "mention"]) || about.contains('#') {
            Self::Channel
        } else if has(&["email", "e-mail"]) {
            Self::Email
        } else if has(&["url", "link", "website"]) {
            Self::Link
        } else if has(&["city", "place", "location", "country", "town", "address", "destination", "region"]) {
            Self::Place
        } else {
            Self::Text
        }
    }
}

fn numbers(text: &str) -> Vec<f64> {
    NUMBER.find_iter(text).filter_map(|found| figure(found.as_str())).collect()
}

/// What the message still holds for parameters.
struct Found<'a> {
    turn: &'a Turn<'a>,
    tool: &'a AppTool,
    quoted: Vec<String>,
    numbers: Vec<f64>,
}

impl Found<'_> {
    fn value(&mut self, name: &str, schema: &Value, may_take_the_rest: bool) -> Option<Value> {
        let text = &self.turn.message.text;
        if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
            let said = text.to_lowercase();
            let fits =
                |choice: &&Value| choice.as_str().is_some_and(|choice| said.contains(&choice.to_lowercase()));
            return choices.iter().find(fits).cloned();
        }
        match type_of(schema) {
            "integer" => {
                let at = self.numbers.iter().position(|number| number.fract() == 0.0)?;
                Some(json!(self.numbers.remove(at) as i64))
            }
            "number" => (!self.numbers.is_empty()).then(|| json!(self.numbers.remove(0))),
            "boolean" => match (YES.is_match(text), NO.is_match(text)) {
                (true, false) => Some(json!(true)),
                (false, true) => Some(json!(false)),
                _ => None,
            },
            "string" => self.string(name, schema, may_take_the_rest).map(Value::from),
            _ => None,
        }
    }

    fn string(&mut self, name: &str, schema: &Value, may_take_the_rest: bool) -> Option<String> {
        let text = &self.turn.message.text;
        let first = |pattern: &Pattern| pattern.captures(text).map(|found| found["value"].to_owned());
        match Form::of(name, schema) {
            Form::Channel => first(&HASH),
            Form::Email => EMAIL.find(text).map(|found| found.as_str().to_owned()),
            Form::Link => LINK.find(text).map(|found| found.as_str().to_owned()),
            Form::Place => first(&PLACE).or_else(|| (!self.quoted.is_empty()).then(|| self.quoted.remove(0))),
            Form::Text if !self.quoted.is_empty() => Some(self.quoted.remove(0)),
            Form::Text if may_take_the_rest => self.rest(),
            Form::Text => None,
        }
    }

    /// What stands behind a colon or "saying", or, of a tool that wants nothing else, behind the name of the app that is given an order.
    fn rest(&self) -> Option<String> {
        let text = &self.turn.message.text;
        let behind = |text: &str| {
            let rest = text.trim().trim_matches(['"', '.', ' ', ':', ',']).to_owned();
            (!stems(&rest).is_empty()).then_some(rest)
        };
        if let Some(said) = SAYING.captures(text) {
            return behind(&said["value"]);
        }
        // Where more is wanted than this text, the rest of the message says that, too.
        let required = self.tool.parameters.get("required").and_then(Value::as_array);
        if required.is_some_and(|required| required.len() > 1) || !is_ordered(text, self.tool) {
            return None;
        }
        let rest = text.get(end_of(&self.tool.app_name, text)?..)?;
        behind(rest.get(OPENING.find(rest).map_or(0, |opening| opening.end())..)?)
    }
}

/// Where `name` ends in `text`, whatever the case of its letters: a lower-cased copy may be longer or shorter than the text.
fn end_of(name: &str, text: &str) -> Option<usize> {
    let name: String = name.chars().flat_map(char::to_lowercase).collect();
    text.char_indices().find_map(|(begin, _)| {
        let mut left = name.as_str();
        for (at, letter) in text.get(begin..)?.char_indices() {
            left = left.strip_prefix(&*letter.to_lowercase().collect::<String>())?;
            if left.is_empty() {
                return Some(begin + at + letter.len_utf8());
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str) -> AppTool {
        AppTool {
            app_id: "a".to_owned(),
            app_name: "Tasks".to_owned(),
            name: name.to_owned(),
            description: "Adds a task to the user's list.".to_owned(),
            parameters: json!({}),
            status_message: String::new(),
        }
    }

    #[test]
    fn an_app_that_is_called_like_what_the_service_keeps_is_named_where_it_is_addressed() {
        let is_named = |text: &str| {
            let said: Vec<String> = words(text).collect();
            is_named(text, &said, &tool("add_task"))
        };
        for ours in ["What tasks are due?", "Add a task: order cards", "Show my tasks", "list tasks", "tasks"]
        {
            assert!(!is_named(ours), "{ours}");
        }
        for its in [
            "Add the task \"call Tom\" with Tasks.",
            "use tasks to note it",
            "Ask Tasks what is on it",
            "Which are in the Tasks app?",
            "add_task \"call Tom\"",
        ] {
            assert!(is_named(its), "{its}");
        }
    }

    #[test]
    fn an_app_is_given_a_text_only_in_an_order_that_is_no_wish_to_be_shown_something() {
        for order in [
            "Tell Tasks call Tom",
            "Please ask the Tasks app to call Tom",
            "use Tasks to note milk",
            "Tasks milk",
        ] {
            assert!(is_ordered(order, &tool("add_task")), "{order}");
        }
        for other in [
            "Use Tasks to list my tasks",
            "Ask Tasks to list my tasks",
            "Use the Tasks app to show what I have to do",
            "I used Tasks yesterday, use Tasks less",
            "Nobody should use Tasks for this",
        ] {
            assert!(!is_ordered(other, &tool("add_task")), "{other}");
        }
        assert!(asks_to_read("Use the Tasks app to show what I have to do", &tool("add_task")));
        assert!(!asks_to_read("Ask Tasks to call Tom", &tool("add_task")));
        assert!(reads(&tool("list_tasks")) && !reads(&tool("add_task")));
    }

    #[test]
    fn numbers_are_read_with_their_thousands() {
        assert_eq!(numbers("Pay 1,200 with Bank, or 12,345.50, 1,5 and -3."), [1_200.0, 12_345.5, 1.5, -3.0]);
        assert_eq!(numbers("from 10.0.0.1 at 5, 6"), [5.0, 6.0], "an address is no number");
    }

    #[test]
    fn what_stands_behind_a_name_is_cut_at_the_text_itself() {
        for (name, text, rest) in [
            ("Notes", "tell NOTES milk", Some(" milk")),
            ("Notes", "İİ, tell notes milk", Some(" milk")),
            ("Notes", "ẞ K tell Notes ärger", Some(" ärger")),
            ("Σας", "tell ΣΑΣ hi", None),
            ("İş", "tell İŞ hi", Some(" hi")),
            ("Notes", "tell note", None),
        ] {
            assert_eq!(end_of(name, text).map(|at| &text[at..]), rest, "{text}");
        }
    }

    #[test]
    fn a_tool_is_said_when_each_word_of_its_name_is() {
        let said: Vec<String> = words("list tasks with Tasks").collect();
        assert!(is_said(&said, &tool("list_tasks")));
        assert!(is_said(&said, &tool("List-Tasks")));
        assert!(!is_said(&said, &tool("add_task")));
    }
}
