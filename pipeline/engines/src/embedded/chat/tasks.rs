//! Questions about tasks: what is open, due, overdue or done, and those about something.

use std::sync::LazyLock;

use assistant::{DataTool, Step};
use serde_json::{Map, Value, json};

use super::words::{counted, day_of, due_of, moment, stamp, stems};
use super::{Turn, answer, failed, listed, quoting, text};
use crate::embedded::dates::ranges::Direction;
use crate::embedded::pattern::Pattern;
use crate::embedded::text::{capitalised, pattern};

static TASKS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:tasks?|to-?dos?|to-?do'?s|to do(?:s| list)|action items?|reminders?|deadlines?|overdue|check ?list)\b|\b(?:is|are|was|were|'s|falls?|comes?|anything|what|things?)\s+(?:still\s+)?due\b|\b(?:do|must|should|shall) (?:i|we) (?:still )?(?:have|need|got|do)\b.*\bdo\b|\b(?:have|need|got|left|remains?|supposed|still) to (?:do|get done)\b|\bon my (?:plate|list|agenda)\b|\bto get done\b|\bwhat should i (?:do|work on|tackle)\b|\bwhat (?:is|'s) next\b|\bi (?:have|'ve)? ?(?:still )?(?:open|pending|outstanding)\b|^(?:have|did) (?:i|we) (?:miss(?:ed)?|forget|forgotten|overlook(?:ed)?) (?:anything|something)\W*$|^(?:what(?:'s| is)|which ones are|anything)\s+(?:still\s+|running\s+)?(?:late|open|pending|outstanding|unfinished|on|planned|scheduled|coming up)(?:\s+(?:for|on|by|until|before|in|this|next|the|today|tomorrow|tonight|now|right now)\b.*)?\W*$|^what (?:have (?:i|we) got|do (?:i|we) have) (?:on|planned|scheduled|coming up)\b",
    )
});
/// "Any calls I still have to make?": those of a kind.
static OF_KIND: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:any|which|what|are there (?:any )?)\s*(?P<what>\p{L}+)\s+(?:that\s+)?(?:do\s+)?(?:i|we)(?:'ve)?\s+(?:still\s+)?(?:have|need|ought|got|must|should)\s+(?:still\s+)?(?:to\s+)?\p{L}+\W*$",
    )
});
static DONE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:finish(?:ed)?|completed?|accomplish(?:ed)?|got done|get done|getting done|(?:tick|check|cross)(?:ed)? off|closed|achieved)\b|\b(?:tasks?|to-?dos?|items?)\b.*\b(?:done|finished)\b|\bdone (?:tasks?|to-?dos?|items?)\b",
    )
});
/// That something was finished, asked without a word for tasks.
static FINISHED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:what|which(?: \w+)?) (?:all )?(?:have|did|'ve) (?:i|we) (?:already )?(?:finish(?:ed)?|completed?|accomplish(?:ed)?|get done|got done|gotten done|(?:tick|check|cross)(?:ed)? off)\b",
    )
});
static OPEN: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:open|pending|outstanding|unfinished|incomplete|not (?:yet )?(?:done|finished|completed)|undone|still|left|remaining|haven't|overdue|due)\b",
    )
});
static OVERDUE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"(?i)\b(?:overdue|past due|(?:too )?late|miss(?:ed)?|forget|forgotten|overlook(?:ed)?)\b")
});
static UNDATED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:no|without(?: an?)?|lack(?:ing)?(?: an?)?|miss(?:ing)?(?: an?)?) (?:due )?(?:dates?|deadlines?)\b",
    )
});
static ABOUT: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:about|regarding|concerning|related to|involving|that mention|mentioning|with|for|from)\s+(?P<what>[^?!.]+)",
    )
});

/// How many are read.
const MOST: u32 = 100;
/// How many are named.
const NAMED: usize = 40;

pub(super) fn step(turn: &Turn<'_>) -> Option<Step> {
    let bare = &turn.message.bare;
    if !TASKS.is_match(bare) && !FINISHED.is_match(bare) && !OF_KIND.is_match(bare) {
        return None;
    }
    let filter = TaskFilter::of(turn);
    Some(match turn.result(DataTool::ListActionItems) {
        None => turn.call(DataTool::ListActionItems, filter.arguments.clone()),
        Some(Ok(result)) => {
            let mut items = listed(result, "action_items");
            items.retain(|item| !filter.undated || moment(item, "due_at").is_none());
            summary(turn, &filter, &items)
        }
        Some(Err(words)) => failed(words),
    })
}

/// Which tasks are meant, as arguments and in words.
struct TaskFilter {
    arguments: Value,
    named: String,
    /// Only those without a date.
    undated: bool,
}

impl TaskFilter {
    fn of(turn: &Turn<'_>) -> Self {
        let (bare, context) = (&turn.message.bare, turn.round.context);
        let done = DONE.is_match(bare) && !OPEN.is_match(bare);
        let mut arguments =
            Map::from_iter([("limit".to_owned(), json!(MOST)), ("completed".to_owned(), json!(done))]);
        let mut named = if done { "done" } else { "open" }.to_owned();
        let direction = if done { Direction::Past } else { Direction::Future };
        let span = turn.message.span(context, direction);
        let mut set = |name: &str, value: String| arguments.insert(name.to_owned(), value.into());
        if let Some(span) = &span {
            let (from, until) =
                if done { ("completed_after", "completed_before") } else { ("due_after", "due_before") };
            set(from, stamp(span.start));
            set(until, stamp(span.end));
            let words = turn.message.text.get(span.named.clone()).unwrap_or_default().to_lowercase();
            named = if done { format!("done {words}") } else { format!("due {words}") };
        }
        if !done && OVERDUE.is_match(bare) {
            set("due_before", stamp(context.now));
            named = "overdue".to_owned();
        }
        if let Some(about) = ABOUT.captures(bare).or_else(|| OF_KIND.captures(bare)) {
            let what = about["what"].trim();
            let is_time = turn.message.reference(context).span(&about[0], direction).is_some();
            if !is_time && !stems(what).is_empty() {
                set("query", what.chars().take(200).collect());
                named = format!("{named}, about {what}");
            }
        }
        let undated = UNDATED.is_match(bare);
        if undated {
            named.push_str(", without a date");
        }
        Self { arguments: Value::Object(arguments), named, undated }
    }
}

fn summary(turn: &Turn<'_>, filter: &TaskFilter, items: &[&Value]) -> Step {
    if items.is_empty() {
        return answer(format!("I found no tasks ({}).", filter.named));
    }
    let shown = items.get(..NAMED).unwrap_or(items);
    let lines: String = shown.iter().map(|item| line(turn, item)).collect();
    let ids = shown.iter().map(|item| text(item, "id").to_owned()).collect();
    let more = match items.len() - shown.len() {
        0 => String::new(),
        more => format!("- and {more} more\n"),
    };
    let count = capitalised(&counted(items.len(), "task"));
    quoting(format!("{count} ({}):\n{lines}{more}", filter.named), ids)
}

/// A task with its date.
pub(super) fn line(turn: &Turn<'_>, item: &Value) -> String {
    let context = turn.round.context;
    let when = match moment(item, "completed_at") {
        Some(at) => format!(" (done {})", day_of(at, context)),
        None => match moment(item, "due_at") {
            Some(at) if at < context.now => format!(" (overdue since {})", due_of(at, context)),
            Some(at) => format!(" (due {})", due_of(at, context)),
            None => String::new(),
        },
    };
    format!("- {}{when}\n", text(item, "description"))
}
