//! Commands: short ids, pages of lists, recorded operators, and the export of a user.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::binary::{self, command, printed};
use crate::command_errors::DIES;
use crate::process::Process;
use crate::world::{GARDEN, World};

/// The one job of the database becomes a dead letter of another user.
const DIES_OF_ANOTHER: &str = "update finalization_jobs set user_id = 'annabella', status = 'dead_letter', \
     outcome = null, attempts = 5, dead_code = 'model_unavailable', last_code = 'model_unavailable'";

fn document(world: &World, words: &[&str]) -> Value {
    serde_json::from_str(&printed(&world.url, words)).expect("one document")
}

#[tokio::test]
async fn id_suffix_is_accepted_if_unique_else_candidates_are_listed() {
    let world = World::new().await;
    for id in ["ada@one.example", "ada@two.example"] {
        printed(&world.url, &["users", "create", "--id", id]);
    }
    assert!(printed(&world.url, &["users", "show", "ada@o"]).starts_with("ada@one.example"));
    assert!(printed(&world.url, &["users", "show", "…two.example"]).starts_with("ada@two.example"));

    let refused = command(&world.url, &["users", "show", ".example"]);

    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("not unique") && said.contains("ada@one.example, ada@two.example"), "{said}");
}

#[tokio::test]
async fn job_is_found_without_the_letters_before_its_digits() {
    let world = World::new().await;
    let process = Process::serve(&world.url, &[]).await;
    let client = world.client(&process);
    client.finished(&client.admit(GARDEN).await).await;
    let job = binary::the_job(&world.url)["job_id"].as_str().expect("an id").to_owned();
    let digits = job.strip_prefix("fj_").expect("the letters of a job");
    for typed in [&job, digits, &digits[..8], &format!("{}…", &digits[..6])] {
        assert_eq!(document(&world, &["jobs", "show", typed, "--json"])["job_id"], *job, "{typed}");
    }
}

/// A user id may be the prefix of another: once `anna` is deleted, `anna` must not match `annabella`.
#[tokio::test]
async fn user_commands_need_the_exact_id_not_a_prefix() {
    let world = World::new().await;
    printed(&world.url, &["users", "create", "--id", "annabella"]);
    let folder = testbed::empty_directory("export-none");
    let file = folder.join("anna.jsonl");
    let name = file.display().to_string();
    let because = ["--reason", "a mistake"];
    for words in [
        &["users", "delete", "anna", "--yes"][..],
        &["users", "export", "anna", "--output", &name],
        &["webhooks", "enable", "none", "--user", "anna"],
    ] {
        let ended = command(&world.url, &[words, &because].concat());
        assert_eq!(ended.status.code(), Some(3), "{words:?}: {}", String::from_utf8_lossy(&ended.stderr));
    }
    for words in [
        &["users", "set", "anna", "--name", "Anna"][..],
        &["keys", "create", "--user", "anna"],
        &["keys", "revoke", "--user", "anna", "none"],
        &["folders", "create", "--user", "anna", "House"],
        &["apps", "install", "--user", "anna", "none"],
    ] {
        let ended = command(&world.url, words);
        assert_eq!(ended.status.code(), Some(3), "{words:?}: {}", String::from_utf8_lossy(&ended.stderr));
    }
    assert!(!file.exists(), "what was not exported leaves no file");
    std::fs::remove_dir_all(&folder).expect("it can be removed");
    assert_eq!(world.count("select count(*) from operator_actions").await, 0);
    assert_eq!(world.count("select count(*) from developer_keys where user_id = 'annabella'").await, 0);
    assert_eq!(command(&world.url, &["keys", "list", "--user", "anna"]).status.code(), Some(0), "it shows");
}

#[tokio::test]
async fn job_commands_affect_the_named_user_only() {
    let world = World::new().await;
    printed(&world.url, &["users", "create", "--id", "annabella"]);
    let process = Process::serve(&world.url, &[]).await;
    let client = world.client(&process);
    client.finished(&client.admit(GARDEN).await).await;
    world.run(DIES_OF_ANOTHER).await;
    for verb in ["replay", "dismiss"] {
        let ordered = |user: &str| {
            let words = ["jobs", verb, "--user", user, "--dry-run", "--reason", "a mistake"];
            let output = command(&world.url, &words);
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            text(&output.stdout) + &text(&output.stderr)
        };
        assert!(ordered("anna").contains("there is no user anna"), "{verb}: {}", ordered("anna"));
        assert!(ordered("u1").contains("0 dead letters"), "{verb}: {}", ordered("u1"));
        assert!(ordered("annabella").contains("1 dead letter"), "{verb}: {}", ordered("annabella"));
    }
}

#[tokio::test]
async fn json_output_has_the_next_cursor() {
    let world = World::new().await;
    for id in ["a", "b"] {
        printed(&world.url, &["users", "create", "--id", id]);
    }
    let page = document(&world, &["users", "list", "--limit", "2", "--json"]);
    assert_eq!((&page["users"][1]["id"], &page["next"]), (&"b".into(), &"b".into()), "{page}");
    let rest = document(&world, &["users", "list", "--after", "b", "--json"]);
    assert_eq!((&rest["users"][0]["id"], &rest["next"]), (&"u1".into(), &Value::Null), "{rest}");
    printed(&world.url, &["jobs", "pause", "creation", "--reason", "a look"]);
    printed(&world.url, &["jobs", "resume", "creation", "--reason", "looked"]);
    let newest = document(&world, &["audit", "list", "--limit", "1", "--json"]);
    let next = newest["next"].as_str().expect("there is another");
    let older = document(&world, &["audit", "list", "--after", next, "--json"]);
    assert_eq!((&older["actions"][0]["action"], &older["next"]), (&"pause".into(), &Value::Null), "{older}");
}

#[tokio::test]
async fn audit_finds_actions_by_the_names_that_commands_have() {
    let world = World::new().await;
    let process = Process::serve(&world.url, &[]).await;
    let client = world.client(&process);
    client.finished(&client.admit(GARDEN).await).await;
    world.run(DIES).await;
    printed(&world.url, &["jobs", "dismiss", "--all", "--yes", "--reason", "a look"]);
    for name in ["dismiss", "discard", "bulk_dismiss"] {
        let found = document(&world, &["audit", "list", "--action", name, "--json"]);
        assert_eq!(found["actions"][0]["action"], "bulk_discard", "{name}: {found}");
    }
    let refused = command(&world.url, &["audit", "list", "--action", "foo"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("bulk_dismiss") && said.contains("try_webhook_now"), "{said}");
}

#[tokio::test]
async fn operator_is_required_where_an_audit_entry_is_written() {
    let world = World::new().await;
    let ends = |words: &[&str]| {
        let mut listen = Command::new(binary::path());
        let output = listen.args(words).env("DATABASE_URL", &world.url).env_remove("USER").output();
        let output = output.expect("the program can be run");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for words in
        [&["jobs", "pause", "--reason", "a look"][..], &["verify", "--fix-totals", "--reason", "a look"]]
    {
        let (code, said) = ends(words);
        assert!(code == Some(2) && said.contains("--operator"), "{words:?}: {said}");
    }
    assert_eq!(ends(&["verify"]).0, Some(0), "nothing is recorded");
    assert_eq!(ends(&["jobs", "pause", "--reason", "a look", "--operator", "olga"]).0, Some(0));
    assert_eq!(world.count("select count(*) from operator_actions").await, 1);
}

#[tokio::test]
async fn refused_app_address_names_the_setting_that_allows_it() {
    let world = World::new().await;
    let create = ["apps", "create", "Tasks", "--user", "u1", "--webhook-url", "http://127.0.0.1:9000/"];
    let refused = command(&world.url, &create);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(2) && said.contains("LISTEN_ALLOW_OUTGOING"), "{said}");
    printed(&world.url, &[&create[..], &["--allow-outgoing", "127.0.0.0/8"]].concat());
}

#[tokio::test]
async fn export_file_is_private_and_overwrites_nothing() {
    let world = World::new().await;
    let folder = testbed::empty_directory("export");
    let file = folder.join("u1.jsonl");
    let name = file.display().to_string();
    let words = ["users", "export", "u1", "--output", &name, "--reason", "asked for"];

    let told = document(&world, &[&words[..], &["--json"]].concat());

    let text = std::fs::read_to_string(&file).expect("the file is there");
    assert_eq!(told["rows"], text.lines().count(), "{told}");
    let first: Value = serde_json::from_str(text.lines().next().expect("a line")).expect("a document");
    assert_eq!((&first["table"], &first["row"]["user_id"]), (&"users".into(), &"u1".into()));
    assert!(text.contains("developer_keys") && !text.contains("key_sha256"), "{text}");
    assert_eq!(std::fs::metadata(&file).expect("the file is there").permissions().mode() & 0o777, 0o600);
    let again = command(&world.url, &words);
    assert_eq!(again.status.code(), Some(2), "it is not overwritten");
    assert!(String::from_utf8_lossy(&again.stderr).contains("is there already: name a file that is not"));
    assert_eq!(std::fs::read_to_string(&file).expect("the file is there"), text, "nor taken away");
    let to_stdout = ["users", "export", "u1", "--output", "-", "--reason", "asked for"];
    assert_eq!(command(&world.url, &to_stdout).status.code(), Some(2), "what only one may read is not piped");
    assert_eq!(world.count("select count(*) from operator_actions where action = 'export_user'").await, 1);
    std::fs::remove_file(&file).expect("it can be removed");

    world.run("alter table memories rename to away").await;
    let failed = command(&world.url, &words);
    assert!(!failed.status.success() && !file.exists(), "a part of it was left: {failed:?}");
    world.run("alter table away rename to memories").await;
    let repeated = document(&world, &[&words[..], &["--json"]].concat());
    assert!(repeated["rows"].as_u64() > Some(0), "{repeated}");
    std::fs::remove_dir_all(&folder).expect("it can be removed");
}

/// Nothing cleans up behind SIGKILL: half a file would be taken for a whole one.
#[tokio::test]
async fn killed_export_leaves_no_file() {
    let world = World::new().await;
    let folder = testbed::empty_directory("export-killed");
    let file = folder.join("u1.jsonl");
    let name = file.display().to_string();
    let words = ["users", "export", "u1", "--output", &name, "--reason", "asked for", "--operator", "olga"];
    let locks = world.hold_locks("lock table memories").await;
    let mut export =
        Command::new(binary::path()).args(words).env("DATABASE_URL", &world.url).spawn().expect("it starts");
    world.until_a_session_waits().await;
    assert_eq!(std::fs::read_dir(&folder).expect("the folder is there").count(), 1, "it has begun to write");

    export.kill().expect("it is there");
    export.wait().expect("it has ended");

    assert!(!file.exists());
    drop(locks);
    let repeated = document(&world, &[&words[..], &["--json"]].concat());
    let text = std::fs::read_to_string(&file).expect("the file is there");
    assert_eq!(repeated["rows"], text.lines().count(), "{repeated}");
    std::fs::remove_dir_all(&folder).expect("it can be removed");
}

/// An operator who ends it and begins again under another name would leave half of what the user said behind, and one whose
/// connection to the machine breaks.
#[tokio::test]
async fn interrupted_export_leaves_no_part_of_it() {
    for (signal, code) in [(Signal::INT, 130), (Signal::HUP, 129)] {
        let world = World::new().await;
        let folder = testbed::empty_directory("export-interrupted");
        let name = folder.join("u1.jsonl").display().to_string();
        let words =
            ["users", "export", "u1", "--output", &name, "--reason", "asked for", "--operator", "olga"];
        let _locks = world.hold_locks("lock table memories").await;
        // The test itself may run under `nohup`, which ignores SIGHUP.
        let mut export = Command::new("env");
        let export = export.arg("--default-signal=HUP").arg(binary::path()).args(words);
        let mut export = export.env("DATABASE_URL", &world.url).spawn().expect("it starts");
        world.until_a_session_waits().await;

        let id = Pid::from_raw(i32::try_from(export.id()).expect("an id of a process")).expect("it is not 0");
        kill_process(id, signal).expect("it is there");

        assert_eq!(export.wait().expect("it has ended").code(), Some(code));
        assert_eq!(std::fs::read_dir(&folder).expect("the folder is there").count(), 0);
        std::fs::remove_dir(&folder).expect("it can be removed");
    }
}

/// A statement that reads memories waits for the advisory lock 1 without a time limit.
const STOPPING: &str = "insert into memories (user_id, memory_id, content, category, created_at, updated_at) \
         values ('u1', 'm', 'Likes tea', 'other', now(), now()); \
     alter table memories rename to kept; \
     create function stop() returns boolean language plpgsql as $$ begin \
         perform set_config('lock_timeout', '0', true); perform pg_advisory_xact_lock_shared(1); return true; end $$; \
     create view memories as select kept.* from kept, stop()";

/// Two operators at once: the second one's beginning would stand under the name of what the first one says is whole.
#[tokio::test]
async fn export_into_a_file_that_another_one_writes_is_refused() {
    let world = World::new().await;
    let folder = testbed::empty_directory("export-twice");
    let file = folder.join("u1.jsonl");
    let name = file.display().to_string();
    let words = ["users", "export", "u1", "--output", &name, "--reason", "asked for", "--operator", "olga"];
    world.run(STOPPING).await;
    let locks = world.hold_locks("select pg_advisory_xact_lock(1)").await;
    let mut first =
        Command::new(binary::path()).args(words).env("DATABASE_URL", &world.url).spawn().expect("it starts");
    world.until_a_session_waits().await;

    let second = command(&world.url, &words);

    let said = String::from_utf8_lossy(&second.stderr);
    assert!(second.status.code() == Some(1) && said.contains("another export is writing it"), "{said}");
    drop(locks);
    assert!(first.wait().expect("it has ended").success());
    let text = std::fs::read_to_string(&file).expect("the file is there");
    let last: Value = serde_json::from_str(text.lines().last().expect("a line")).expect("a document");
    assert_eq!(last["table"], "developer_keys", "{text}");
    assert_eq!(std::fs::read_dir(&folder).expect("the folder is there").count(), 1, "nothing else is left");
    std::fs::remove_dir_all(&folder).expect("it can be removed");
}

/// Operators run commands in the containers of processes: what an export takes of the memory there, they lack.
#[tokio::test]
async fn export_of_many_pictures_takes_little_memory() {
    let world = World::new().await;
    world
        .run(
            "insert into conversations (user_id, conversation_id, source, language, status, created_at, updated_at, started_at, \
             finished_at) values ('u1', 'c', 'phone', 'en', 'completed', now(), now(), now(), now())",
        )
        .await;
    world
        .run(
            "insert into photos (user_id, conversation_id, photo_id, base64) \
             select 'u1', 'c', n::text, repeat('A', 500000) from generate_series(1, 400) n",
        )
        .await;
    let folder = testbed::empty_directory("export-large");
    let file = folder.join("u1.jsonl");
    let name = file.display().to_string();
    let words = ["users", "export", "u1", "--output", &name, "--reason", "asked for", "--operator", "olga"];
    let mut export =
        Command::new(binary::path()).args(words).env("DATABASE_URL", &world.url).spawn().expect("it starts");

    let (status, mut peak) = (format!("/proc/{}/status", export.id()), 0);
    let ended = loop {
        if let Some(ended) = export.try_wait().expect("it is there") {
            break ended;
        }
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
        peak = line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0).max(peak);
        tokio::time::sleep(Duration::from_millis(10)).await;
    };

    assert!(ended.success(), "{ended}");
    assert!(std::fs::metadata(&file).expect("the file is there").len() > 200_000_000);
    std::fs::remove_dir_all(folder).expect("it can be removed");
    assert!((1..150_000).contains(&peak), "{peak} kB");
}

#[tokio::test]
async fn run_now_and_replay_in_a_paused_queue_name_the_pause() {
    let world = World::new().await;
    let api = Process::serve(&world.url, &[("LISTEN_ROLES", "api")]).await;
    world.client(&api).admit(GARDEN).await;
    let job = binary::the_job(&world.url)["job_id"].as_str().expect("a job has an id").to_owned();
    world.run("update finalization_jobs set ready_at = now() + interval '1 hour'").await;
    printed(&world.url, &["jobs", "pause", "finalization", "--reason", "a look", "--operator", "olga"]);
    let told = printed(&world.url, &["jobs", "run-now", &job, "--reason", "in a hurry"]);
    assert!(told.starts_with(&format!("due now: {job}\n")), "{told}");
    assert!(
        told.contains("has been paused by olga") && told.contains("listen jobs resume finalization"),
        "{told}"
    );
    world.run("update finalization_jobs set ready_at = now() + interval '1 hour'").await;
    let all = ["jobs", "run-now", "--all", "--yes", "--reason", "in a hurry"];
    for words in [&all[..], &["jobs", "run-now", &job, "fj_none", "--reason", "in a hurry"]] {
        let (code, _, noted) = binary::ends(&world.url, words);
        assert!(matches!(code, Some(0 | 5)), "{noted}");
        assert!(noted.contains("finalization is paused, and its jobs wait"), "{noted}");
    }
    // A dead letter that is replayed waits for it as well.
    printed(&world.url, &["jobs", "cancel", &job, "--yes", "--reason", "a mistake"]);
    let told = printed(&world.url, &["jobs", "replay", &job, "--reason", "another mistake"]);
    assert!(told.starts_with("replayed ") && told.contains("has been paused by olga"), "{told}");
}

/// A dry run of several jobs wrote a JSON document for each, and ended at the first that refuses.
#[tokio::test]
async fn dry_run_of_several_jobs_is_one_document_and_tells_of_all() {
    let world = World::new().await;
    let api = Process::serve(&world.url, &[("LISTEN_ROLES", "api")]).await;
    for _ in 0..3 {
        world.client(&api).admit(GARDEN).await;
    }
    let jobs = binary::jobs(&world.url);
    let ids: Vec<&str> = jobs.iter().map(|job| job["job_id"].as_str().expect("a job has an id")).collect();
    printed(&world.url, &["jobs", "cancel", ids[0], "--yes", "--reason", "a mistake"]);
    let words = [&["jobs", "cancel", "--dry-run", "--reason", "a mistake"][..], &ids].concat();

    let (code, told, noted) = binary::ends(&world.url, &[&words[..], &["--json"]].concat());

    let foreseen: Value = serde_json::from_str(&told).unwrap_or_else(|_| panic!("one document: {told}"));
    assert_eq!((code, &foreseen["found"], &foreseen["refused"]), (Some(5), &json!(3), &json!(1)));
    assert_eq!((&foreseen["cancelled"], foreseen["jobs"].as_array().map(Vec::len)), (&json!(0), Some(2)));
    assert!(noted.starts_with(&format!("{} (it is dead_letter): it has ended", ids[0])), "{noted}");
    let (code, told, _) = binary::ends(&world.url, &words);
    let would: Vec<bool> = ids.iter().map(|id| told.contains(&format!("would cancel {id}: "))).collect();
    assert_eq!((code, would), (Some(5), vec![false, true, true]), "{told}");
    assert_eq!(world.count("select count(*) from finalization_jobs where status = 'queued'").await, 2);
}
