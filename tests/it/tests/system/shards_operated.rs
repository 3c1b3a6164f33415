//! Operator commands and the console over several shards.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::installation::{Installation, User};
use crate::process::until;
use crate::replay::{broken, locked_model};
use crate::world::GARDEN;

const USERS: usize = 10;
/// The code of a command of which a shard did not answer.
const AWAY: Option<i32> = Some(69);

/// Four shards on servers that hold these ranges of them, and users in all.
pub(crate) fn installed(ranges: &[&str]) -> (Installation, Vec<User>) {
    let installation = Installation::start(4, ranges);
    installation.printed(&["migrate"]);
    let mut users: Vec<User> = Vec::new();
    let shards = |users: &[User]| users.iter().map(|user| user.shard).collect::<BTreeSet<u32>>().len();
    while users.len() < USERS || shards(&users) < 4 {
        users.push(installation.with(format!("user-{:02}", users.len())));
    }
    (installation, users)
}

impl Installation {
    fn document(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.printed(&[words, &["--json"]].concat())).expect("a document")
    }

    /// All items of a list, three a page.
    fn pages(&self, words: &[&str], items: &str) -> Vec<Value> {
        let (mut all, mut after) = (Vec::new(), None::<String>);
        loop {
            let mut words = [words, &["--limit", "3"]].concat();
            if let Some(cursor) = &after {
                words.extend(["--after", cursor]);
            }
            let page = self.document(&words);
            let found = page[items].as_array().expect("items").clone();
            assert!(found.len() == 3 || page["next"].is_null(), "{page}");
            all.extend(found);
            match page["next"].as_str() {
                Some(next) => after = Some(next.to_owned()),
                None => return all,
            }
        }
    }
}

pub(crate) fn texts(items: &[Value], field: &str) -> Vec<String> {
    items.iter().map(|item| item[field].as_str().expect("a text").to_owned()).collect()
}

pub(crate) const CAUSE: [&str; 4] = ["--reason", "a test", "--operator", "ann"];

#[tokio::test]
async fn shards_lists_pauses_and_replays_cover_all() {
    let (installation, users) = installed(&["0-1", "2-3"]);

    // Lists have one order and one cursor.
    let listed = texts(&installation.pages(&["users", "list"], "users"), "id");
    let mut ids: Vec<String> = users.iter().map(|user| user.id.clone()).collect();
    ids.sort();
    assert_eq!(listed, ids);
    let one: BTreeSet<String> =
        texts(&installation.pages(&["users", "list", "--shard", "1"], "users"), "id").into_iter().collect();
    let in_one: BTreeSet<String> =
        users.iter().filter(|user| user.shard == 1).map(|user| user.id.clone()).collect();
    assert_eq!(one, in_one);

    for shard in [(users[0].shard + 1) % 4, 9] {
        let words = ["users", "create", "--id", &users[0].id, "--shard", &shard.to_string()];
        let refused = installation.command(&words);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    }

    // Without an id of their own, a user is made in the shard that is named: not by chance.
    for shard in ["0", "1", "2", "3", "3"] {
        let made = installation.printed(&["users", "create", "--shard", shard]);
        let key = installation.printed(&["keys", "create", "--user", &made]);
        assert_eq!(&key[4..6], format!("0{shard}"), "{made}");
        installation.printed(&[&["users", "delete", &made, "--yes"][..], &CAUSE].concat());
    }

    // A pause is of the queue, wherever its jobs are.
    let paused = installation.document(&[&["jobs", "pause", "finalization"][..], &CAUSE].concat());
    assert_eq!((&paused["changed"], paused["shards"].as_array().map(Vec::len)), (&json!(true), Some(4)));
    let again = installation.printed(&[&["jobs", "pause", "finalization"][..], &CAUSE].concat());
    assert_eq!(again.lines().count(), 4, "{again}");
    assert!(
        again
            .lines()
            .last()
            .is_some_and(|line| line.starts_with("shard 3 of 4: finalization: paused already"))
    );
    let model = locked_model().await;
    let url = model.base_url();
    let process = installation.serve_with(&broken(&url)).await;
    let mut conversations = Vec::new();
    for user in &users {
        conversations.push(user.at(&process).admit(GARDEN).await);
    }
    let jobs = installation.pages(&["jobs", "list", "--status", "queued"], "jobs");
    let admitted = texts(&jobs, "created_at");
    assert_eq!(jobs.len(), users.len());
    assert!(admitted.is_sorted_by(|one, two| one >= two), "newest first: {admitted:?}");
    let resumed = installation.printed(&[&["jobs", "resume", "finalization"][..], &CAUSE].concat());
    assert_eq!(resumed.matches("resumed: workers claim").count(), 4, "{resumed}");

    // The model refuses: all of them die, and are replayed with one command.
    for (user, conversation) in users.iter().zip(&conversations) {
        assert_eq!(user.at(&process).finished(conversation).await["status"], "dead_letter");
    }
    process.kill().await;
    let causes = installation.document(&["jobs", "list", "--status", "dead_letter", "--by-code"]);
    assert_eq!(causes["jobs"], json!(users.len()), "{causes}");
    let foreseen = installation.document(&[&["jobs", "replay", "--all", "--dry-run"][..], &CAUSE].concat());
    assert_eq!((&foreseen["jobs"], &foreseen["users"]), (&json!(users.len()), &json!(users.len())));
    let mended = installation.serve().await;
    let replayed = installation.document(&[&["jobs", "replay", "--all", "--yes"][..], &CAUSE].concat());
    let replays = replayed["replays"].as_array().expect("one of each shard");
    assert_eq!(replays.len(), 4, "{replayed}");
    assert_eq!(replays.iter().map(|one| one["completed"].as_i64().unwrap()).sum::<i64>(), users.len() as i64);
    for (user, conversation) in users.iter().zip(&conversations) {
        assert_eq!(user.at(&mended).finished(conversation).await["status"], "completed");
    }
    assert_eq!(installation.pages(&["replays", "list"], "replays").len(), 4);
    let actions = installation.pages(&["audit", "list", "--operator", "ann"], "actions");
    let of = |action: &str| actions.iter().filter(|one| one["action"] == action).count();
    assert_eq!((of("pause"), of("resume"), of("bulk_replay")), (4, 4, 4), "{actions:?}");
    assert!(texts(&actions, "created_at").is_sorted_by(|one, two| one >= two), "newest first");
    let paused = installation.printed(&["audit", "list", "--action", "pause"]);
    assert!((0..4).all(|shard| paused.contains(&format!("finalization (shard {shard})"))), "{paused}");
}

#[tokio::test]
async fn shards_one_job_command_takes_ids_of_several() {
    let (installation, users) = installed(&["0-1", "2-3"]);
    installation.printed(&[&["jobs", "pause", "finalization"][..], &CAUSE].concat());
    let process = installation.serve().await;
    for user in &users {
        user.at(&process).admit(GARDEN).await;
    }
    let jobs = texts(&installation.pages(&["jobs", "list"], "jobs"), "job_id");
    let ids: Vec<&str> = jobs.iter().map(String::as_str).collect();
    let words = [&["jobs", "cancel", "--yes"][..], &ids, &CAUSE].concat();
    let cancelled = installation.document(&words);
    assert_eq!((&cancelled["cancelled"], &cancelled["refused"]), (&json!(users.len()), &json!(0)));
    let dead = installation.pages(&["jobs", "list", "--status", "dead_letter"], "jobs");
    assert_eq!(dead.len(), users.len());
}

#[tokio::test]
async fn shards_cancel_by_filter_changes_one_users_jobs_only() {
    let (installation, users) = installed(&["0-1", "2-3"]);
    installation.printed(&[&["jobs", "pause", "finalization"][..], &CAUSE].concat());
    let process = installation.serve().await;
    for user in &users {
        user.at(&process).admit(GARDEN).await;
    }
    for _ in 0..3 {
        users[0].at(&process).admit(GARDEN).await;
    }
    let cancel = |consent| [&["jobs", "cancel", "--user", &users[0].id, consent][..], &CAUSE].concat();
    let foreseen = installation.document(&cancel("--dry-run"));
    assert_eq!((&foreseen["found"], &foreseen["cancelled"]), (&json!(4), &json!(0)));
    let cancelled = installation.document(&cancel("--yes"));
    assert_eq!(
        (&cancelled["found"], &cancelled["cancelled"], &cancelled["refused"]),
        (&json!(4), &json!(4), &json!(0))
    );
    let dead = installation.pages(&["jobs", "list", "--status", "dead_letter"], "jobs");
    assert_eq!(texts(&dead, "user_id"), vec![users[0].id.clone(); 4]);
    let waiting = installation.pages(&["jobs", "list", "--status", "queued"], "jobs");
    assert_eq!(waiting.len(), users.len() - 1);
    let actions = installation.pages(&["audit", "list", "--action", "bulk_cancel"], "actions");
    assert_eq!(actions.len(), 1, "one order");
    assert_eq!(installation.document(&cancel("--yes"))["found"], json!(0), "a second time");
}

#[tokio::test]
async fn shards_unreadable_list_parts_are_named_and_doctor_checks_each() {
    let (installation, users) = installed(&["0-1", "2-3"]);
    let process = installation.serve().await;
    for user in &users {
        let conversation = user.at(&process).admit(GARDEN).await;
        assert_eq!(user.at(&process).finished(&conversation).await["status"], "completed");
    }
    let shards = |checks: &Value, level: &str| {
        let checks = checks["checks"].as_array().expect("checks").iter();
        let found = checks.filter(|check| check["level"] == level && check["check"] == "database");
        found.map(|check| check["shard"].as_u64().expect("a number")).collect::<BTreeSet<u64>>()
    };
    // What a process does at its beginning it has done in every shard.
    until(async || installation.command(&["doctor"]).status.success()).await;
    let well = installation.command(&["doctor", "--json"]);
    let checks: Value = serde_json::from_slice(&well.stdout).expect("a document");
    let all: BTreeSet<u64> = checks["checks"]
        .as_array()
        .expect("checks")
        .iter()
        .filter_map(|check| check["shard"].as_u64())
        .collect();
    assert_eq!(all, (0..4).collect(), "{checks}");
    let clocks =
        checks["checks"].as_array().expect("checks").iter().filter(|check| check["check"] == "clock");
    assert_eq!(clocks.count(), 2, "one of each server, not of each shard: {checks}");

    let jobs = installation.pages(&["jobs", "list"], "jobs");
    let job_of = |in_first: bool| {
        let is_of =
            |job: &&Value| users.iter().any(|user| job["user_id"] == user.id && (user.shard < 2) == in_first);
        jobs.iter().find(is_of).and_then(|job| job["job_id"].as_str()).expect("a job of every server")
    };

    installation.servers[1].down("immediate");

    // Ids as narrow lists show them, without the beginning that says in which shard the job is.
    let (here, away) = (job_of(true), job_of(false));
    for (typed, code) in
        [(&here[3..], Some(0)), (&here[31..], Some(0)), (&here[39..], AWAY), (&away[3..], AWAY)]
    {
        let shown = installation.command(&["jobs", "show", typed]);
        assert_eq!(shown.status.code(), code, "{typed}: {shown:?}");
    }

    let listed = installation.command(&["users", "list", "--json"]);
    let page: Value = serde_json::from_slice(&listed.stdout).expect("what answers is listed");
    let here: BTreeSet<String> =
        users.iter().filter(|user| user.shard < 2).map(|user| user.id.clone()).collect();
    let found = texts(page["users"].as_array().expect("items"), "id");
    assert_eq!((listed.status.code(), found.into_iter().collect::<BTreeSet<_>>()), (AWAY, here));
    let said = String::from_utf8_lossy(&listed.stderr).into_owned();
    assert!(said.contains("shard 2 of 4: ") && said.contains("nothing of 2, 3"), "{said}");
    let paused = installation.command(&[&["jobs", "pause"][..], &CAUSE].concat());
    let said = String::from_utf8_lossy(&paused.stdout).into_owned();
    assert_eq!((paused.status.code(), said.lines().count()), (AWAY, 2), "{said}");
    let far = users.iter().find(|user| user.shard == 3).expect("every shard has users");
    let asked = installation.command(&["keys", "list", "--user", &far.id]);
    let said = String::from_utf8_lossy(&asked.stderr).into_owned();
    assert!(said.starts_with("error: shard 3 of 4: ") && said.contains("LISTEN_SHARD_URLS"), "{said}");
    let migrated = installation.command(&["migrate"]);
    let (done, said) = (String::from_utf8_lossy(&migrated.stdout), String::from_utf8_lossy(&migrated.stderr));
    assert_eq!((migrated.status.code(), done.lines().count()), (AWAY, 2), "{done}{said}");
    assert!(said.contains("shard 3 of 4: ") && said.contains("no answer from 2, 3"), "{said}");
    let watched = installation.command(&["jobs", "watch", "--looks", "1", "--json"]);
    let sum: Value = serde_json::from_slice(&watched.stdout).expect("the sum of what answers");
    let completed = users.iter().filter(|user| user.shard < 2).count();
    assert_eq!((&sum["jobs"]["completed"], &sum["without_shards"]), (&json!(completed), &json!([2, 3])));
    assert_eq!(watched.status.code(), AWAY);
    let watched = installation.command(&["jobs", "watch", "--looks", "2"]);
    let lines = String::from_utf8_lossy(&watched.stdout).into_owned();
    assert!(lines.starts_with("without shard 2, 3:\n") && lines.lines().count() == 3, "{lines}");
    let broken = installation.command(&["doctor", "--json"]);
    let checks: Value = serde_json::from_slice(&broken.stdout).expect("a document");
    assert_eq!((broken.status.code(), shards(&checks, "failure")), (Some(1), [2, 3].into()), "{checks}");
}

#[tokio::test]
async fn shards_apps_list_continues_where_the_page_before_ended() {
    let (installation, users) = installed(&["0-3"]);
    let create = |user: &User, name: &str| {
        let words = [name, "--user", &user.id];
        installation.document(&[&["apps", "create"][..], &words].concat());
    };
    users.iter().for_each(|user| create(user, "before"));
    let all = installation.pages(&["apps", "list"], "apps");
    let owners: BTreeSet<String> = texts(&all, "owner").into_iter().collect();
    assert_eq!((all.len(), owners.len()), (users.len(), users.len()), "every shard's, once");
    assert!(texts(&all, "created_at").is_sorted_by(|one, two| one >= two), "newest first");
    let first = installation.document(&["apps", "list", "--limit", "3"]);
    let next = first["next"].as_str().expect("there are more").to_owned();

    create(&users[0], "meanwhile");

    let second = installation.document(&["apps", "list", "--limit", "3", "--after", &next]);
    assert_eq!(second["apps"], json!(all[3..6]), "none is listed twice");
}
