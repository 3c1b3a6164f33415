//! Coverage: every public operation is cut off by these tests, only reads, or is listed with a reason.
//!
//! The public operations are read from the source of the crates, and the tested ones from the `execute` functions of
//! these tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::reads::READS;

/// The operations that are not cut off, and why.
const NOT_CUT: [(&str, &str); 22] = [
    ("report_servers", "one statement that stores the state of a process; the next report replaces it"),
    ("begin_order", "one transaction that records an order, before anything is changed"),
    ("give_order", "one transaction of `operate`"),
    ("end_order", "one statement that records counts; cut off, the order keeps the count of jobs found"),
    ("migrate", "each migration is a transaction, and a half-applied one is refused"),
    ("close", "closes connections, and changes nothing"),
    ("prove_alive", "one statement that undoes a crash; cut off, the crash stays counted"),
    ("carry_wakes", "listens and notifies: a wake-up that is lost costs a poll, as the job is in the table"),
    ("round_done", "one statement that records a time; the next round records the next"),
    ("due_page", "locks the rows it reads for one statement, to skip locked ones; writes nothing"),
    ("expired_leases", "as `due_page`"),
    ("claim_hand_overs", "one statement; claimed hand-overs may be claimed again after 30 s"),
    ("handed_over", "one statement; cut off, the same tasks are created again, which the task queue refuses"),
    ("hand_over_failed", "one statement; cut off, the tasks are tried again after 30 s"),
    ("renew_live", "one transaction that updates two times of one row; the next renewal updates them again"),
    ("hold_turn", "one transaction that updates one time of one row; cut off, no tool of the turn is called"),
    (
        "forget_more",
        "one transaction, whose place is in the row of the user; cut off, the next call begins at the same place",
    ),
    ("follow_apps", "updates webhooks in batches, each a transaction; the next round repeats it"),
    ("reseal_secrets", "encrypts rows in pages, each a transaction; a repeat continues"),
    ("begin_export", "one transaction that records one action"),
    ("begin_erasure", "one transaction, repeated by the command that continues an erasure"),
    (
        "erase_some",
        "tested by ending the command between its transactions, each of which only deletes: `resources erasure`",
    ),
];

/// The files with `execute` functions.
const KIT: [&str; 8] = [
    "apps.rs",
    "job_operations.rs",
    "keyed_requests.rs",
    "pushes.rs",
    "bulk_replays.rs",
    "user_objects.rs",
    "accounts.rs",
    "live.rs",
];

#[test]
fn every_public_operation_is_cut_off_or_only_reads_or_has_a_reason() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let operations = public_operations(home.parent().unwrap());
    let executed: BTreeSet<String> = KIT
        .iter()
        .flat_map(|file| executed_in(&std::fs::read_to_string(home.join("tests/crash").join(file)).unwrap()))
        .collect();
    let mut lists: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for operation in &operations {
        let list = lists.entry(operation).or_default();
        list.extend(executed.contains(operation).then_some("cut"));
        list.extend(READS.contains(&operation.as_str()).then_some("reads"));
        list.extend(NOT_CUT.iter().any(|(name, _)| name == operation).then_some("not cut"));
    }
    lists.retain(|_, lists| lists.len() != 1);
    assert!(lists.is_empty(), "in no list, or in more than one: {lists:?}");
    let listed = READS.iter().copied().chain(NOT_CUT.map(|(name, _)| name));
    let unknown: Vec<&str> = listed.filter(|name| !operations.contains(*name)).collect();
    assert!(unknown.is_empty(), "no operations of the ledger: {unknown:?}");
    println!(
        "{} operations are cut off, {} only read, {} are neither",
        operations.intersection(&executed).count(),
        READS.len(),
        NOT_CUT.len()
    );
}

/// The crates with public operations, each with the type that has them.
const HANDLES: [(&str, &str); 5] = [
    ("db", "impl Db {"),
    ("store", "impl Store {"),
    ("outbox", "impl Outbox {"),
    ("ledger", "impl Ledger {"),
    ("operations", "impl Operations {"),
];

/// Parts of operations of another crate, cut off with these: they begin its transaction or write inside it.
const WITHIN: [&str; 11] = [
    "begin",
    "begin_creating",
    "begin_reading",
    "begin_renewing",
    "begin_unflushed",
    "begin_without_clock",
    "charge",
    "delete_of_user",
    "delete_with_rows",
    "operate_on",
    "prune_request_keys",
];

/// The `pub async fn`s of all handles.
fn public_operations(crates: &Path) -> BTreeSet<String> {
    let mut operations = BTreeSet::new();
    let sources = HANDLES.iter().flat_map(|(krate, begins)| {
        files(&crates.join(krate).join("src")).into_iter().map(move |file| (file, *begins))
    });
    for (file, begins) in sources {
        let mut of_handle = false;
        for line in std::fs::read_to_string(&file).unwrap().lines() {
            if line.starts_with("impl") {
                of_handle = line == begins;
            }
            let operation = line.strip_prefix("    pub async fn ").filter(|_| of_handle);
            operations.extend(operation.map(word));
        }
    }
    operations.retain(|operation| !WITHIN.contains(&operation.as_str()));
    assert!(operations.len() > 100, "the source is read: {operations:?}");
    operations
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The functions that are called in `execute`.
fn executed_in(text: &str) -> Vec<String> {
    let body = text.split_once("    async fn execute(").expect("operations are executed here").1;
    let body = body.split_once("\n    }\n").expect("it ends").0;
    body.split('.').skip(1).filter(|rest| rest[word(rest).len()..].starts_with('(')).map(word).collect()
}

/// The identifier at the start of a text.
fn word(text: &str) -> String {
    text.chars().take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '_').collect()
}
