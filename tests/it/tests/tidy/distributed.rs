//! What Citus (13.2, tables by schema) refuses in a statement, so that a shard can be a schema of a distributed database
//! (`docs/scaling.md`). Each rule is a refusal that was seen.

use std::fs;
use std::path::Path;

use crate::tree::{WITH_SQL, crates, product_of, root};

/// A statement of ours, in one line.
pub(crate) struct Statement {
    pub(crate) place: String,
    pub(crate) sql: String,
}

/// What is refused, and how it is recognized.
type Refused = (&'static str, fn(&str) -> bool);

const REFUSED: [Refused; 14] = [
    ("a forced plan", |sql| sql.contains("plan_cache_mode")),
    ("a volatile function in an update: bind the value, or use statement_timestamp()", |sql| {
        assignments(sql).iter().any(|value| has(value, &VOLATILE))
    }),
    ("a clock in a case or coalesce of an update: take it from `from (select …)`", |sql| {
        assignments(sql).iter().any(|value| has(value, &["case ", "coalesce("]) && has(value, &STABLE))
    }),
    ("jsonb that is built in an update: bind it, or build it in `from (select …)`", |sql| {
        assignments(sql).iter().any(|value| has(value, &["jsonb_build", "to_jsonb("]))
    }),
    // The coordinator itself ends.
    ("an element of a parameter in an update: bind it by itself", |sql| {
        assignments(sql).iter().any(|value| value.contains("[])["))
    }),
    (
        "an interval added to a column in an update: add it `at time zone 'UTC'`, or in `from (select …)`",
        |sql| assignments(sql).iter().any(|value| adds_to_a_column(value)),
    ),
    ("a clock in what an update returns: return it from `from (select …)`", |sql| {
        sql.contains("update ") && parts(sql, " returning ", &[]).iter().any(|part| has(part, &STABLE))
    }),
    ("a volatile function in what an update or delete asks: use statement_timestamp()", |sql| {
        changes(sql).iter().any(|change| has(change, &VOLATILE))
    }),
    ("a text made a regconfig in an update: cast the parameter", |sql| {
        changes(sql).iter().any(|change| change.replace("[]::regconfig[]", "").contains("::regconfig"))
    }),
    (
        "a clock, or an interval added to a moment, in an insert that reads a table: bind it, or add it `at time zone 'UTC'`",
        |sql| {
            let adds = |read: &str| read.contains("interval") && !read.contains("at time zone");
            inserted_by_select(sql).is_some_and(|read| {
                (has(read, &STABLE) || adds(read)) && !has(read, &VOLATILE) && reads_a_table(read)
            })
        },
    ),
    // Nothing is inserted, and nothing is said, when the sub-select is planned away: of a null, for one.
    ("an insert of what depends on whether a row exists: choose it in `with … as materialized`", |sql| {
        inserted_by_select(sql).is_some_and(|read| until(read, &[" from "]).contains("exists ("))
    }),
    ("a sub-select in values", |sql| {
        parts(sql, "values (", &[]).iter().any(|values| values.contains("(select "))
    }),
    ("a sub-select in what an insert returns", |sql| {
        sql.starts_with("insert ")
            && parts(sql, " returning ", &[]).iter().any(|part| part.contains("(select "))
    }),
    ("a clock or interval in on conflict: take it from `excluded`", |sql| {
        let set = parts(sql, "do update set ", &[" returning "]);
        set.iter().any(|set| has(set, &VOLATILE) || has(set, &STABLE) || set.contains("interval"))
    }),
];
const VOLATILE: [&str; 4] = ["clock_timestamp()", "random()", "gen_random_uuid()", "nextval("];
const STABLE: [&str; 2] = ["now()", "statement_timestamp()"];

fn has(sql: &str, words: &[&str]) -> bool {
    words.iter().any(|word| sql.contains(word))
}

/// The assignments of all updates in a statement.
fn assignments(sql: &str) -> Vec<&str> {
    let updates = sql
        .match_indices("update ")
        .filter(|(at, _)| !sql[..*at].ends_with("for ") && !sql[..*at].ends_with("key "));
    let sets = updates.filter_map(|(at, _)| {
        let (target, set) = sql[at + "update ".len()..].split_once(" set ")?;
        // A table, and perhaps its short name. `do update set` names none.
        (target.split(' ').count() <= 2 && !target.starts_with("set ")).then_some(set)
    });
    let ends = [" from ", " where ", " returning "];
    sets.flat_map(|set| split(until(set, &ends))).collect()
}

/// Every update and delete of a statement, up to the bracket that closes around it.
fn changes(sql: &str) -> Vec<&str> {
    let verbs = ["update ", "delete from "];
    let begins = verbs.iter().flat_map(|verb| sql.match_indices(verb)).map(|(at, _)| at);
    let is_lock =
        |at: usize| sql[..at].ends_with("for ") || sql[..at].ends_with("key ") || sql[..at].ends_with("do ");
    begins.filter(|at| !is_lock(*at)).map(|at| until(&sql[at..], &[])).collect()
}

/// What an insert selects, where nothing stands before it.
fn inserted_by_select(sql: &str) -> Option<&str> {
    Some(sql.strip_prefix("insert into ")?.split_once(") select ")?.1)
}

/// Whether a select reads more than its parameters.
fn reads_a_table(sql: &str) -> bool {
    let from = [" from ", " join ", "(from "].iter().flat_map(|word| parts(sql, word, &[]));
    from.filter(|read| !read.starts_with('(')).any(|read| !read.starts_with("unnest("))
}

/// A value that adds an interval to what is not known before the statement runs.
fn adds_to_a_column(value: &str) -> bool {
    if !value.contains("interval") || value.contains("at time zone") {
        return false;
    }
    let value = value.split_once('=').map_or(value, |(_, value)| value);
    let known = STABLE.iter().fold(value.to_owned(), |value, clock| value.replace(clock, ""));
    let known = known.replace("make_interval(secs =>", "(").replace("interval '", "'");
    let known = known.replace("::interval", "").replace("::timestamptz", "");
    // What is left of words outside of quotes is a column.
    known.split('\'').step_by(2).any(|outside| outside.contains(|letter: char| letter.is_ascii_lowercase()))
}

/// What stands behind each `open`, up to one of `ends` or the bracket that closes around it.
fn parts<'a>(sql: &'a str, open: &'a str, ends: &[&str]) -> Vec<&'a str> {
    sql.split(open).skip(1).map(|rest| until(rest, ends)).collect()
}

/// `sql` up to one of `ends`, or to a bracket that was opened before it.
fn until<'a>(sql: &'a str, ends: &[&str]) -> &'a str {
    let mut depth = 0;
    let end = sql.char_indices().find(|(at, letter)| {
        depth += i32::from(*letter == '(') - i32::from(*letter == ')');
        let ends_here =
            || ends.iter().any(|end| sql[*at..].starts_with(end)) && !sql[..*at].ends_with("distinct");
        depth < 0 || depth == 0 && ends_here()
    });
    &sql[..end.map_or(sql.len(), |(at, _)| at)]
}

/// At the commas outside of brackets.
fn split(list: &str) -> Vec<&str> {
    let mut depth = 0;
    list.split(|letter: char| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        depth == 0 && letter == ','
    })
    .collect()
}

/// The literals of `code` that are SQL.
pub(crate) fn literals(code: &str) -> Vec<String> {
    // A quote that is a letter opens nothing.
    let code = code.replace("'\"'", "").replace("\\\"", "");
    let texts = code.split('"').skip(1).step_by(2).map(|text| one_line(&text.replace('\\', " ")));
    let verbs = ["select ", "with ", "insert ", "update ", "delete ", "begin", "set "];
    texts.filter(|text| verbs.iter().any(|verb| text.starts_with(verb))).collect()
}

fn one_line(text: &str) -> String {
    let uncommented = text.lines().map(|line| line.split("--").next().unwrap_or_default());
    uncommented.collect::<Vec<_>>().join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
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

/// Every statement that stands in a file.
pub(crate) fn in_files() -> Vec<Statement> {
    let mut found = Vec::new();
    for krate in crates().iter().filter(|krate| WITH_SQL.contains(&krate.name.as_str())) {
        files_below(&root().join(&krate.folder).join("sql"), &mut found);
    }
    assert!(found.len() > 300, "the statements were found: {}", found.len());
    found
}

/// Those, and what sources hold.
pub(crate) fn statements() -> Vec<Statement> {
    let mut found = in_files();
    let with_sql = crates().into_iter().filter(|krate| WITH_SQL.contains(&krate.name.as_str()));
    for source in with_sql.flat_map(|krate| product_of(&krate)) {
        let of = |sql| Statement { place: source.path.clone(), sql };
        found.extend(literals(&source.text).into_iter().map(of));
    }
    found
}

#[test]
fn statements_are_supported_by_a_distributed_database() {
    let statements = statements();
    let mut added = Vec::new();
    for Statement { place, sql } in &statements {
        for (what, _) in REFUSED.iter().filter(|(_, is_refused)| is_refused(sql)) {
            added.push(format!("{place}: {what}: {sql}"));
        }
    }
    assert!(added.is_empty(), "{}", added.join("\n"));
}

#[test]
fn each_unsupported_construct_is_recognized() {
    let examples = [
        "set plan_cache_mode = force_generic_plan",
        "with behind as (select a from b) update keys k set revoked_at = clock_timestamp() from behind where user_id = $1",
        "update jobs set version = version + 1, ready_at = case when status = 'queued' then now() end where user_id = $1",
        "update conversations c set data = coalesce(c.data, '{}') || jsonb_build_object('a', k.a) from k",
        "update users set forgotten_to = ($2::text[])[1] where user_id = $1",
        "update orders set next_at = greatest(next_at, $2) + interval '1 minute' where id = $1",
        "with due as (select a from b) update jobs j set a = 1 from due returning j.a, statement_timestamp() as now",
        "with ended as (update turns set a = $1 where b > clock_timestamp() - $2 * interval '1 second' returning c) update messages set a = 1",
        "update memories m set words = to_tsvector(t.c, m.d) from (select a, c::regconfig from unnest($1::text[], $2::text[]) k (a, c)) t where m.a = t.a",
        "insert into a (b, at) select $1, $2 + $3 * interval '1 second' where exists (select from c where d = $1)",
        "insert into a (b) select case when $2 is null or exists (select from c where d = $2) then $1 else $2 end returning b",
        "insert into a (b) values ($1, (select c from d))",
        "insert into a (b) select $1 from c returning b, (select count(*) from d) as ds",
        "insert into a (b) values ($1) on conflict (b) do update set at = case when a.at > $2 - $3::interval then $2 end returning b",
    ];
    for ((what, is_refused), example) in REFUSED.iter().zip(examples) {
        assert!(is_refused(example), "{what}: {example}");
    }
    for fine in [
        "update keys set revoked_at = statement_timestamp() where user_id = $1",
        "update orders set lease_until = statement_timestamp() + $2::interval, pause = statement_timestamp() + interval '5 minutes'",
        "update jobs set a = (b at time zone 'UTC' + c * interval '1 second') at time zone 'UTC' where user_id = $1",
        "update jobs set ready_at = case when status = 'queued' then clock.later end from (select now() + interval '1 day' as later) clock",
        "select j.* from jobs j where j.at <= clock_timestamp() for update of j skip locked",
        "insert into a (b, at) values ($1, clock_timestamp()) on conflict (b) do update set at = excluded.at returning b",
        "insert into a (b) select c from (select c from d) e",
        "with made as (insert into a values ($1) returning id) select id from made",
        "update memories m set words = to_tsvector(t.c, m.d) from unnest($1::text[], $2::text[]::regconfig[]) t (a, c) where m.a = t.a",
        "with k as (select clock_timestamp() as now) update jobs j set a = 1 from k where j.a < k.now",
        "insert into a (b, at) select $1, ($2 at time zone 'UTC' + $3 * interval '1 second') at time zone 'UTC' from c where d = $1",
        "insert into a (b, at) select k.b, statement_timestamp() from unnest($1::text[]) as k (b) order by k.b",
        "insert into a (b, at) select $1, clock_timestamp() + interval '1 day' from c",
        "with k as materialized (select case when exists (select from c where d = $2) then $1 end as b) insert into a (b, at) select b, $3 + $4 * interval '1 second' from k",
        "update folders f set name = $1 where id = $2 returning id, (select count(*) from conversations c) as conversations",
    ] {
        let refused: Vec<_> =
            REFUSED.iter().filter(|(_, is_refused)| is_refused(fine)).map(|(what, _)| what).collect();
        assert!(refused.is_empty(), "{refused:?}: {fine}");
    }
}
