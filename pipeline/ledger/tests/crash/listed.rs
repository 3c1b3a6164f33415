//! No public verb is left out: each is cut off by this kit, or only reads, or has a reason.
//!
//! The ledger's source says which verbs there are, and this kit's says which it cuts: those that stand in a `say`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::reads::READS;

/// What is not cut off, and why.
const NOT_CUT: [(&str, &str); 23] = [
    ("report_servers", "one statement that notes what a process knows; the next report says it again"),
    ("begin_order", "one transaction that records an order, of which nothing is done yet"),
    ("give_order", "one transaction of `operate`"),
    ("end_order", "one statement that notes counts; cut off, the order keeps the count of what was found"),
    (
        "migrate",
        "each migration is a transaction of its own, statement by statement, and refused when it was half done",
    ),
    ("mark_answered", "one statement; cut off, a repeat of the request waits for a minute"),
    ("close", "says nothing to the database but goodbye"),
    ("prove_alive", "one statement that takes a crash back; cut off, the crash stays counted"),
    ("carry_wakes", "listens and notifies: a wake-up that is lost costs a poll, as the job is in the table"),
    ("round_done", "one statement that notes one moment; the next round notes the next"),
    (
        "leave_replay",
        "one statement that ends a turn early; a turn that nobody ends runs out, and is taken over",
    ),
    ("due_page", "locks what it reads for one statement, to pass by what others hold; writes nothing"),
    ("expired_leases", "likewise"),
    ("claim_hand_overs", "one statement; what it took may be taken again after 30 s"),
    ("handed_over", "one statement; cut off, the same tasks are created again, which the task queue refuses"),
    ("hand_over_failed", "one statement; cut off, the tasks are tried again after 30 s"),
    ("renew_live", "one transaction that moves two moments of one row; the next renewal moves them again"),
    (
        "hold_turn",
        "one transaction that moves one moment of one row; cut off, no tool is called in the turn's name",
    ),
    ("follow_apps", "brings webhooks up to date in batches, each a transaction; the round does it again"),
    ("reseal_secrets", "encrypts rows in pages, each a transaction; said again, it goes on"),
    ("begin_export", "one transaction that records one action"),
    ("begin_erasure", "one transaction, said again by whoever goes on with an erasure"),
    (
        "erase_some",
        "the command is ended between its transactions, each of which only removes: `resources erasure`",
    ),
];

/// The files in which verbs are said.
const KIT: [&str; 8] =
    ["apps.rs", "verbs.rs", "words.rs", "pushes.rs", "bulks.rs", "objects.rs", "owned.rs", "live.rs"];

#[test]
fn every_public_verb_is_cut_off_or_only_reads_or_has_a_reason() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let verbs = public_verbs(home.parent().unwrap());
    let said: BTreeSet<String> = KIT
        .iter()
        .flat_map(|file| said_in(&std::fs::read_to_string(home.join("tests/crash").join(file)).unwrap()))
        .collect();
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for verb in &verbs {
        let place = places.entry(verb).or_default();
        place.extend(said.contains(verb).then_some("cut"));
        place.extend(READS.contains(&verb.as_str()).then_some("reads"));
        place.extend(NOT_CUT.iter().any(|(name, _)| name == verb).then_some("not cut"));
    }
    places.retain(|_, places| places.len() != 1);
    assert!(places.is_empty(), "in no place, or in more than one: {places:?}");
    let listed = READS.iter().copied().chain(NOT_CUT.map(|(name, _)| name));
    let gone: Vec<&str> = listed.filter(|name| !verbs.contains(*name)).collect();
    assert!(gone.is_empty(), "no verbs of the ledger: {gone:?}");
    println!(
        "{} verbs are cut off, {} only read, {} are neither",
        verbs.intersection(&said).count(),
        READS.len(),
        NOT_CUT.len()
    );
}

/// The crates whose verbs these are, each with the type that has them.
const HANDLES: [(&str, &str); 5] = [
    ("db", "impl Db {"),
    ("store", "impl Store {"),
    ("outbox", "impl Outbox {"),
    ("ledger", "impl Ledger {"),
    ("operations", "impl Operations {"),
];

/// Parts of verbs of another crate, cut off with these: they begin its transaction or write inside of it.
const WITHIN: [&str; 11] = [
    "begin",
    "begin_creating",
    "begin_reading",
    "begin_renewing",
    "begin_unflushed",
    "begin_without_clock",
    "charge",
    "operate_on",
    "prune_installs",
    "prune_locations",
    "prune_request_keys",
];

/// The `pub async fn`s of every handle.
fn public_verbs(crates: &Path) -> BTreeSet<String> {
    let mut verbs = BTreeSet::new();
    let sources = HANDLES.iter().flat_map(|(krate, begins)| {
        files(&crates.join(krate).join("src")).into_iter().map(move |file| (file, *begins))
    });
    for (file, begins) in sources {
        let mut of_handle = false;
        for line in std::fs::read_to_string(&file).unwrap().lines() {
            if line.starts_with("impl") {
                of_handle = line == begins;
            }
            let verb = line.strip_prefix("    pub async fn ").filter(|_| of_handle);
            verbs.extend(verb.map(word));
        }
    }
    verbs.retain(|verb| !WITHIN.contains(&verb.as_str()));
    assert!(verbs.len() > 100, "the source is read: {verbs:?}");
    verbs
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Whatever is called in the function `say`.
fn said_in(text: &str) -> Vec<String> {
    let say = text.split_once("    async fn say(").expect("verbs are said here").1;
    let say = say.split_once("\n    }\n").expect("it ends").0;
    say.split('.').skip(1).filter(|rest| rest[word(rest).len()..].starts_with('(')).map(word).collect()
}

/// The name with which a text begins.
fn word(text: &str) -> String {
    text.chars().take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '_').collect()
}
