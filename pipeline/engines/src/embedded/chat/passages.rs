//! Everything else is searched for: the best passages, word for word, or that nothing was found.

use std::collections::HashSet;
use std::sync::LazyLock;

use assistant::{DataTool, Step};
use records::is_unspaced;
use serde_json::{Map, Value, json};

use super::words::{day_of, due_of, moment, share, stamp, stems};
use super::{Turn, answer, failed, listed, quoting, text};
use crate::embedded::dates::ranges::Direction;
use crate::embedded::pattern::Pattern;
use crate::embedded::text::{is_content, pattern, shortened, words};

/// Words of a question that say what is to be done with what is found.
static ASKING: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:find|search(?: for)?|look (?:up|for)|show|list|tell|explain|remember|remind|recall|conversations?|talk(?:ed|s|ing)?|chat(?:ted|s)?|discuss(?:ed|ion|ions)?|mention(?:ed|s)?|spoke|went|saw|see|seen|anything|everything|question|answer|details?|information|info|please|exactly)\b",
    )
});

/// Of the words of a question this part must stand in a passage.
const ENOUGH: f64 = 0.5;
/// How many things an answer quotes.
const QUOTED: usize = 5;
/// The characters of a quotation.
const LENGTH: usize = 300;

/// What is wanted: words that stand together, or words of content.
struct Wanted {
    query: String,
    stems: HashSet<String>,
    phrases: Vec<String>,
    /// The phrases are all that stands together in a script without spaces: the search knows parts of them.
    unspaced: bool,
}

pub(super) fn step(turn: &Turn<'_>) -> Step {
    let wanted = wanted(turn);
    if wanted.query.is_empty() {
        return answer(
            "I do not know what to look for. Ask about something by name, for example \"What did Priya say about the \
             budget?\", or ask \"What can you do?\".",
        );
    }
    match turn.result(DataTool::Search) {
        None => turn.call(DataTool::Search, arguments(turn, &wanted)),
        Some(Ok(result)) => summary(turn, &wanted, &listed(result, "results")),
        Some(Err(words)) => failed(words),
    }
}

fn wanted(turn: &Turn<'_>) -> Wanted {
    let message = &turn.message;
    if !message.quoted.is_empty() {
        let phrases: Vec<String> = message.quoted.clone();
        let query = phrases.iter().map(|phrase| format!("\"{phrase}\"")).collect::<Vec<_>>().join(" ");
        return Wanted { query, stems: stems(&phrases.join(" ")), phrases, unspaced: false };
    }
    let mut rest = message.bare.clone();
    if let Some(span) = message.reference(turn.round.context).span(&rest, Direction::Past) {
        rest.replace_range(span.named, " ");
    }
    let topic = ASKING.replace_all(&rest, " ").into_owned();
    let unspaced = topic.split(|letter| !is_unspaced(letter)).filter(|run| !run.is_empty());
    let phrases: Vec<String> = unspaced.map(str::to_owned).collect();
    if !phrases.is_empty() {
        let others = topic.split(is_unspaced).flat_map(words).filter(|word| is_content(word));
        let query: Vec<String> = phrases.iter().cloned().chain(others).collect();
        return Wanted { query: query.join(" "), stems: stems(&topic), phrases, unspaced: true };
    }
    let topic = if stems(&topic).is_empty() { rest } else { topic };
    let stems = stems(&topic);
    // The words themselves and not their stems: the database has stems of its own.
    let mut seen = HashSet::new();
    let kept = words(&topic)
        .filter(|word| stems.contains(&crate::embedded::text::stem(word)) && seen.insert(word.clone()));
    let query = kept.take(12).collect::<Vec<_>>().join(" ");
    Wanted { query, stems, phrases: Vec::new(), unspaced: false }
}

fn arguments(turn: &Turn<'_>, wanted: &Wanted) -> Value {
    let mut arguments = Map::from_iter([
        ("query".to_owned(), json!(shortened(&wanted.query, 500))),
        ("limit".to_owned(), json!(10)),
    ]);
    if let Some(span) = turn.message.span(turn.round.context, Direction::Past) {
        arguments.insert("start_date".to_owned(), json!(stamp(span.start)));
        arguments.insert("end_date".to_owned(), json!(stamp(span.end)));
    }
    Value::Object(arguments)
}

fn summary(turn: &Turn<'_>, wanted: &Wanted, results: &[&Value]) -> Step {
    // The index knows more forms of words, and words that are not shown.
    let rate = |result: &Value| match result.get("complete") {
        Some(Value::Bool(true)) => 1.0,
        _ => share(&wanted.stems, &whole(result)),
    };
    let rated = results.iter().map(|result| (rate(result), *result));
    let mut enough: Vec<(f64, &Value)> = rated.filter(|(share, _)| *share >= ENOUGH).collect();
    if !wanted.phrases.is_empty() {
        let complete = |result: &Value| result.get("complete") == Some(&Value::Bool(true));
        let only_complete = wanted.unspaced && results.iter().any(|result| complete(result));
        let fits = |result: &&&Value| !only_complete || complete(result);
        enough = results.iter().filter(fits).map(|result| (1.0, *result)).collect();
    }
    // What has all the words leaves out what has only some.
    let best = enough.iter().map(|(share, _)| *share).fold(0.0, f64::max);
    enough.retain(|(share, _)| *share >= best - 0.34);
    enough.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    if enough.is_empty() {
        return answer(format!("I found nothing about {}.", subject(wanted)));
    }
    let mut lines = String::new();
    let mut ids = Vec::new();
    for (_, result) in enough.into_iter().take(QUOTED) {
        lines.push_str(&quotation(turn, wanted, result));
        ids.push(text(result, "id").to_owned());
    }
    quoting(format!("This is what I found:\n{lines}"), ids)
}

fn subject(wanted: &Wanted) -> String {
    match wanted.phrases.as_slice() {
        [] => format!("\"{}\"", wanted.query),
        phrases => phrases.iter().map(|phrase| format!("\"{phrase}\"")).collect::<Vec<_>>().join(" and "),
    }
}

fn whole(result: &Value) -> String {
    format!("{} {}", text(result, "title"), text(result, "text"))
}

fn quotation(turn: &Turn<'_>, wanted: &Wanted, result: &Value) -> String {
    let context = turn.round.context;
    let when = moment(result, "created_at").map(|at| day_of(at, context)).unwrap_or_default();
    match text(result, "kind") {
        "memory" => format!("- Remembered: {}\n", text(result, "text")),
        "action_item" => {
            let due = moment(result, "due_at").map(|at| format!(", due {}", due_of(at, context)));
            let state = if result.get("completed") == Some(&Value::Bool(true)) { "done" } else { "open" };
            format!("- Task ({state}{}): {}\n", due.unwrap_or_default(), text(result, "text"))
        }
        _ => {
            let title = match text(result, "title") {
                "" => "Untitled",
                title => title,
            };
            format!("- {title} ({when}): \"{}\"\n", excerpt(wanted, text(result, "text"), title))
        }
    }
}

/// The line of a passage that has most of the words, and the one behind it where there is room.
fn excerpt(wanted: &Wanted, passage: &str, title: &str) -> String {
    let lines: Vec<&str> =
        passage.lines().map(str::trim).filter(|line| !line.is_empty() && *line != title).collect();
    let rate = |line: &str| {
        let phrase = wanted.phrases.iter().any(|phrase| line.to_lowercase().contains(&phrase.to_lowercase()));
        share(&wanted.stems, line) + f64::from(u8::from(phrase))
    };
    let best = lines
        .iter()
        .enumerate()
        .max_by(|(a, one), (b, other)| rate(one).total_cmp(&rate(other)).then(b.cmp(a)))
        .map_or(0, |(place, _)| place);
    let mut quoted = lines.get(best).copied().unwrap_or_default().to_owned();
    if let Some(next) = lines.get(best + 1)
        && quoted.chars().count() + next.chars().count() < LENGTH
    {
        quoted.push(' ');
        quoted.push_str(next);
    }
    shortened(&quoted, LENGTH).replace('"', "'")
}
