//! Users spread over eight shards on three servers: a server that does not answer affects its own users alone.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::binary;
use crate::client::page;
use crate::installation::{Installation, User};
use crate::process::until;
use crate::world::GARDEN;

const USERS: usize = 40;
/// The shards of the server that is taken away.
const AWAY: std::ops::RangeInclusive<u32> = 3..=5;
/// The first requests to a server that is away are given up after three seconds. A request to another server that takes as long
/// has waited for the wrong one.
const UNHINDERED: Duration = Duration::from_secs(3);

/// What is known to be away is refused in less.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Three servers that share eight shards.
fn three_servers() -> Installation {
    Installation::start(8, &["0-2", "3-5", "6-7"])
}

impl User {
    fn is_away(&self) -> bool {
        AWAY.contains(&self.shard)
    }
}

#[tokio::test]
async fn unavailable_shard_affects_only_its_own_users() {
    let installation = three_servers();
    installation.printed(&["migrate"]);
    let users: Vec<User> = (0..USERS).map(|number| installation.with(format!("user-{number}"))).collect();
    let shards: BTreeSet<u32> = users.iter().map(|user| user.shard).collect();
    assert_eq!(shards, (0..8).collect(), "every shard has users");
    let processes = [installation.serve().await, installation.serve().await];
    let of = |number: usize| &processes[number % 2];

    // Everything works, whichever process is asked; a second conversation waits for its finalize.
    let mut waiting = Vec::new();
    let mut begun = Vec::new();
    for (number, user) in users.iter().enumerate() {
        begun.push(user.at(of(number)).admit(GARDEN).await);
        waiting.push(user.at(of(number + 1)).ingest(GARDEN).await);
    }
    for (number, (user, conversation)) in users.iter().zip(&begun).enumerate() {
        // The other process finds it as well.
        let poll = user.at(of(number + 1)).finished(conversation).await;
        assert_eq!(poll["status"], "completed", "{}: {poll}", user.id);
    }

    installation.servers[1].down("immediate");

    let (mut fast, mut slow) = (0, 0);
    let asked = users.iter().zip(&waiting).enumerate();
    let away = asked.clone().filter(|(_, (user, _))| user.is_away());
    let away = away.map(async |(number, (user, conversation))| {
        let (status, says_when, _) = user.finalize(of(number), conversation).await;
        assert_eq!((status, says_when), (StatusCode::SERVICE_UNAVAILABLE, true), "{}", user.id);
    });
    // One after the other, while all those requests wait for their server.
    let others = async {
        for (number, (user, conversation)) in asked.filter(|(_, (user, _))| !user.is_away()) {
            let (status, _, took) = user.finalize(of(number), conversation).await;
            assert_eq!(status, StatusCode::OK, "{}", user.id);
            assert!(took < UNHINDERED, "{} waited {took:?} for a server that is not hers", user.id);
        }
    };
    futures::join!(futures::future::join_all(away), others);
    // By now both processes know that the server is away, and requests do not wait for it.
    for (number, (user, conversation)) in
        users.iter().zip(&waiting).enumerate().filter(|(_, (user, _))| user.is_away())
    {
        let (status, says_when, took) = user.finalize(of(number), conversation).await;
        assert_eq!((status, says_when), (StatusCode::SERVICE_UNAVAILABLE, true), "{}", user.id);
        fast += usize::from(took < AT_ONCE);
        slow += usize::from(took >= AT_ONCE);
    }
    // One at a time looks again, every two seconds.
    assert!(fast > slow, "{fast} were refused at once, {slow} waited");
    for (number, (user, conversation)) in users.iter().zip(&waiting).enumerate() {
        if !user.is_away() {
            assert_eq!(user.at(of(number + 1)).finished(conversation).await["status"], "completed");
        }
    }
    // The process takes work; the metrics say which shards are away.
    assert_eq!(page(&format!("{}/readyz", processes[0].admin)).await.0, StatusCode::OK);
    let (_, checks) = page(&format!("{}/readyz?verbose", processes[0].admin)).await;
    assert!(
        checks.contains("[failed] shard 3 database") && checks.contains("[ok] shard 0 database"),
        "{checks}"
    );
    let (_, metrics) = page(&format!("{}/metrics", processes[0].admin)).await;
    for shard in 0..8 {
        let is_up = u8::from(!AWAY.contains(&shard));
        let line = format!("listen_shard_up{{shard=\"{shard}\"}} {is_up}\n");
        assert!(metrics.contains(&line), "{line} is not in\n{metrics}");
    }

    installation.servers[1].up();

    for (number, (user, conversation)) in users.iter().zip(&waiting).enumerate() {
        if user.is_away() {
            until(|| async { user.finalize(of(number), conversation).await.0 == StatusCode::OK }).await;
            assert_eq!(user.at(of(number)).finished(conversation).await["status"], "completed");
        }
    }
    let verified = installation.printed(&["verify", "--json"]);
    let verified: Value = serde_json::from_str(&verified).expect("a document");
    assert_eq!(verified["ok"], json!(true));
    assert_eq!(verified["shards"].as_array().map(Vec::len), Some(8));
}

#[tokio::test]
async fn process_with_another_shard_count_does_not_start() {
    let installation = three_servers();
    let shards = [("LISTEN_SHARDS", "8"), ("LISTEN_SHARD_URLS", &*installation.urls)];
    installation.printed(&["migrate"]);
    let ends = |settings: &[(&str, &str)], words: &[&str]| {
        let output = Command::new(binary::path())
            .args(words)
            .env("DATABASE_URL", installation.servers[0].url())
            .env("LISTEN_ADDR", "127.0.0.1:0")
            .env("LISTEN_ADMIN_ADDR", "127.0.0.1:0")
            .envs(settings.iter().copied())
            .output()
            .expect("the program can be run");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let [one, two, three] = [0, 1, 2].map(|number| installation.servers[number].url());
    let halved = format!("0-1={one},2-3={two}");
    let swapped = format!("0-2={two},3-5={one},6-7={three}");
    let incomplete = format!("0-2={one},3-5={two}");
    for (settings, code, words) in [
        ([shards[0], ("LISTEN_SHARD_URLS", &*swapped)], 4, "shard 0 of 8 is not where"),
        ([("LISTEN_SHARDS", "4"), ("LISTEN_SHARD_URLS", &*halved)], 4, "shard 0 of 4 is shard 0 of 8"),
        ([("LISTEN_SHARDS", "1"), ("LISTEN_SHARD_URLS", "")], 4, "the only shard is shard 0 of 8"),
        ([shards[0], ("LISTEN_SHARD_URLS", &*incomplete)], 2, "does not say where shard 6 is"),
        ([("LISTEN_SHARDS", "6"), shards[1]], 2, "power of two"),
    ] {
        for command in [&["serve"][..], &["migrate"]] {
            let (ended, said) = ends(&settings, command);
            assert_eq!(ended, Some(code), "{command:?} with {settings:?}: {said}");
            assert!(said.contains(words), "{command:?}: {said}");
        }
    }
    // A command that reads knows as well what is wrong.
    for command in [&["jobs", "list"][..], &["keys", "list", "--user", "user-0"]] {
        let (ended, said) = ends(&[("LISTEN_SHARDS", "1")], command);
        assert_eq!(ended, Some(4), "{command:?}: {said}");
        assert!(said.contains("is shard 0 of 8: LISTEN_SHARDS never changes"), "{command:?}: {said}");
    }
    let public = [shards[0], shards[1], ("LISTEN_APPS", "public")];
    let (ended, said) = ends(&public, &["serve"]);
    assert_eq!(ended, Some(2), "{said}");
    assert!(said.contains("LISTEN_APPS=public needs LISTEN_SHARDS=1"), "{said}");
}

#[tokio::test]
async fn unavailable_shard_at_start_blocks_no_other() {
    let installation = three_servers();
    installation.printed(&["migrate"]);
    let users: Vec<User> = (0..8).map(|number| installation.with(format!("user-{number}"))).collect();
    installation.servers[1].down("fast");
    let process = installation.serve().await;
    for user in users.iter().filter(|user| !user.is_away()) {
        let conversation = user.at(&process).admit(GARDEN).await;
        assert_eq!(user.at(&process).finished(&conversation).await["status"], "completed");
    }
    let away = users.iter().find(|user| user.is_away()).expect("one of eight is in three of eight shards");
    let (status, _) = away.at(&process).ask(Method::GET, "/v1/users/me", None).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    installation.servers[1].up();
    let served = async || away.at(&process).ask(Method::GET, "/v1/users/me", None).await.0 == StatusCode::OK;
    until(served).await;
    let conversation = away.at(&process).admit(GARDEN).await;
    assert_eq!(away.at(&process).finished(&conversation).await["status"], "completed");
}

#[tokio::test]
async fn run_of_an_unavailable_shard_frees_its_slot() {
    let installation = three_servers();
    installation.printed(&["migrate"]);
    let users: Vec<User> = (0..8).map(|number| installation.with(format!("user-{number}"))).collect();
    let find = |is_away| users.iter().find(|user| user.is_away() == is_away).expect("eight users are spread");
    let (away, other) = (find(true), find(false));
    let one_slot = [("LISTEN_FINALIZATION_CONCURRENCY", "1"), ("LISTEN_DEMO_PAUSE_AFTER", "describe=3")];
    let mut process = installation.serve_with(&one_slot).await;
    let interrupted = away.at(&process).admit(GARDEN).await;
    process.stage_done("describe").await;

    installation.servers[1].down("immediate");

    let conversation = other.at(&process).admit(GARDEN).await;
    assert_eq!(other.at(&process).finished(&conversation).await["status"], "completed");
    installation.servers[1].up();
    until(async || away.at(&process).ask(Method::GET, "/v1/users/me", None).await.0 == StatusCode::OK).await;
    assert_eq!(away.at(&process).finished(&interrupted).await["status"], "completed");
}

#[tokio::test]
async fn killed_migration_between_shards_resumes_when_repeated() {
    let installation = Installation::start(8, &["0-3", "4-7"]);
    let mut killed = Command::new(binary::path())
        .arg("migrate")
        .env_remove("DATABASE_URL")
        .envs(installation.settings())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program can be run");
    let said = BufReader::new(killed.stdout.take().expect("a pipe"));
    let first = said.lines().next().expect("a line").expect("text");
    killed.kill().expect("it can be killed");
    killed.wait().expect("it ended");
    assert!(first.starts_with("shard 0 of 8: "), "{first}");
    let again = installation.printed(&["migrate"]);
    assert_eq!(
        again
            .lines()
            .filter(|line| line.contains("the schema is up to date")
                || line.contains("the schema was up to date"))
            .count(),
        8,
        "{again}"
    );
    assert!(again.contains("shard 7 of 8: ") && !again.contains("shard 7 of 8: 0 "), "{again}");
    let user = installation.with("ann".to_owned());
    let process = installation.serve().await;
    let conversation = user.at(&process).admit(GARDEN).await;
    assert_eq!(user.at(&process).finished(&conversation).await["status"], "completed");
    assert_eq!(installation.command(&["verify"]).status.code(), Some(0));
}
