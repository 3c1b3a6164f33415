//! Questions about a span of time: what was talked about in it, as a list; a long span by weeks.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use assistant::{DataTool, Step};
use serde_json::{Value, json};

use super::words::{counted, day_of, local, moment, stamp, stems, time_of, week_of};
use super::{Turn, answer, failed, listed, quoting, text};
use crate::embedded::dates::number;
use crate::embedded::dates::ranges::Direction;
use crate::embedded::pattern::Pattern;
use crate::embedded::text::{pattern, shortened};

/// Words that ask for conversations as such, and name no topic.
static GENERIC: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:took place|taken? place|summari[sz]e|summary|summaries|recap|overview|review|show|list|give|conversations?|talks?|talked|chats?|chatted|meetings?|met|meet|calls?|discuss(?:ed|ions?)?|spoke|speak|spoken|recordings?|recorded|happen(?:ed|ing)?|highlights?|events?|busy|digest|catch|latest|recent(?:ly)?|went|topics?|subjects?|read|everything|remember|memories of)\b",
    )
});
/// "My latest conversations", where no span is named.
static LATEST: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:my|the|our) (?:\w+ ){0,2}(?:latest|last|recent|newest) (?:\w+ )?(?:conversations?|talks?|chats?|meetings?|recordings?)\b|\bwhat (?:did|have) (?:i|we) (?:just |recently |lately )?(?:talk(?:ed)?|discuss(?:ed)?|chat(?:ted)?|speak|spoken) ?(?:about)?(?: lately| recently)?[\s?.!]*$|^(?:show|list)(?: me)?(?: all)? my conversations\W*$",
    )
});

/// "My last conversation" is one.
static ONE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:latest|last|most recent|newest) (?:conversation|talk|chat|meeting|recording)\b|\bjust\b",
    )
});

/// "My three most recent conversations", "the last 5 talks".
static SOME: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:my|the|our) (?:(?P<before>[a-z]+|\d{1,2}) )?(?:latest|last|most recent|newest) (?:(?P<behind>[a-z]+|\d{1,2}) )?(?:conversations|talks|chats|meetings|recordings)\b",
    )
});

/// How many conversations are read.
const MOST: u32 = 100;
/// From this many days on a list is told by weeks.
const BY_WEEKS: i64 = 15;
/// How many of a week are named.
const OF_A_WEEK: usize = 12;

pub(super) fn step(turn: &Turn<'_>) -> Option<Step> {
    let context = turn.round.context;
    let span = turn.message.span(context, Direction::Past);
    let Some(span) = span else {
        if !LATEST.is_match(&turn.message.bare) {
            return None;
        }
        return Some(match turn.result(DataTool::ListConversations) {
            None => {
                let limit =
                    if ONE.is_match(&turn.message.bare) { 1 } else { some(&turn.message.bare).unwrap_or(10) };
                turn.call(DataTool::ListConversations, json!({ "limit": limit }))
            }
            Some(Ok(result)) => summary(turn, result, "lately", 1),
            Some(Err(words)) => failed(words),
        });
    };
    let mut rest = turn.message.text.clone();
    rest.replace_range(span.named.clone(), " ");
    if !stems(&GENERIC.replace_all(&rest, " ")).is_empty() {
        // A topic in a span of time is searched for.
        return None;
    }
    Some(match turn.result(DataTool::ListConversations) {
        None => turn.call(
            DataTool::ListConversations,
            json!({"start_date": stamp(span.start), "end_date": stamp(span.end), "limit": MOST}),
        ),
        Some(Ok(result)) => {
            let named = turn.message.text.get(span.named.clone()).unwrap_or_default().to_lowercase();
            summary(turn, result, &named, span.days)
        }
        Some(Err(words)) => failed(words),
    })
}

/// How many are asked for, in words or digits.
fn some(bare: &str) -> Option<i64> {
    let found = SOME.captures(bare)?;
    let words = found.name("before").or_else(|| found.name("behind"))?;
    number(&words.as_str().to_lowercase()).filter(|some| (1..=i64::from(MOST)).contains(some))
}

fn summary(turn: &Turn<'_>, result: &Value, named: &str, days: i64) -> Step {
    let found = listed(result, "conversations");
    if found.is_empty() {
        return answer(format!("I found no conversations ({named})."));
    }
    let ids = found.iter().map(|conversation| text(conversation, "id").to_owned()).collect();
    let count = counted(found.len(), "conversation");
    let mut told = if found.len() >= MOST as usize {
        format!("The newest {count} ({named}):\n")
    } else {
        format!("{} ({named}):\n", capital(&count))
    };
    if days < BY_WEEKS {
        for conversation in &found {
            told.push_str(&line(turn, conversation, 400));
        }
        return quoting(told, ids);
    }
    let mut weeks: BTreeMap<_, Vec<&Value>> = BTreeMap::new();
    for conversation in &found {
        if let Some(at) = moment(conversation, "started_at") {
            weeks.entry(week_of(local(at, turn.round.context.zone))).or_default().push(conversation);
        }
    }
    for (monday, of_week) in weeks.iter().rev() {
        told.push_str(&format!("Week of {} ({}):\n", monday.format("%-d %b"), of_week.len()));
        for conversation in of_week.iter().take(OF_A_WEEK) {
            told.push_str(&line(turn, conversation, 120));
        }
        if of_week.len() > OF_A_WEEK {
            told.push_str(&format!("- and {} more\n", of_week.len() - OF_A_WEEK));
        }
    }
    quoting(told, ids)
}

fn line(turn: &Turn<'_>, conversation: &Value, most: usize) -> String {
    let context = turn.round.context;
    let when = moment(conversation, "started_at")
        .map(|at| format!(" ({}, {})", day_of(at, context), time_of(at, context)))
        .unwrap_or_default();
    let title = match text(conversation, "title") {
        "" => "Untitled",
        title => title,
    };
    let overview = shortened(text(conversation, "overview").lines().next().unwrap_or_default(), most);
    let overview = if overview.is_empty() { String::new() } else { format!(": {overview}") };
    format!("- {title}{when}{overview}\n")
}

fn capital(words: &str) -> String {
    crate::embedded::text::capitalised(words)
}
