//! Orders over two shards of which the first one fails: the second carries them out, and the command tells both.

use serde_json::{Value, json};
use testbed::TestDatabase;

use crate::binary::{command_with, told};
use crate::client::Client;
use crate::process::Process;
use crate::shards_operated::CAUSE;
use crate::world::GARDEN;

const SHARDS: [(&str, &str); 1] = [("LISTEN_SHARDS", "2")];
/// The server goes down when the second job is changed.
const DIES_MIDWAY: &str = "create sequence listen_0000.changes; \
     create function listen_0000.go_down() returns trigger language plpgsql as $$ begin \
     if nextval('listen_0000.changes') > 1 then raise 'going down' using errcode = 'admin_shutdown'; end if; \
     return new; end $$; \
     create trigger go_down before update on listen_0000.finalization_jobs \
     for each row execute function listen_0000.go_down()";
/// So many jobs wait in each shard.
const JOBS: u64 = 3;

/// Two shards in one database.
struct Shards {
    database: TestDatabase,
    url: String,
}

impl Shards {
    async fn empty() -> Self {
        let database = TestDatabase::empty().await;
        let url = database.url();
        Self { database, url }
    }

    /// Migrated, with jobs in both that wait.
    async fn with_jobs() -> Self {
        let shards = Self::empty().await;
        shards.printed(&["migrate"]);
        shards.printed(&[&["jobs", "pause"][..], &CAUSE].concat());
        let process = Process::serve(&shards.url, &SHARDS).await;
        for shard in ["0", "1"] {
            let user = shards.printed(&["users", "create", "--shard", shard]);
            let client = Client::new(&process.api, &shards.printed(&["keys", "create", "--user", &user]));
            for _ in 0..JOBS {
                client.admit(GARDEN).await;
            }
        }
        process.kill().await;
        shards
    }

    /// The exit code, stdout and stderr.
    fn ends(&self, words: &[&str]) -> (Option<i32>, String, String) {
        told(&command_with(&self.url, &SHARDS, words))
    }

    fn printed(&self, words: &[&str]) -> String {
        let (code, printed, complaint) = self.ends(words);
        assert_eq!(code, Some(0), "{words:?}: {complaint}");
        printed.trim().to_owned()
    }

    fn listed(&self, words: &[&str]) -> usize {
        let printed = self.printed(&[words, &["--json"]].concat());
        let document: Value = serde_json::from_str(&printed).expect("a document");
        document["jobs"].as_array().expect("jobs").len()
    }

    async fn run(&self, sql: &str) {
        self.database.run(sql).await;
    }

    /// All jobs become dead letters.
    async fn die(&self) {
        for shard in ["listen_0000", "listen_0001"] {
            let table = format!("{shard}.finalization_jobs");
            let dies = crate::command_errors::DIES.replace("finalization_jobs", &table);
            self.run(&format!(
                "{dies}, finished_at = updated_at, ready_at = null, reconcile_after_at = null"
            ))
            .await;
        }
    }

    /// The newest job of the first shard, which is the first of its lists, can no longer be changed.
    async fn keep_one(&self) -> String {
        let listed = document(&self.printed(&["jobs", "list", "--shard", "0", "--json"]));
        let job = listed["jobs"][0]["job_id"].as_str().expect("an id").to_owned();
        self.run(&format!(
            "create function listen_0000.keep() returns trigger language plpgsql as $$ begin \
             if old.job_id = '{job}' then raise 'kept for the auditors'; end if; return new; end $$; \
             create trigger keep before update on listen_0000.finalization_jobs \
             for each row execute function listen_0000.keep()"
        ))
        .await;
        job
    }
}

fn document(printed: &str) -> Value {
    serde_json::from_str(printed).unwrap_or_else(|_| panic!("no document: {printed:?}"))
}

#[tokio::test]
async fn pause_tells_what_it_did_where_another_shard_ends_with_an_error() {
    let shards = Shards::empty().await;
    shards.printed(&["migrate"]);
    shards.run("alter table listen_0000.queue_pauses rename to pauses_of_before").await;

    let (code, printed, complaint) = shards.ends(&[&["jobs", "pause"][..], &CAUSE].concat());

    assert_eq!((code, printed.lines().count()), (Some(4), 1), "{printed}{complaint}");
    assert!(printed.starts_with("shard 1 of 2: finalization: paused: no process claims"), "{printed}");
    assert!(complaint.starts_with("error: shard 0 of 2: ") && complaint.contains("42P01"), "{complaint}");
    let (code, printed, _) = shards.ends(&[&["jobs", "resume", "--json"][..], &CAUSE].concat());
    let resumed = document(&printed);
    assert_eq!((code, &resumed["shards"]), (Some(4), &json!([{ "shard": 1, "changed": true }])));
    // Where nothing was done anywhere, nothing is said on stdout.
    shards.run("alter table listen_0001.queue_pauses rename to pauses_of_before").await;
    let (code, printed, complaint) = shards.ends(&[&["jobs", "pause", "--json"][..], &CAUSE].concat());
    assert_eq!((code, &*printed), (Some(4), ""));
    assert!(complaint.starts_with("shard 1 of 2: "), "{complaint}");
    assert!(complaint.contains("error: shard 0 of 2: "), "{complaint}");
}

#[tokio::test]
async fn cancel_by_filter_goes_on_in_other_shards_where_one_goes_away_midway() {
    let shards = Shards::with_jobs().await;
    shards.run(DIES_MIDWAY).await;

    let cancel = [&["jobs", "cancel", "--newer-than", "1d", "--yes"][..], &CAUSE].concat();
    let (code, printed, complaint) = shards.ends(&[&cancel[..], &["--json"]].concat());

    let told = json!({ "found": 2 * JOBS, "cancelled": JOBS + 1, "refused": 0, "failed": 0, "unanswered": JOBS - 1 });
    assert_eq!((code, document(&printed)), (Some(69), told), "{complaint}");
    assert!(complaint.contains("error: shard 0 of 2: "), "{complaint}");
    assert_eq!(shards.listed(&["jobs", "list", "--status", "dead_letter"]), 4);

    let (code, printed, _) = shards.ends(&cancel);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!((code, lines.last()), (Some(69), Some(&"cancelled: 0, refused: 0, without an answer: 2")));
    shards.run("drop trigger go_down on listen_0000.finalization_jobs").await;
    assert!(shards.printed(&cancel).ends_with("cancelled: 2, refused: 0"), "what was left is found again");
}

#[tokio::test]
async fn named_jobs_of_other_shards_are_cancelled_where_one_goes_away_midway() {
    let shards = Shards::with_jobs().await;
    let listed = document(&shards.printed(&["jobs", "list", "--json"]));
    let jobs =
        listed["jobs"].as_array().expect("jobs").iter().map(|job| job["job_id"].as_str().expect("an id"));
    let mut jobs: Vec<&str> = jobs.collect();
    // Those of the shard that fails come first.
    jobs.sort_unstable();
    shards.run(DIES_MIDWAY).await;

    let words = [&["jobs", "cancel", "--yes", "--json"][..], &jobs, &CAUSE].concat();
    let (code, printed, complaint) = shards.ends(&words);

    let told = json!({ "found": 2 * JOBS, "cancelled": JOBS + 1, "refused": 0, "failed": 0, "unanswered": JOBS - 1 });
    assert_eq!((code, document(&printed)), (Some(69), told), "{complaint}");
}

#[tokio::test]
async fn dismiss_by_filter_goes_on_in_other_shards_where_one_goes_away_midway() {
    let shards = Shards::with_jobs().await;
    shards.die().await;
    shards.run(DIES_MIDWAY).await;

    let dismiss = [&["jobs", "dismiss", "--all", "--yes"][..], &CAUSE].concat();
    let (code, printed, complaint) = shards.ends(&dismiss);

    let lines: Vec<&str> = printed.lines().collect();
    let told = [
        "shard 0 of 2: dismissed: 1, refused: 0, without an answer: 2",
        "shard 1 of 2: dismissed: 3, refused: 0",
    ];
    assert_eq!((code, &lines[..2]), (Some(69), &told[..]), "{printed}{complaint}");
    assert_eq!(lines[2..], ["dismissed: 4, refused: 0, without an answer: 2"]);
    assert!(complaint.contains("error: shard 0 of 2: "), "{complaint}");
    let audit = shards.printed(&["audit", "list", "--action", "bulk_dismiss", "--shard", "0", "--json"]);
    let detail = &document(&audit)["actions"][0]["detail"];
    assert!(
        detail.as_str().is_some_and(|words| words.ends_with(": 1 done, 0 refused, 2 without an answer")),
        "{detail}"
    );
    shards.run("drop trigger go_down on listen_0000.finalization_jobs").await;
    assert!(shards.printed(&dismiss).ends_with("dismissed: 2, refused: 0"), "what was left is found again");
}

/// An order by a filter that finds all jobs, of which one cannot be changed.
async fn goes_on_behind_one(shards: &Shards, order: &str, done: &str) {
    let kept = shards.keep_one().await;
    let words = [&["jobs", order, "--newer-than", "1d", "--yes"][..], &CAUSE].concat();

    let (code, printed, complaint) = shards.ends(&[&words[..], &["--json"]].concat());

    let told = json!({ "found": 2 * JOBS, done: 2 * JOBS - 1, "refused": 0, "failed": 1, "unanswered": 0 });
    assert_eq!((code, document(&printed)), (Some(5), told), "{complaint}");
    assert!(complaint.starts_with(&format!("{kept}: ")), "{complaint}");
    assert!(complaint.contains("kept for the auditors"), "{complaint}");
    let (code, printed, complaint) = shards.ends(&words);
    let last = format!("{done}: 0, refused: 0, failed: 1");
    assert_eq!((code, printed.lines().last()), (Some(5), Some(&*last)), "it alone is left: {complaint}");
}

#[tokio::test]
async fn cancel_by_filter_goes_on_behind_a_job_that_cannot_be_changed_and_names_it() {
    goes_on_behind_one(&Shards::with_jobs().await, "cancel", "cancelled").await;
}

#[tokio::test]
async fn dismiss_by_filter_goes_on_behind_a_job_that_cannot_be_changed_and_names_it() {
    let shards = Shards::with_jobs().await;
    shards.die().await;
    goes_on_behind_one(&shards, "dismiss", "dismissed").await;
}

#[tokio::test]
async fn migrate_goes_on_in_other_shards_where_one_ends_with_an_error() {
    let shards = Shards::empty().await;
    // A table of another program's is in the way.
    shards.run("create schema listen_0000; create table listen_0000.users (id text)").await;

    let (code, printed, complaint) = shards.ends(&["migrate"]);

    assert_eq!((code, printed.lines().count()), (Some(1), 1), "{printed}{complaint}");
    assert!(printed.starts_with("shard 1 of 2: ") && printed.contains("migrations applied"), "{printed}");
    assert!(complaint.contains("error: shard 0 of 2: "), "{complaint}");
    let (code, printed, _) = shards.ends(&["migrate", "--json"]);
    let migrated = json!({ "shards": [{ "shard": 1, "applied": [], "newer": [] }] });
    assert_eq!((code, document(&printed)), (Some(1), migrated));
}

#[tokio::test]
async fn doctor_examines_a_server_by_a_shard_that_is_migrated() {
    let shards = Shards::empty().await;
    shards.printed(&["migrate", "--shard", "1"]);

    let (code, printed, complaint) = shards.ends(&["doctor", "--json"]);

    let document = document(&printed);
    let checks = document["checks"].as_array().expect("checks").iter();
    let of_server: Vec<&str> = checks
        .filter(|check| !check["database"].is_null())
        .map(|check| check["check"].as_str().expect("a name"))
        .collect();
    assert_eq!(code, Some(1), "{complaint}");
    assert_eq!(of_server.iter().filter(|name| **name == "sessions").count(), 1, "{of_server:?}");
    assert_eq!(of_server.iter().filter(|name| **name == "clock").count(), 1, "{of_server:?}");
}

/// Only the first shard was asked for paused queues: jobs replayed in the other one waited, and no message said why.
#[tokio::test]
async fn bulk_replay_names_the_shard_in_which_the_queue_is_paused() {
    let shards = Shards::with_jobs().await;
    shards.die().await;
    shards.printed(&[&["jobs", "resume", "--shard", "0"][..], &CAUSE].concat());

    let (code, _, complaint) = shards.ends(&[&["jobs", "replay", "--all", "--dry-run"][..], &CAUSE].concat());

    assert_eq!(code, Some(0), "{complaint}");
    assert!(complaint.contains("is paused by ann in shard 1; `listen jobs resume"), "{complaint}");
    let first = [&["jobs", "replay", "--all", "--shard", "0", "--dry-run"][..], &CAUSE].concat();
    let (_, _, complaint) = shards.ends(&first);
    assert!(!complaint.contains("paused"), "{complaint}");
}
