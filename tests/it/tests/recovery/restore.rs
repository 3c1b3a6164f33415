//! Restoring a backup: point-in-time recovery, and a dump of its result. docs/backup.md tells operators the same order:
//! stop every process, restore, `listen migrate`, `listen verify`, start.

use sqlx::{Connection, PgConnection};

use crate::binary::{command, jobs, printed};
use crate::client::Client;
use crate::process::{Process, until};
use crate::receiver::Receiver;
use crate::server::Server;

const LINES: &[&str] = &[
    "Let's plan the garden for spring, the shed has a hole in the roof.",
    "I will order new roof tiles by Friday.",
];

/// No process takes what is only admitted.
const NO_WORKER: [(&str, &str); 1] = [("LISTEN_ROLES", "api")];

fn is_clean(database: &str) {
    let migrated = printed(database, &["migrate"]);
    assert!(migrated.contains("up to date already"), "{migrated}");
    let verified = command(database, &["verify"]);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
}

/// How many deliveries are known to have arrived.
async fn delivered(database: &str) -> i64 {
    let mut session = PgConnection::connect(database).await.expect("the database answers");
    let arrived = "select count(*) from webhook_deliveries where status = 'delivered'";
    sqlx::query_scalar(arrived).fetch_one(&mut session).await.expect("a number")
}

#[tokio::test(flavor = "multi_thread")]
async fn point_in_time_restore_and_dump_finish_their_jobs_and_repeat_webhook_ids() {
    let receiver = Receiver::start().await;
    let server = Server::start("origin");
    let database = server.url();
    printed(&database, &["migrate"]);
    printed(&database, &["users", "create", "--id", "u1"]);
    let key = printed(&database, &["keys", "create", "--user", "u1"]);
    let restored = Server::backup_of(&server);

    // Before the point: one completed and notified, one in the middle of its run, one waiting.
    let process = Process::serve(&database, &[]).await;
    let client = Client::new(&process.api, &key);
    client.register_webhook(&receiver.url()).await;
    let completed = client.admit(LINES).await;
    client.finished(&completed).await;
    // Recorded, or a process that is killed before it is sends it again.
    until(async || delivered(&database).await == 1).await;
    process.kill().await;
    let mut held = Process::held_after(&database, "describe", 600).await;
    let running = Client::new(&held.api, &key).admit(LINES).await;
    held.stage_done("describe").await;
    let api = Process::serve(&database, &NO_WORKER).await;
    server.sql(&["insert into queue_pauses values ('finalization', 'ada', 'a backup', now())"]).await;
    let waiting = Client::new(&api.api, &key).admit(LINES).await;

    server.sql(&["select pg_create_restore_point('then')"]).await;

    // After it: both are completed and notified, and another one is made.
    server.sql(&["delete from queue_pauses"]).await;
    held.kill().await;
    let process = Process::serve(&database, &[]).await;
    let client = Client::new(&process.api, &key);
    for id in [&running, &waiting] {
        assert_eq!(client.finished(id).await["status"], "completed");
    }
    let later = client.admit(LINES).await;
    client.finished(&later).await;
    receiver.posts(4).await;
    let sent = receiver.ids();
    assert_eq!(sent.len(), 4, "each under an id of its own");
    process.kill().await;
    api.kill().await;
    server.sql(&["select pg_switch_wal()"]).await;
    let archived = "select count(*) from pg_stat_archiver where last_archived_wal >= \
         pg_walfile_name(pg_current_wal_lsn() - 1)";
    until(async || server.number(archived).await == 1).await;

    restored.recover_to("then", &server.archive()).await;
    let database = restored.url();
    is_clean(&database);
    let statuses: Vec<String> =
        jobs(&database).iter().map(|job| job["status"].as_str().unwrap_or_default().to_owned()).collect();
    assert_eq!(statuses.len(), 3, "the later one is gone: {statuses:?}");

    // A dump of the same moment, as a second line.
    let (port, file) = (restored.addr().port().to_string(), restored.home.join("dump"));
    let file = file.display().to_string();
    let place = ["-h", "127.0.0.1", "-p", &port, "-U", "postgres"];
    restored.run("pg_dump", &[&place[..], &["-Fc", "-f", &file, "postgres"]].concat());
    restored.run("createdb", &[&place[..], &["dumped"]].concat());
    restored
        .run("pg_restore", &[&place[..], &["-d", "dumped", "--no-owner", "--exit-on-error", &file]].concat());
    let dumped = database.replace("/postgres?", "/dumped?");
    is_clean(&dumped);

    for database in [&database, &dumped] {
        printed(database, &["jobs", "resume", "finalization", "--reason", "the backup is restored"]);
        let process = Process::outliving(database, &[]).await;
        let client = Client::new(&process.api, &key);
        for id in [&completed, &running, &waiting] {
            assert_eq!(client.finished(id).await["status"], "completed", "{id}");
        }
        let (status, _) =
            client.ask(reqwest::Method::GET, &format!("/v1/conversations/{later}/finalization"), None).await;
        assert_eq!(status, 404, "it was made after the point");
        until(async || delivered(database).await == 3).await;
        process.kill().await;
        is_clean(database);
    }
    let ids = receiver.ids();
    assert_eq!(ids.keys().collect::<Vec<_>>(), sent.keys().collect::<Vec<_>>(), "no id is new");
    let mut times: Vec<usize> = ids.values().copied().collect();
    times.sort_unstable();
    // What was delivered before the point is not sent again; what came after it is, once a restored database; the later
    // conversation is gone.
    assert_eq!(times, [1, 1, 3, 3]);
}
