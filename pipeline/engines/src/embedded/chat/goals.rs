//! Goals: how they stand, and setting where one stands.

use std::sync::LazyLock;

use assistant::{DataTool, Step};
use serde_json::{Value, json};

use super::words::{share, stems};
use super::{Turn, answer, failed, listed, quoting, text};
use crate::embedded::dates::number;
use crate::embedded::pattern::Pattern;
use crate::embedded::text::pattern;

static GOALS: LazyLock<Pattern> = LazyLock::new(|| pattern(r"(?i)\bgoals?\b"));
/// "Set my book goal to 8", "update the goal reading to 8 of 12".
static SET: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:set|update|change|put|log|record|move|bring|raise|lower|increase|decrease)\b(?P<which>.*?\bgoals?\b.*?)\b(?:to|at|=)\s*(?P<value>-?\d+(?:[.,]\d+)?)\b",
    )
});
/// "Add 5 km to my running goal".
static ADD: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:add|log|record)\s+(?P<value>\d+(?:[.,]\d+)?)\b(?P<unit>[^\d]*?)\b(?:to|towards?|for|on)\b(?P<which>.*\bgoals?\b.*)$",
    )
});
/// "I finished a book, bump the goal by one".
static BY: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:(?P<why>.+?)[,;.]\s*)?(?:so |and |please )*(?P<verb>bump|raise|increase|increment|move|push|lower|decrease|reduce)\s+(?:up |down )?(?P<which>.*\bgoals?\b.*?)\s+(?:up |down )?by\s+(?P<value>\d+(?:[.,]\d+)?|[a-z]+)\b",
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
    if !(is_named || HOW_MUCH.is_match(bare) && turn.offers(DataTool::ListGoals)) {
        return None;
    }
    let change = change(bare);
    let result = match turn.result(DataTool::ListGoals) {
        None => return Some(turn.call(DataTool::ListGoals, json!({}))),
        Some(Ok(result)) => result,
        Some(Err(words)) => return Some(failed(words)),
    };
    let goals = listed(result, "goals");
    if !is_named && (fitting(&goals, bare).is_empty() || change.is_some()) {
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
    let value = |text: &str| text.replace(',', ".").parse::<f64>().ok();
    if let Some(found) = SET.captures(bare) {
        return Some((found["which"].to_owned(), Change::To(value(&found["value"])?)));
    }
    if let Some(found) = ADD.captures(bare) {
        return Some((
            format!("{} {}", &found["which"], &found["unit"]),
            Change::By(value(&found["value"])?),
        ));
    }
    if let Some(found) = BY.captures(bare) {
        let words = found["value"].to_lowercase();
        let by = value(&words).or_else(|| number(&words).map(|by| by as f64))?;
        let is_less = ["lower", "decrease", "reduce"].contains(&found["verb"].to_lowercase().as_str());
        let why = found.name("why").map_or("", |why| why.as_str());
        return Some((format!("{} {why}", &found["which"]), Change::By(if is_less { -by } else { by })));
    }
    let found = REACHED.captures(bare)?;
    let which = found.name("which").or_else(|| found.name("whose"))?;
    Some((which.as_str().to_owned(), Change::Reached))
}

/// The goals that the words fit best; all of them where no words are left.
fn fitting<'v>(goals: &[&'v Value], words: &str) -> Vec<&'v Value> {
    let wanted = stems(&AROUND.replace_all(words, " "));
    if wanted.is_empty() {
        return goals.to_vec();
    }
    let rate = |goal: &Value| share(&wanted, &format!("{} {}", text(goal, "title"), text(goal, "unit")));
    let best = goals.iter().map(|goal| rate(goal)).fold(0.0, f64::max);
    goals.iter().copied().filter(|goal| best > 0.0 && rate(goal) >= best).collect()
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
