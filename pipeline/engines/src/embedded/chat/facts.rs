//! Questions about what is remembered: about the user, a person or a thing, with passages.

use std::sync::LazyLock;

use assistant::{DataTool, Step};
use serde_json::{Value, json};

use super::words::{day_of, moment, share, stems};
use super::{Turn, answer, failed, listed, quoting, text};
use crate::embedded::pattern::Pattern;
use crate::embedded::text::{pattern, shortened};

static ABOUT: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:what|anything|everything|something|all|facts?|memories|memory|things?)\b.{0,30}?\b(?:know|knew|remember|remembered|learned|learnt|stored|saved|noted|kept|have on file|memories|memory|facts?)\b(?: (?:so far|right now|exactly|already))?(?: (?:about|of|on|regarding) (?P<about>[^?!]+))?",
    )
});
static TELL: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:tell me (?:what you know )?|what (?:is|are) (?:my|the|your) (?:memories|facts) )about (?P<about>[^?!]+)",
    )
});
static MINE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"(?i)^(?:(?:show|list|give)(?: me)? )?(?:all )?(?:of )?(?:my|the) memories\W*$|^who am i\W*$")
});
static MYSELF: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)^(?:me|myself|my (?:life|person|self))\W*$"));
static OWN: LazyLock<Pattern> = LazyLock::new(|| pattern(r"(?i)^my (?P<what>.+)$"));

/// How many are named.
const NAMED: usize = 50;
/// How many passages stand behind what is remembered.
const PASSAGES: usize = 3;

pub(super) fn step(turn: &Turn<'_>) -> Option<Step> {
    let bare = &turn.message.bare;
    let about = match ABOUT.captures(bare).or_else(|| TELL.captures(bare)) {
        Some(found) => found.name("about").map(|about| about.as_str().trim().to_owned()),
        None if MINE.is_match(bare) => None,
        None => return None,
    };
    let about = about.filter(|about| !MYSELF.is_match(about));
    Some(match about {
        None => all(turn),
        Some(about) => match OWN.captures(&about) {
            Some(own) => of_own(turn, &own["what"], &about),
            None => of(turn, &about),
        },
    })
}

fn all(turn: &Turn<'_>) -> Step {
    match turn.result(DataTool::ListMemories) {
        None => turn.call(DataTool::ListMemories, json!({"limit": NAMED})),
        Some(Ok(result)) => summary(&listed(result, "memories"), "about you"),
        Some(Err(words)) => failed(words),
    }
}

/// "My habits" are those of that category, or those whose words say so.
fn of_own(turn: &Turn<'_>, what: &str, about: &str) -> Step {
    match turn.result(DataTool::ListMemories) {
        None => turn.call(DataTool::ListMemories, json!({"limit": 100})),
        Some(Ok(result)) => {
            let wanted = stems(what);
            let fits = |memory: &&Value| {
                share(&wanted, &format!("{} {}", text(memory, "category"), text(memory, "content"))) > 0.0
            };
            let fitting: Vec<&Value> = listed(result, "memories").into_iter().filter(fits).collect();
            if fitting.is_empty() {
                return answer(format!("Nothing is remembered about {about}."));
            }
            summary(&fitting, &format!("about {about}"))
        }
        Some(Err(words)) => failed(words),
    }
}

fn of(turn: &Turn<'_>, about: &str) -> Step {
    let about = about.trim_end_matches(['.', ',']);
    let Some(memories) = turn.result(DataTool::ListMemories) else {
        let query = shortened(about, 200);
        return turn.calls([
            (DataTool::ListMemories, json!({"query": query, "limit": 10})),
            (DataTool::Search, json!({"query": query, "kinds": ["conversation"], "limit": PASSAGES})),
        ]);
    };
    let memories = match memories {
        Ok(memories) => listed(memories, "memories"),
        Err(words) => return failed(words),
    };
    let wanted = stems(about);
    let passages = match turn.result(DataTool::Search) {
        Some(Ok(result)) => listed(result, "results"),
        _ => Vec::new(),
    };
    let fits = |passage: &&Value| {
        share(&wanted, &format!("{} {}", text(passage, "title"), text(passage, "text"))) >= 0.5
    };
    let passages: Vec<&Value> = passages.into_iter().filter(fits).collect();
    if memories.is_empty() && passages.is_empty() {
        return answer(format!("I know nothing about {about}."));
    }
    let mut lines = String::new();
    let mut ids = Vec::new();
    if !memories.is_empty() {
        lines.push_str(&format!("What is remembered about {about}:\n"));
    }
    for memory in &memories {
        lines.push_str(&format!("- {}\n", text(memory, "content")));
        ids.push(text(memory, "id").to_owned());
    }
    if !passages.is_empty() {
        lines.push_str("From your conversations:\n");
    }
    for passage in passages {
        let when = moment(passage, "created_at").map(|at| day_of(at, turn.round.context)).unwrap_or_default();
        let line = text(passage, "text")
            .lines()
            .max_by(|one, other| share(&wanted, one).total_cmp(&share(&wanted, other)))
            .unwrap_or_default();
        lines.push_str(&format!(
            "- {} ({when}): \"{}\"\n",
            text(passage, "title"),
            shortened(line, 300).replace('"', "'")
        ));
        ids.push(text(passage, "id").to_owned());
    }
    quoting(lines, ids)
}

fn summary(memories: &[&Value], about: &str) -> Step {
    if memories.is_empty() {
        return answer(format!("Nothing is remembered {about} yet."));
    }
    let lines: String = memories.iter().map(|memory| format!("- {}\n", text(memory, "content"))).collect();
    let ids = memories.iter().map(|memory| text(memory, "id").to_owned()).collect();
    quoting(format!("What is remembered {about}:\n{lines}"), ids)
}
