//! What Citus refuses in a statement, so that a shard can be a schema of a distributed database one day. The list of what is
//! there already may only become shorter.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::tree::{WITH_SQL, crates, product_of, root};

/// A statement of ours, in one line.
struct Statement {
    place: String,
    sql: String,
}

/// What is refused, and how it is recognized.
type Refused = (&'static str, fn(&str) -> bool);

const REFUSED: [Refused; 6] = [
    ("a forced plan", |sql| sql.contains("plan_cache_mode")),
    ("set_config in a statement", |sql| sql.contains("set_config(")),
    ("a volatile function in an update: bind the value, or use statement_timestamp()", has_volatile_update),
    ("insert inside with", |sql| sql.contains("as (insert ") || sql.contains("as materialized (insert ")),
    ("a sub-select in values", |sql| inner(sql, "values (").any(|values| values.contains("(select "))),
    ("a clock in on conflict", |sql| {
        let set = sql.split("do update set ").skip(1).filter_map(|rest| rest.split(" returning ").next());
        set.into_iter().any(|set| VOLATILE.iter().chain(&STABLE).any(|call| set.contains(call)))
    }),
];
const VOLATILE: [&str; 4] = ["clock_timestamp()", "random()", "gen_random_uuid()", "nextval("];
const STABLE: [&str; 2] = ["now()", "statement_timestamp()"];

/// Those that are there: file, and the beginning of what is refused.
const KNOWN: [(&str, &str); 10] = [
    ("pipeline/ledger/src/admit/create.rs", "a sub-select in values"),
    ("pipeline/store/src/budgets.rs", "insert inside with"),
    ("pipeline/store/src/keys.rs", "a volatile function"),
    ("pipeline/store/src/known_people.rs", "a volatile function"),
    ("pipeline/store/src/live/open.rs", "a sub-select in values"),
    ("pipeline/operations/src/bulk/freeze.rs", "insert inside with"),
    ("pipeline/operations/src/bulk/freeze.rs", "set_config"),
    ("pipeline/operations/src/bulk/step.rs", "a volatile function"),
    ("pipeline/operations/src/verify.rs", "set_config"),
    ("pipeline/store/src/users.rs", "a sub-select in values"),
];

fn has_volatile_update(sql: &str) -> bool {
    let updates = sql.starts_with("update ") || sql.contains("(update ") || sql.contains("; update ");
    updates && VOLATILE.iter().any(|call| sql.contains(call))
}

/// What stands between each `open` and the bracket that closes it.
fn inner<'a>(sql: &'a str, open: &'a str) -> impl Iterator<Item = &'a str> {
    sql.split(open).skip(1).map(|rest| {
        let mut depth = 1;
        let end = rest.find(|letter: char| {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            depth == 0
        });
        &rest[..end.unwrap_or(rest.len())]
    })
}

/// The literals of `code` that are SQL.
fn literals(code: &str) -> Vec<String> {
    // A quote that is a letter opens nothing.
    let code = code.replace("'\"'", "").replace("\\\"", "");
    let texts = code.split('"').skip(1).step_by(2).map(one_line);
    let verbs = ["select ", "with ", "insert ", "update ", "delete ", "begin", "set "];
    texts.filter(|text| verbs.iter().any(|verb| text.starts_with(verb))).collect()
}

fn one_line(text: &str) -> String {
    let uncommented = text.lines().map(|line| line.split("--").next().unwrap_or_default());
    uncommented
        .collect::<Vec<_>>()
        .join(" ")
        .replace('\\', " ")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

fn files_below(folder: &Path, found: &mut Vec<Statement>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("an entry can be read").path();
        if path.is_dir() {
            files_below(&path, found);
        } else {
            let place = path.strip_prefix(root()).expect("below the root").to_string_lossy().into_owned();
            found.push(Statement {
                place,
                sql: one_line(&fs::read_to_string(&path).expect("a file of text")),
            });
        }
    }
}

fn statements() -> Vec<Statement> {
    let mut found = Vec::new();
    let rooms: Vec<_> =
        crates().into_iter().filter(|krate| WITH_SQL.contains(&krate.name.as_str())).collect();
    for sql in rooms.iter().map(|krate| root().join(&krate.folder).join("sql")).filter(|sql| sql.is_dir()) {
        files_below(&sql, &mut found);
    }
    for source in rooms.iter().flat_map(product_of) {
        let of = |sql| Statement { place: source.path.clone(), sql };
        found.extend(literals(&source.text).into_iter().map(of));
    }
    found
}

#[test]
fn no_statement_is_added_that_a_distributed_database_refuses() {
    let statements = statements();
    assert!(statements.len() > 300, "the statements were found: {}", statements.len());
    let (mut seen, mut added) = (BTreeSet::new(), Vec::new());
    for Statement { place, sql } in &statements {
        for (what, _) in REFUSED.iter().filter(|(_, is_refused)| is_refused(sql)) {
            match KNOWN.iter().find(|(file, begins)| file == place && what.starts_with(begins)) {
                Some(known) => _ = seen.insert(*known),
                None => added.push(format!("{place}: {what}: {sql}")),
            }
        }
    }
    assert!(added.is_empty(), "{}", added.join("\n"));
    let gone: Vec<_> = KNOWN.iter().filter(|known| !seen.contains(*known)).collect();
    assert!(gone.is_empty(), "these are not there any more, take them off the list: {gone:?}");
}

#[test]
fn each_thing_that_is_refused_is_recognized() {
    let examples = [
        "set plan_cache_mode = force_generic_plan",
        "select set_config('statement_timeout', '1s', true)",
        "update keys set revoked_at = clock_timestamp() where user_id = $1",
        "with made as (insert into a values ($1) returning id) select id from made",
        "insert into a (b) values ($1, (select c from d))",
        "insert into a (b) values ($1) on conflict (b) do update set at = now() returning b",
    ];
    for ((what, is_refused), example) in REFUSED.iter().zip(examples) {
        assert!(is_refused(example), "{what}: {example}");
    }
    for fine in [
        "update keys set revoked_at = statement_timestamp() where user_id = $1",
        "select j.* from jobs j where j.at <= clock_timestamp() for update of j skip locked",
        "insert into a (b, at) values ($1, clock_timestamp()) on conflict (b) do update set at = excluded.at returning b",
        "insert into a (b) select c from (select c from d) e",
    ] {
        assert!(REFUSED.iter().all(|(_, is_refused)| !is_refused(fine)), "{fine}");
    }
}
