//! What holds for every source file.

use crate::distributed::{Statement, statements};
use crate::tree::{WITH_SQL, all_sources, names, read};

/// A file that has more to say than this is about two things.
const LONGEST_FILE: usize = 450;

#[test]
fn files_are_not_too_long() {
    let sources = all_sources();
    assert!(sources.len() > 100, "the tree was found");
    for source in sources {
        let lines = source.text.lines().count();
        assert!(lines <= LONGEST_FILE, "{} has {lines} lines", source.path);
    }
}

#[test]
fn every_crate_and_module_has_a_doc_comment() {
    for source in all_sources().iter().filter(|source| source.path.contains("src/")) {
        assert!(source.text.starts_with("//!"), "{} begins with a sentence about itself", source.path);
    }
}

#[test]
fn every_crate_uses_the_workspace_lints() {
    for krate in crate::tree::crates() {
        let manifest = krate.folder.join("Cargo.toml");
        let text = read(&manifest.to_string_lossy());
        assert!(text.contains("[lints]\nworkspace = true"), "{}", manifest.display());
    }
}

#[test]
fn no_thread_sleeps() {
    for source in all_sources().iter().filter(|source| source.path.contains("src/")) {
        assert!(!names(&source.text, concat!("thread::", "sleep")), "{} sleeps a thread", source.path);
    }
}

/// The clock of the wall moves while a statement runs, so the server asks it anew for every row, and looks in no index for
/// what stands before it or behind it. The clock of the statement stands still.
#[test]
fn sql_predicates_do_not_use_clock_timestamp() {
    for Statement { place, sql } in statements() {
        assert!(!compares_the_moving_clock(&sql), "{place}: {sql}");
    }
}

fn compares_the_moving_clock(sql: &str) -> bool {
    let moving = concat!("clock", "_timestamp()");
    sql.match_indices(moving).any(|(at, _)| {
        let before = sql[..at].trim_end_matches([' ', '(']);
        let after = sql[at + moving.len()..].trim_start();
        // A plain `=` gives a column its value.
        let compared = ["<", ">", "<=", ">="].iter().any(|sign| before.ends_with(sign));
        compared || after.starts_with(['<', '>', '='])
    })
}

/// A choice with a limit that is joined with what it changes may be made anew for each of its rows, a next batch every
/// time: a hundred become all. In a `with` that locks, and alone behind `=`, it is made once.
#[test]
fn sql_batches_lock_their_limited_selection_once() {
    for Statement { place, sql } in statements() {
        assert!(!joins_a_batch(&sql), "{place}: {sql}");
    }
}

fn joins_a_batch(sql: &str) -> bool {
    let joined = ["from (select ", "using (select ", "in (select ", "join (select "];
    joined.iter().flat_map(|begin| sql.match_indices(begin)).any(|(at, begin)| {
        let chosen = inside(&sql[at + begin.len()..]);
        let locks = chosen.contains("for update") || chosen.contains("for no key update");
        locks && chosen.contains("limit ")
    })
}

#[test]
fn moving_clock_and_joined_batch_are_recognized() {
    let moving = concat!("clock", "_timestamp()");
    for (sql, compared) in [
        ("select a from b where at <= CLOCK", true),
        ("select a from b where at > (CLOCK - interval '1 day')", true),
        ("select a from b where CLOCK < at", true),
        ("insert into b (at) values (CLOCK)", false),
        ("update b set at = CLOCK where a = $1", false),
    ] {
        assert_eq!(compares_the_moving_clock(&sql.replace("CLOCK", moving)), compared, "{sql}");
    }
    let batch = "select a from b order by at limit $1 for update skip locked";
    for (sql, joined) in [
        ("delete from b using (BATCH) due where b.a = due.a", true),
        ("delete from b where a in (BATCH)", true),
        ("with due as (BATCH) delete from b using due where b.a = due.a", false),
        ("update b set c = 1 where a = (BATCH)", false),
    ] {
        assert_eq!(joins_a_batch(&sql.replace("BATCH", batch)), joined, "{sql}");
    }
}

/// Verbs that ask nothing of the database.
const ASK_NOTHING: [&str; 5] = ["clone", "in_time", "policy", "shard", "waker"];

/// Verbs that keep time themselves, and where in the ledger they do.
const KEEP_TIME: [(&str, &str); 6] = [
    ("admit_abandoned", ".in_time(ledger.finalize_all("),
    ("complete", ".in_time(completed)"),
    ("conversation", ".in_time(read)"),
    ("claim", ".in_time(self.claim_together("),
    ("prune", ".in_time(self.prune_jobs("),
    ("run_input", ".in_time(read)"),
];

/// A connection can die silently, and a loop that asks over it would wait for its answer for ever.
#[test]
fn ledger_calls_of_workers_and_reconciler_have_deadlines() {
    let crates = crate::tree::crates();
    let product =
        |name| crates.iter().filter(move |krate| krate.name == name).flat_map(crate::tree::product_of);
    let keeps_time =
        |verb: &str| ASK_NOTHING.contains(&verb) || KEEP_TIME.iter().any(|(known, _)| *known == verb);
    let mut bounded = 0;
    for source in ["worker", "reconciler"].into_iter().flat_map(product) {
        for (bounds, verb) in asked_of_the_ledger(&source.text) {
            assert!(bounds || keeps_time(&verb), "{} waits for {verb} without end", source.path);
            bounded += u32::from(bounds);
        }
    }
    assert!(bounded > 20, "the verbs were found");
    let rooms: Vec<_> = WITH_SQL.into_iter().flat_map(product).collect();
    let retries = product("worker").find(|source| source.path.ends_with("retry.rs"));
    assert!(
        retries.is_some_and(|source| source.text.contains(".in_time(operation())")),
        "repeats keep no time"
    );
    for (verb, place) in KEEP_TIME {
        assert!(rooms.iter().any(|source| source.text.contains(place)), "{verb} keeps no time");
    }
}

/// Every call of a handle of the database in `code`, and whether its answer is waited for in time.
fn asked_of_the_ledger(code: &str) -> Vec<(bool, String)> {
    let code: String = code.split_whitespace().collect();
    let part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let handles = ["ledger.", "operations.", "outbox.", "store."];
    let calls = handles.iter().flat_map(|handle| code.match_indices(handle)).filter_map(|(at, found)| {
        let mut call = &code[at + found.len()..];
        for other in ["db().", "store().", "outbox()."] {
            call = call.strip_prefix(other).unwrap_or(call);
        }
        let (verb, _) = call.split_once('(')?;
        let receiver = code[..at].trim_end_matches(|letter| part(letter) || letter == '.');
        let is_bounded = receiver.ends_with(".in_time(") || receiver.ends_with(".with_retries(||");
        verb.chars().all(part).then(|| (is_bounded, verb.to_owned()))
    });
    calls.collect()
}

#[test]
fn ledger_call_deadline_is_found_across_line_breaks() {
    let code = "let a = self\n    .ledger\n    .db()\n    .in_time(\n        self.ledger.db().now(),\n    );\nlet b = outbox.now();";
    let asked = [(false, "in_time"), (true, "now"), (false, "now")];
    assert_eq!(asked_of_the_ledger(code), asked.map(|(bounds, verb)| (bounds, verb.to_owned())));
}

/// As far as the bracket that was open before `text`.
fn inside(text: &str) -> &str {
    let mut open = 1;
    let closes = |c: char| {
        open += i32::from(c == '(') - i32::from(c == ')');
        open == 0
    };
    &text[..text.find(closes).unwrap_or(text.len())]
}
