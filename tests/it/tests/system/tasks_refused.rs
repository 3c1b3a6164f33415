//! Refused deliveries, and invalid settings of the task queue.

use serde_json::json;
use task_queue::{Claims, Fault, Kind, Options, Signer};

use crate::binary;
use crate::client::page;
use crate::process::Process;
use crate::queue::{Queue, deliver, dispatch};
use crate::world::{GARDEN, World};

#[tokio::test]
async fn task_queue_delivery_needs_a_valid_invoker_token() {
    let world = World::new().await;
    let queue = Queue::start(Options::default()).await;
    queue.emulator.pause(true);
    let process = Process::serve(&world.url, &queue.taking(&[])).await;
    let client = world.client(&process);
    client.admit(GARDEN).await;
    let job = binary::the_job(&world.url)["job_id"].as_str().expect("an id").to_owned();
    let signer = queue.emulator.signer().expect("the key is there");
    let good = queue.claims();
    let sign = |claims: Claims| signer.sign(&claims);
    let header = |alg: &str| signer.sign_json(&json!({ "alg": alg, "kid": signer.key_id() }), &good.json());
    let unsigned = header("none");
    let unsigned = unsigned.rsplit_once('.').expect("three parts").0;
    let now = good.issued_at;
    let wrong_key = Signer::new(1).expect("the key is there");
    let wrong_key = wrong_key.sign_json(&json!({ "alg": "RS256", "kid": signer.key_id() }), &good.json());
    let rows = [
        ("none", None, 401),
        ("a developer key", Some(world.key().to_owned()), 401),
        ("malformed", Some("a.b".to_owned()), 401),
        ("8 KiB", Some(format!("{}{}", queue.token(), "A".repeat(8_192))), 401),
        ("unsigned", Some(format!("{unsigned}.")), 401),
        ("HS256", Some(header("HS256")), 401),
        ("another key", Some(wrong_key), 401),
        ("Cloud Run's stripped signature", Some(format!("{unsigned}.SIGNATURE_REMOVED_BY_GOOGLE")), 401),
        ("expired", Some(sign(Claims { expires_at: now - 60, ..good.clone() })), 401),
        ("from the future", Some(sign(Claims { issued_at: now + 600, ..good.clone() })), 401),
        (
            "another audience",
            Some(sign(Claims { audience: "https://x.example".to_owned(), ..good.clone() })),
            401,
        ),
        (
            "another issuer",
            Some(sign(Claims { issuer: "https://x.example".to_owned(), ..good.clone() })),
            401,
        ),
        (
            "another identity",
            Some(sign(Claims { email: "x@local.iam.gserviceaccount.com".to_owned(), ..good.clone() })),
            403,
        ),
        ("an unverified address", Some(sign(Claims { email_verified: false, ..good.clone() })), 403),
    ];
    for (what, token, status) in rows {
        let (answered, _, answer) = deliver(&process.api, token.as_deref(), dispatch(&job, 1)).await;
        assert_eq!(answered.as_u16(), status, "{what}: {answer}");
    }
    assert_eq!(binary::the_job(&world.url)["status"], "queued", "nobody ran it");

    // A key that was rotated without notice is fetched when it is first named.
    queue.emulator.rotate();
    let (_, _, answer) = deliver(&process.api, Some(&queue.token()), dispatch(&job, 1)).await;
    assert_eq!(answer, json!({ "status": "done" }));
    let (_, metrics) = page(&format!("{}/metrics", process.admin)).await;
    assert!(metrics.contains("listen_oidc_refusals_total{reason=\"identity\"} 1"), "{metrics}");
    for text in [process.logs(), metrics] {
        assert!(!text.contains(&queue.token()[..40]), "a token was told");
    }
}

#[tokio::test]
async fn task_queue_delivery_without_issuer_keys_is_retried() {
    for kind in [Kind::KeysDown, Kind::KeysHuge, Kind::KeysHang] {
        let world = World::new().await;
        let queue = Queue::start(Options::default()).await;
        queue.emulator.fault(Fault::always(kind.clone()));
        let process = Process::serve(&world.url, &queue.taking(&[("LISTEN_ROLES", "api")])).await;
        let (status, again, _) = deliver(&process.api, Some(&queue.token()), dispatch("fj_1", 1)).await;
        assert_eq!((status.as_u16(), again), (503, Some(10)), "{kind:?}");
        queue.emulator.mend();
        let unknown = json!({ "status": "dropped", "reason": "missing" });
        crate::process::until(async || {
            deliver(&process.api, Some(&queue.token()), dispatch("fj_1", 1)).await.2 == unknown
        })
        .await;
        let logs = process.logs();
        assert_eq!(
            logs.matches("that verify deliveries could not be fetched").count(),
            1,
            "once a minute: {logs}"
        );
    }
}

#[tokio::test]
async fn task_queue_delivery_without_a_configured_invoker_is_refused() {
    let world = World::new().await;
    let queue = Queue::start(Options::default()).await;
    for roles in ["api", "api,worker,reconciler"] {
        let process = Process::serve(&world.url, &[("LISTEN_ROLES", roles)]).await;
        let (status, _, answer) = deliver(&process.api, Some(&queue.token()), dispatch("fj_1", 1)).await;
        assert_eq!((status.as_u16(), &answer["detail"]), (401, &json!("Not authenticated")), "{roles}");
    }
    // The public address is left to an API on the same machine.
    assert_eq!(Process::serve(&world.url, &[("LISTEN_ROLES", "worker")]).await.api, "");
}

#[tokio::test]
async fn task_queue_invalid_settings_are_refused_by_name() {
    let mode = "--finalization-dispatch-mode=cloud_tasks";
    let queue = "--finalization-tasks-queue=projects/p/locations/l/queues/q";
    let handler = "--finalization-tasks-handler-url=https://listen.example/run";
    let invoker = "--finalization-tasks-invoker-sa=i@p.iam.gserviceaccount.com";
    let here = "--finalization-tasks-api-url=http://127.0.0.1:8123";
    let open = "--finalization-tasks-credentials=none";
    let rows: [(&[&str], &str); 9] = [
        (&[mode, handler, invoker], "LISTEN_FINALIZATION_TASKS_QUEUE"),
        (&[mode, queue, invoker], "LISTEN_FINALIZATION_TASKS_HANDLER_URL"),
        (&[mode, queue, handler], "LISTEN_FINALIZATION_TASKS_INVOKER_SA"),
        (&["--finalization-tasks-queue=q"], "LISTEN_FINALIZATION_TASKS_PROJECT"),
        (&["--finalization-tasks-handler-url=http://listen.example/run"], "https://"),
        (&[invoker], "LISTEN_FINALIZATION_TASKS_OIDC_AUDIENCE"),
        (&["--finalization-tasks-invoker-sa=me", handler], "email address"),
        (&[open], "LISTEN_FINALIZATION_TASKS_API_URL"),
        (&[mode, queue, handler, invoker, "--finalization-run-timeout-seconds=1801"], "1800"),
    ];
    for (settings, named) in rows {
        let words = [&["config"], settings].concat();
        let output = binary::command("postgresql://u@localhost/d", &words);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{settings:?}");
        assert!(said.contains(named), "{settings:?}: {said}");
    }
    let right = [
        "config",
        mode,
        "--finalization-tasks-queue=q",
        "--finalization-tasks-project=p",
        "--finalization-tasks-location=l",
        handler,
        invoker,
        here,
        open,
    ];
    let told = binary::printed("postgresql://u@localhost/d", &right);
    assert!(told.contains("https://listen.example/run"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_names_task_queue_problems() {
    let world = World::new().await;
    let options = Options { max_attempts: 100, ..Options::default() };
    let queue = Queue::start(options).await;
    let settings = queue.taking(&[]);
    let ask = |queue_name: &str| {
        let mut command = std::process::Command::new(binary::path());
        command.args(["doctor"]).envs(settings.iter().copied()).env("DATABASE_URL", &world.url);
        command.env("LISTEN_FINALIZATION_TASKS_QUEUE", queue_name);
        let output = tokio::task::block_in_place(|| command.output()).expect("the program can be run");
        let words = |bytes| String::from_utf8(bytes).expect("commands speak UTF-8");
        words(output.stdout) + &words(output.stderr)
    };
    let told = ask(task_queue::QUEUE);
    assert!(told.contains("! task queue") && told.contains("recommended are 5"), "{told}");
    assert!(!told.contains("hand-over"), "no process hands over: {told}");
    let told = ask("nonsense");
    assert!(told.contains("✗ task queue") && told.contains("not complete"), "{told}");
}
