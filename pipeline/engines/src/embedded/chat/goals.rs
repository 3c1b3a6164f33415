//! Goals: how they stand, and setting where one stands.

use std::collections::HashSet;
use std::sync::LazyLock;

use assistant::{DataTool, Step};
use serde_json::{Value, json};

use super::words::{best, figure, share, stems};
use super::{Turn, answer, failed, listed, quoting, text};
use crate::embedded::dates::number;
use crate::embedded::pattern::Pattern;
use crate::embedded::text::pattern;

static GOALS: LazyLock<Pattern> = LazyLock::new(|| pattern(r"(?i)\bgoals?\b"));
/// "Set my book goal to 8", "update the goal reading to 8 of 12".
static SET: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:set|update|change|put|log|record|move|bring|raise|lower|increase|decrease)\b(?P<which>.*?\bgoals?\b.*?)\b(?:to|at|=)\s*(?P<value>-?\d+(?:[.,]\d+)*)\b",
    )
});
/// The same of a goal that is named without the word: "put the savings at 900".
static SET_NAMED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:set|update|change|put|log|record|bring|raise)\s+(?:my |the |our )?(?P<which>\p{L}[^,;:.?!]*?)\s+(?:to|at|=)\s*(?P<value>-?\d[\d.,]*)(?:\s+\p{L}+)?\W*$",
    )
});
/// "How is the savings plan coming along?"
static HOW_IS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^how(?:'s| is| are|'re)\b.*\b(?:doing|going|coming (?:along|on)|looking|getting on|progressing)\W*$",
    )
});
/// "Add 5 km to my running goal".
static ADD: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:(?P<why>[^\d]+?)[,;.]\s*)?(?:so |and |please )*(?:add|log|record)\s+(?P<value>\d+(?:[.,]\d+)*|[a-z]+)\b(?P<unit>[^\d]*?)\b(?:to|towards?|for|on)\b(?P<which>.*\bgoals?\b.*)$",
    )
});
/// "I finished a book, bump the goal by one".
static BY: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:(?P<why>.+?)[,;.]\s*)?(?:so |and |please )*(?P<verb>bump|raise|increase|increment|move|push|lower|decrease|reduce)\s+(?:up |down )?(?P<which>.*\bgoals?\b.*?)\s+(?:up |down )?by\s+(?P<value>\d+(?:[.,]\d+)*|[a-z]+)\b",
    )
});
/// A figure that a goal may know: "how many books have I read?".
static HOW_MUCH: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)^how (?:many|much|far)\b.*\b(?:have|had|did|am|do) (?:i|we)\b"));
/// "My sugar goal is reached".
static REACHED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:mark\s+(?P<which>.*\bgoals?\b.*?)\s+(?:as\s+)?|(?P<whose>(?:my|the)\b.*\bgoals?\b.*?)\s+is\s+)(?:reached|done|achieved|completed?)\W*$",
    )
});
/// Words around a goal that name none.
static AROUND: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:goals?|progress|status|value|current|far|show|list|going|stand(?:ing)?|reach(?:ed)?|achieve[d]?|towards?|track|doing|active|update|set)\b",
    )
});

pub(super) fn step(turn: &Turn<'_>) -> Option<Step> {
    let bare = &turn.message.bare;
    let is_named = GOALS.is_match(bare);
    let may_be_meant = || HOW_MUCH.is_match(bare) || HOW_IS.is_match(bare) || SET_NAMED.is_match(bare);
    if !(is_named || may_be_meant() && turn.offers(DataTool::ListGoals)) {
        return None;
    }
    let change = change(bare);
    let result = match turn.result(DataTool::ListGoals) {
        None => return Some(turn.call(DataTool::ListGoals, json!({}))),
        Some(Ok(result)) => result,
        Some(Err(words)) => return Some(failed(words)),
    };
    let goals = listed(result, "goals");
    // Without the word, a goal is meant that has at least half of the words.
    let words = change.as_ref().map_or(bare.as_str(), |(which, _)| which.as_str());
    if !is_named && (HOW_MUCH.is_match(bare) && change.is_some() || !is_meant(&goals, words)) {
        return None;
    }
    Some(match change {
        Some((which, change)) => set(turn, &goals, &which, change),
        None => summary(&goals, bare),
    })
}

#[derive(Clone, Copy)]
enum Change {
    To(f64),
    By(f64),
    Reached,
}

fn change(bare: &str) -> Option<(String, Change)> {
    if let Some(found) = SET.captures(bare).or_else(|| SET_NAMED.captures(bare)) {
        return Some((found["which"].to_owned(), Change::To(figure(&found["value"])?)));
    }
    if let Some(found) = ADD.captures(bare) {
        let more = counted(&found["value"])?;
        return Some((format!("{} {}", &found["which"], &found["unit"]), Change::By(more)));
    }
    if let Some(found) = BY.captures(bare) {
        let by = counted(&found["value"])?;
        let is_less = ["lower", "decrease", "reduce"].contains(&found["verb"].to_lowercase().as_str());
        let why = found.name("why").map_or("", |why| why.as_str());
        return Some((format!("{} {why}", &found["which"]), Change::By(if is_less { -by } else { by })));
    }
    let found = REACHED.captures(bare)?;
    let which = found.name("which").or_else(|| found.name("whose"))?;
    Some((which.as_str().to_owned(), Change::Reached))
}

/// In digits or in words.
fn counted(text: &str) -> Option<f64> {
    figure(text).or_else(|| number(&text.to_lowercase()).map(|count| count as f64))
}

/// Whether one of the goals has at least half of the words.
fn is_meant(goals: &[&Value], words: &str) -> bool {
    let wanted = stems(&AROUND.replace_all(words, " "));
    goals.iter().any(|goal| rate(goal, &wanted) >= 0.5)
}

fn rate(goal: &Value, wanted: &HashSet<String>) -> f64 {
    share(wanted, &format!("{} {}", text(goal, "title"), text(goal, "unit")))
}

/// The goals that the words fit best; all of them where no words are left.
fn fitting<'v>(goals: &[&'v Value], words: &str) -> Vec<&'v Value> {
    let wanted = stems(&AROUND.replace_all(words, " "));
    if wanted.is_empty() {
        return goals.to_vec();
    }
    best(goals, 0.0, |goal| rate(goal, &wanted))
}

fn set(turn: &Turn<'_>, goals: &[&Value], which: &str, change: Change) -> Step {
    if let Some(result) = turn.result(DataTool::SetGoalProgress) {
        return match result {
            Ok(goal) => quoting(format!("Noted:\n{}", line(goal)), vec![text(goal, "id").to_owned()]),
            Err(words) => failed(words),
        };
    }
    let fitting = fitting(goals, which);
    let [goal] = fitting.as_slice() else {
        return match fitting.as_slice() {
            [] => answer("I found no such goal, and changed nothing."),
            several => {
                let ids = several.iter().map(|goal| text(goal, "id").to_owned()).collect();
                let lines: String = several.iter().map(|goal| line(goal)).collect();
                quoting(format!("Which goal do you mean? I changed nothing.\n{lines}"), ids)
            }
        };
    };
    let number = |name: &str| goal.get(name).and_then(Value::as_f64).unwrap_or_default();
    let value = match change {
        Change::To(value) => value,
        Change::By(more) => number("current_value") + more,
        Change::Reached => number("target_value"),
    };
    turn.call(DataTool::SetGoalProgress, json!({"id": text(goal, "id"), "current_value": value}))
}

fn summary(goals: &[&Value], bare: &str) -> Step {
    if goals.is_empty() {
        return answer("You have no goals.");
    }
    let named = fitting(goals, bare);
    let shown = if named.is_empty() { goals.to_vec() } else { named };
    let ids = shown.iter().map(|goal| text(goal, "id").to_owned()).collect();
    let lines: String = shown.iter().map(|goal| line(goal)).collect();
    quoting(format!("Your goals:\n{lines}"), ids)
}

fn line(goal: &Value) -> String {
    let number = |name: &str| goal.get(name).and_then(Value::as_f64).unwrap_or_default();
    let (current, target) = (number("current_value"), number("target_value"));
    if text(goal, "goal_type") == "boolean" {
        let state = if current >= 1.0 { "reached" } else { "not reached yet" };
        return format!("- {}: {state}\n", text(goal, "title"));
    }
    let unit = match text(goal, "unit") {
        "" => String::new(),
        unit => format!(" {unit}"),
    };
    let share = if target > 0.0 { format!(" ({:.0} %)", 100.0 * current / target) } else { String::new() };
    format!("- {}: {current} of {target}{unit}{share}\n", text(goal, "title"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_read_as_people_write_it() {
        for (text, read) in [
            ("8", 8.0),
            ("1,200", 1_200.0),
            ("12,345.5", 12_345.5),
            ("1,5", 1.5),
            ("2.5", 2.5),
            ("900.", 900.0),
            ("-1,200", -1_200.0),
            ("1,234,567", 1_234_567.0),
        ] {
            assert_eq!(figure(text), Some(read), "{text}");
        }
        assert_eq!(figure("1,2,3"), None);
        assert_eq!(counted("two"), Some(2.0));
        assert_eq!(counted("milk"), None);
    }
}
