//! Failing commands: exit code, reason, and what to do next.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use sqlx::ConnectOptions;
use testbed::TestDatabase;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::ChildStderr;

use crate::binary::{self, ends};
use crate::process::{Process, until};
use crate::world::{GARDEN, World};

/// No server listens on port 1.
const NOWHERE: &str = "postgresql://nobody@127.0.0.1:1/nothing";

/// The one job of the database becomes a dead letter, as the transition would have left it.
pub(crate) const DIES: &str = "update finalization_jobs set status = 'dead_letter', outcome = null, attempts = 5, \
     dead_code = 'model_unavailable', last_code = 'model_unavailable'";

fn document(reported: &str) -> Value {
    serde_json::from_str(reported).unwrap_or_else(|_| panic!("no document: {reported}"))
}

/// A database in which one job was completed, and no process is left.
async fn one_completed() -> (World, String) {
    let world = World::new().await;
    let mut process = Process::serve(&world.url, &[]).await;
    let client = world.client(&process);
    client.finished(&client.admit(GARDEN).await).await;
    process.signal(Signal::TERM);
    process.ended().await;
    let job = binary::the_job(&world.url)["job_id"].as_str().expect("a job has an id").to_owned();
    (world, job)
}

#[tokio::test]
async fn missing_schema_error_names_sqlstate_and_migrate() {
    let database = TestDatabase::empty().await;
    let url = database.url();

    let (code, _, said) = ends(&url, &["jobs", "list"]);

    assert_eq!(code, Some(4), "{said}");
    let cause = said.lines().find(|line| line.starts_with("  because: ")).expect("the cause is told");
    assert!(cause.ends_with("does not exist (SQLSTATE 42P01)"), "the server's words, and no more: {cause}");
    let step = "  try: the schema is of another version: run `listen migrate`; if it had been migrated, see first whether the \
                user's `search_path` still names the schema of its tables\n";
    assert!(said.ends_with(step), "{said}");
    let first = document(&binary::printed(&url, &["migrate", "--json"]));
    assert!(first["applied"].as_array().expect("a list").len() > 1, "{first}");
    let again = document(&binary::printed(&url, &["migrate", "--json"]));
    assert_eq!(again, json!({ "applied": [], "newer": [] }));
    assert_eq!(ends(&url, &["jobs", "list"]).0, Some(0));
}

/// A migration of a future version.
const OF_THE_FUTURE: &str = "insert into _sqlx_migrations (version, description, success, checksum, execution_time) \
     values (99991231235959, 'of the future', true, '', 0)";

/// As if the newest one had been skipped.
const WITHOUT_ONE: &str = "delete from _sqlx_migrations \
     where version = (select max(version) from _sqlx_migrations where version < 99991231235959)";

#[tokio::test]
async fn old_program_migrates_nothing_and_a_diverged_schema_is_refused() {
    let database = TestDatabase::new().await;
    let url = database.url();
    database.run(OF_THE_FUTURE).await;

    let (code, told, said) = ends(&url, &["migrate"]);

    assert_eq!(code, Some(0), "{said}");
    assert_eq!(told, "the schema is newer than this program by 1 migration: nothing to apply\n");
    let told = document(&binary::printed(&url, &["migrate", "--json"]));
    assert_eq!(told, json!({ "applied": [], "newer": [99_991_231_235_959_u64] }));
    database.run(WITHOUT_ONE).await;
    let (code, told, said) = ends(&url, &["migrate"]);
    assert_eq!((code, told.as_str()), (Some(4), ""), "{said}");
    assert!(
        said.contains("lacks 1 of its migrations") && said.contains("(the last is 99991231235959)"),
        "{said}"
    );
    assert!(said.contains("Run the `listen migrate` of a version that has all of them"), "{said}");
}

#[tokio::test]
async fn concurrent_migrations_each_count_what_they_applied() {
    let database = TestDatabase::empty().await;
    let begin = || {
        let mut command = std::process::Command::new(binary::path());
        command.args(["migrate", "--json"]).env("DATABASE_URL", database.url());
        command.stdout(std::process::Stdio::piped()).spawn().expect("the program can be run")
    };
    let begun = [begin(), begin(), begin()];
    let mut applied: Vec<i64> = Vec::new();
    for child in begun {
        let output = child.wait_with_output().expect("it ends");
        let told = document(&String::from_utf8_lossy(&output.stdout));
        applied.extend(told["applied"].as_array().expect("a list").iter().filter_map(Value::as_i64));
    }
    let all = applied.len();
    applied.sort_unstable();
    applied.dedup();
    assert!(all > 1 && applied.len() == all, "{all} were counted, and there are {}", applied.len());
}

#[test]
fn invalid_log_filter_is_refused_like_other_settings() {
    let mut command = std::process::Command::new(binary::path());
    let output = command.arg("config").env("LISTEN_LOG", "info,=[").output().expect("the program can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("LISTEN_LOG"), "{said}");
}

#[tokio::test]
async fn unavailable_database_is_retryable_and_a_missing_one_is_named() {
    let (code, _, said) = ends(NOWHERE, &["jobs", "list"]);
    assert_eq!(code, Some(69), "{said}");
    let line = "error: no PostgreSQL answers at ";
    assert!(said.starts_with(line) && said.contains(": connection refused; is it up"), "{said}");
    assert_eq!(said.lines().count(), 1, "in one line: {said}");
    let database = TestDatabase::empty().await;
    let (server, name) = (database.url(), database.name());
    let (code, _, said) = ends(&server.replace(name, "listen_of_nobody"), &["jobs", "list"]);
    assert_eq!(code, Some(1), "asking again would not help: {said}");
    assert!(said.contains("\"listen_of_nobody\" does not exist (SQLSTATE 3D000)"), "{said}");
    assert!(said.contains("create it, or check the name"), "{said}");
    let nobody = database.options().username("listen_role_of_nobody").to_url_lossy().to_string();
    for (url, named) in [
        (&server.replace(name, "listen_of_nobody"), "\"listen_of_nobody\" does not exist"),
        (&nobody, "listen_role_of_nobody"),
    ] {
        let (code, _, said) = ends(url, &["doctor"]);
        assert_eq!(code, Some(69), "nothing was examined: {said}");
        assert!(said.starts_with("error: PostgreSQL gives no session to ") && said.contains(named), "{said}");
    }
}

/// A server lets as many sessions in for a role as for all: none, here.
#[tokio::test]
async fn full_database_server_error_says_what_to_do() {
    let database = TestDatabase::new().await;
    let role = format!("{}_full", database.name());
    database.run(&format!("create role {role} login connection limit 0")).await;
    let url = database.options().username(&role).to_url_lossy().to_string();

    for words in [&["jobs", "list"][..], &["doctor"]] {
        let (code, _, said) = ends(&url, words);
        assert_eq!(code, Some(69), "{words:?}: {said}");
        assert!(
            said.contains("too many connections for role") && said.contains("(SQLSTATE 53300)"),
            "{said}"
        );
        assert!(
            said.contains("the server has no connection left: raise max_connections, or end some"),
            "{said}"
        );
    }
    let (code, told, said) = ends(&url, &["doctor", "--shards", "2"]);
    assert_eq!(code, Some(1), "{told}{said}");
    assert!(
        told.contains("SQLSTATE 53300: it has no connection left: raise max_connections, or end some"),
        "{told}"
    );
    database.run(&format!("drop role {role}")).await;
}

/// As `initdb` makes it where no locale is set, in containers above all.
#[tokio::test]
async fn non_utf8_database_is_refused_before_any_change() {
    let database = TestDatabase::empty().await;
    let name = format!("{}_ascii", database.name());
    let made =
        format!("create database {name} encoding 'SQL_ASCII' template template0 lc_collate 'C' lc_ctype 'C'");
    database.run(&made).await;
    let url = database.url().replace(database.name(), &name);

    let (code, _, said) = ends(&url, &["migrate"]);

    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("as SQL_ASCII and not as UTF8: nothing was applied"), "{said}");
    let (code, told, said) = ends(&url, &["doctor"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(told.contains("encoding") && told.contains("template template0"), "{told}");
    database.run(&format!("drop database {name} with (force)")).await;
}

/// As a provider leaves a database whose disk is full.
#[tokio::test]
async fn doctor_reports_a_read_only_database() {
    let database = TestDatabase::new().await;
    let name = database.name();
    database.run(&format!("alter database {name} set default_transaction_read_only = on")).await;

    let (code, told, said) = ends(&database.url(), &["doctor", "--json"]);

    assert_eq!(code, Some(1), "{said}");
    let found = document(&told);
    let checks = found["checks"].as_array().expect("a list");
    let writes = checks.iter().find(|check| check["check"] == "writes").expect("they are looked at");
    assert_eq!(writes["level"], "failure");
    assert!(writes["words"].as_str().is_some_and(|words| words.contains("default_transaction_read_only")));
}

#[tokio::test]
async fn missing_records_are_named_in_errors() {
    let database = TestDatabase::new().await;
    for (words, named) in [
        (&["jobs", "show", "fj_none"][..], "there is no job fj_none"),
        (&["jobs", "show", "fj_"], "there is no job fj_: a part of an id has at least four characters"),
        (&["replays", "show", "none"], "there is no replay none"),
        (&["keys", "list", "--user", "none"], "there is no user none"),
        (&["keys", "create", "--user", "none"], "there is no user none: `listen users create` makes one"),
        (&["folders", "list", "--user", "none"], "there is no user none"),
        (&["webhooks", "list", "--user", "none"], "there is no user none"),
        (&["webhooks", "list", "--user", "none", "--json"], "there is no user none"),
        (&["live", "list", "--user", "none"], "there is no user none"),
        (&["jobs", "list", "--user", "none"], "there is no user none"),
        (&["jobs", "list", "--user", "none", "--by-code", "--json"], "there is no user none"),
        (&["jobs", "cancel", "--user", "none", "--reason", "a mistake", "--yes"], "there is no user none"),
        (&["jobs", "run-now", "--user", "none", "--reason", "a mistake"], "there is no user none"),
    ] {
        let (code, out, said) = ends(&database.url(), words);
        assert_eq!((code, out.as_str()), (Some(3), ""), "{words:?}: {said}");
        assert_eq!(said.lines().next(), Some(&*format!("error: {named}")), "{words:?}");
    }
}

#[tokio::test]
async fn refused_job_command_names_the_state_and_next_step() {
    let (world, job) = one_completed().await;
    for verb in ["replay", "discard"] {
        let (code, _, said) = ends(&world.url, &["jobs", verb, &job, "--reason", "to be refused"]);
        let words = "only a dead letter can be replayed or dismissed; this job is not one";
        let wanted = format!("error: {job} (it is completed): {words}; `listen jobs why {job}` says more\n");
        assert_eq!((code, said), (Some(4), wanted), "{verb}");
    }
}

#[tokio::test]
async fn discard_dry_run_has_the_same_exit_code_and_changes_nothing() {
    let (world, job) = one_completed().await;
    let words = ["jobs", "dismiss", &job, "--reason", "of no use", "--dry-run"];
    let as_document = [&words[..], &["--json"]].concat();
    for words in [&words[..], &as_document] {
        let (code, told, said) = ends(&world.url, words);
        assert_eq!((code, told.as_str()), (Some(4), ""), "{said}");
        assert!(said.starts_with(&format!("error: {job} (it is completed): ")), "{said}");
    }
    world.run(DIES).await;

    let (code, told, said) = ends(&world.url, &words);

    assert_eq!(code, Some(0), "{said}");
    assert!(told.starts_with(&format!("would dismiss {job}: ")), "{told}");
    let foreseen = document(&binary::printed(&world.url, &as_document));
    assert_eq!(foreseen, json!({ "job_id": job, "guard": "dead_letter" }));
    assert_eq!(world.count("select count(*) from operator_actions").await, 0);
    let missing = ["jobs", "dismiss", "fj_none", "--reason", "of no use", "--dry-run"];
    assert_eq!(ends(&world.url, &missing).0, Some(3));
}

#[tokio::test]
async fn replay_dry_run_shows_the_result_and_changes_nothing() {
    let (world, job) = one_completed().await;
    let words = ["jobs", "replay", &job, "--reason", "to look", "--dry-run"];
    let (code, told, said) = ends(&world.url, &words);
    assert_eq!((code, told.as_str()), (Some(4), ""), "refused, as the replay itself would be: {said}");
    world.run(DIES).await;

    let (code, told, said) = ends(&world.url, &words);

    assert_eq!(code, Some(0), "{said}");
    assert!(told.ends_with("recorded stages that would be kept: 0\n"), "{told}");
    let foreseen = document(&binary::printed(&world.url, &[&words[..], &["--json"]].concat()));
    assert_eq!(foreseen, json!({ "job_id": job, "guard": "dead_letter", "recorded_stages": 0 }));
    assert_eq!(world.count("select count(*) from operator_actions").await, 0);
    let left = world.texts("select status || ' ' || generation from finalization_jobs").await;
    assert_eq!(left, ["dead_letter 1"]);
}

#[tokio::test]
async fn discard_without_a_filter_is_refused() {
    let database = TestDatabase::new().await;
    let (code, told, said) = ends(&database.url(), &["jobs", "dismiss", "--reason", "of no use", "--yes"]);
    assert_eq!((code, told.as_str()), (Some(2), ""), "{said}");
    assert!(said.contains("name jobs, a filter, or --all"), "{said}");
}

#[test]
fn recount_needs_a_reason() {
    let long = "a".repeat(501);
    for words in [
        &["--fix-totals"][..],
        &["--fix-totals", "--reason", ""],
        &["--fix-totals", "--reason", " ab "],
        &["--fix-totals", "--reason", &long],
        &["--reason", "without a recount"],
    ] {
        let (code, _, said) = ends(NOWHERE, &[&["verify"], words].concat());
        assert_eq!(code, Some(2), "{words:?}: {said}");
    }
}

#[tokio::test]
async fn bulk_replay_without_a_live_reconciler_warns_before_asking() {
    let (world, _) = one_completed().await;
    world.run(DIES).await;
    let words = ["jobs", "replay", "--all", "--reason", "it is mended", "--dry-run"];

    let (code, _, said) = ends(&world.url, &words);

    assert_eq!(code, Some(0), "{said}");
    for missing in ["no living process has the role reconciler", "no living process takes jobs"] {
        assert!(said.lines().any(|line| line.starts_with("warning: ") && line.contains(missing)), "{said}");
    }
    let (_, told, said) = ends(&world.url, &[&words[..], &["--json"]].concat());
    assert_eq!(document(&told)["jobs"], json!(1), "stdout is the document alone");
    assert!(said.contains("role reconciler"), "{said}");
    let _living = Process::serve(&world.url, &[]).await;
    until(|| async { world.count("select count(*) from service_processes").await > 0 }).await;
    let (_, _, said) = ends(&world.url, &words);
    assert!(!said.contains("warning"), "{said}");
}

#[tokio::test]
async fn replay_watch_survives_an_outage_and_its_interruption_stops_nothing() {
    let (world, _) = one_completed().await;
    world.run(DIES).await;
    let mut command = tokio::process::Command::new(binary::path());
    command.args(["jobs", "replay", "--all", "--yes", "--reason", "it is mended"]);
    command.env("DATABASE_URL", &world.url).env("USER", "ann").kill_on_drop(true);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut watch = command.spawn().expect("the program can be run");
    let mut said = BufReader::new(watch.stderr.take().expect("it is piped")).lines();
    says(&mut said, "it goes on without this command").await;
    let held = world.hold_locks("lock table replay_operations in access exclusive mode").await;
    says(&mut said, "waiting for it").await;
    drop(held);
    says(&mut said, "the database answers again").await;

    let id = watch.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)).expect("it still runs");
    kill_process(id, Signal::INT).expect("a child can be signalled");

    says(&mut said, " goes on without this command: `listen replays watch ").await;
    assert_eq!(watch.wait().await.expect("it ends").code(), Some(130));
}

/// Waits until a command says `words` on stderr.
async fn says(said: &mut Lines<BufReader<ChildStderr>>, words: &str) {
    let mut lines = String::new();
    while let Some(line) = said.next_line().await.expect("it is text") {
        if line.contains(words) {
            return;
        }
        lines.push_str(&line);
    }
    panic!("`{words}` is not among: {lines}");
}

#[test]
fn config_json_contains_no_secret() {
    let secrets = ["postgresql://ada:geheim@localhost/listen", "geheim"];
    let words =
        ["config", "--json", "--openai-api-key", secrets[1], "--openai-base-url", "https://m.example/v1"];

    let (code, told, said) = ends(secrets[0], &words);

    assert_eq!(code, Some(2), "no model is named: {told}");
    assert!(!told.contains("geheim") && !said.contains("geheim"), "{told}{said}");
    let shown = document(&told);
    assert_eq!(shown["ok"], json!(false));
    assert_eq!(
        (&shown["settings"]["database_url"], &shown["settings"]["openai_api_key"]),
        (&json!("ada@localhost:5432/listen"), &json!("(set)"))
    );
    assert_eq!(shown["settings"]["openai_model"], Value::Null);
    let problems = shown["problems"].as_array().expect("a list");
    assert!(
        problems.len() == 1
            && problems[0].as_str().is_some_and(|words| words.contains("LISTEN_OPENAI_MODEL"))
    );
    let works = document(&binary::printed(secrets[0], &["config", "--json"]));
    assert_eq!((&works["ok"], &works["problems"]), (&json!(true), &json!([])), "{works}");
}

#[tokio::test]
async fn config_shows_no_values_of_unknown_url_parameters() {
    let database = TestDatabase::new().await;
    let url = database.url();
    let more = if url.contains('?') { "&" } else { "?" };
    let url = format!("{url}{more}sslpassword=geheim&channel_binding=geheim&gssencmode=geheim");
    for words in [&["config"][..], &["migrate"], &["jobs", "list"], &["verify", "--json"]] {
        let (code, told, said) = ends(&url, words);
        assert_eq!(code, Some(0), "{words:?}: {said}");
        assert!(said.contains("sslpassword, channel_binding, gssencmode"), "{words:?}: {said}");
        assert!(!told.contains("geheim") && !said.contains("geheim"), "{words:?}: {told}{said}");
    }
    let process = Process::serve(&url, &[("LISTEN_LOG", "trace")]).await;
    assert!(!process.logs().contains("geheim"), "{}", process.logs());
    assert_eq!(process.logs().matches("of the database's URL that this program does not know").count(), 1);
}

#[test]
fn help_shows_no_configured_secret() {
    let of_a_service = [
        "DATABASE_URL",
        "LISTEN_OPENAI_API_KEY",
        "LISTEN_VAPID_PRIVATE_KEY",
        "LISTEN_CONSOLE_KEYS",
        "OTEL_EXPORTER_OTLP_HEADERS",
    ];
    for (verb, settings) in [
        ("serve", &of_a_service[..]),
        ("dev", &of_a_service),
        ("jobs", &of_a_service[..1]),
        ("verify", &of_a_service[..1]),
    ] {
        let mut command = std::process::Command::new(binary::path());
        command.args([verb, "--help"]).envs(of_a_service.map(|name| (name, "geheim")));
        let output = command.output().expect("the program can be run");
        let [told, said] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
        assert_eq!(output.status.code(), Some(0), "{verb}: {said}");
        for name in settings {
            assert!(told.contains(name), "{verb} has no {name}: {told}");
        }
        assert!(!told.contains("geheim") && !said.contains("geheim"), "{verb}: {told}{said}");
    }
}
