//! Commands for live jobs and waiting deliveries: run now, cancel, retry all.

use axum::http::StatusCode;
use job::{FailureCode, JobId};
use ledger::OperatorAction;
use operations::{ActionFilter, JobFilter, Operations};
use outbox::{DeliveryOutcome, DeliveryPolicy, NewEndpoint};
use records::{ConversationId, EventKind, UserId, WebhookFormat};
use secrecy::SecretString;
use tokio::time::Instant;

use super::world::{Who, World};
use crate::console::{Undone, run_now::run_now_in};

/// A job of Ann's that backs off.
async fn backing_off(world: &World, id: &str) -> JobId {
    world.failed(&UserId::new("ann"), id, FailureCode::ModelUnavailable).await
}

async fn done(world: &World) -> Vec<(String, String)> {
    let filter = ActionFilter { limit: 9, ..ActionFilter::default() };
    let actions = Operations::new(&world.ledger).actions(&filter).await.unwrap();
    actions.into_iter().map(|action| (action.action, action.operator)).collect()
}

#[tokio::test]
async fn operator_runs_a_waiting_job_now_and_a_reader_cannot() {
    let world = World::with_keys().await;
    let (job, cookie) = (backing_off(&world, "c").await, world.cookie("olga's").await);
    let olga = Who { cookie: &cookie, ..Who::default() };
    let page = format!("/console/jobs/{job}");
    assert!(world.get(&page, olga).await.text.contains("Run now…"));
    let form = world.get(&format!("{page}/run-now"), olga).await;
    assert!(form.text.contains("model_unavailable") && form.text.contains("Run this job now?"));
    let reader = world.cookie("ron's").await;
    let ron = Who { cookie: &reader, ..Who::default() };
    for button in ["Run now…", "Cancel…"] {
        assert!(!world.get(&page, ron).await.text.contains(button), "{button}");
    }
    let fields = [("token", form.token()), ("reason", "the server is back")];
    let refused = world.post(&format!("{page}/run-now"), &fields, ron).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    let hurried = world.post(&format!("{page}/run-now"), &fields, olga).await;
    assert_eq!(hurried.location(), format!("{page}?done=hurried"));
    assert!(world.get(hurried.location(), olga).await.text.contains("It is due now."));
    assert_eq!(done(&world).await, [("run_now".to_owned(), "olga".to_owned())]);
    let again = world.post(&format!("{page}/run-now"), &fields, olga).await;
    assert_eq!(again.status, StatusCode::CONFLICT, "it waits for nothing any more");
    assert!(again.text.contains("waits for nothing but a slot"), "{}", again.text);
}

#[tokio::test]
async fn operator_runs_all_waiting_jobs_now_after_a_review() {
    let world = World::with_keys().await;
    let jobs = [backing_off(&world, "c").await, backing_off(&world, "d").await];
    let ready = world.admitted("e").await;
    let cookie = world.cookie("olga's").await;
    let olga = Who { cookie: &cookie, ..Who::default() };
    assert!(
        world.get("/console/jobs?status=queued", olga).await.text.contains("Run what waits of these now…")
    );
    let form = world.get("/console/run-now?status=queued&user=ann", olga).await;
    assert!(form.text.contains("Run 2 waiting jobs now?"), "{}", form.text);
    let fields = [("token", form.token()), ("reason", "the server is back"), ("user", "ann")];
    let sent = world.post("/console/run-now", &fields, olga).await;
    assert_eq!(sent.location(), "/console/jobs?status=queued&done=all-hurried");
    for job in jobs {
        assert!(world.ledger.job(&job).await.unwrap().unwrap().job.hurried);
    }
    assert!(!world.ledger.job(&ready).await.unwrap().unwrap().job.hurried);
    let none = world.get("/console/run-now?status=queued", olga).await;
    assert_eq!(none.status, StatusCode::OK);
    assert!(none.text.contains("<h1>Nothing is to be run now</h1>"), "{}", none.text);
    assert_eq!(done(&world).await, [("bulk_run_now".to_owned(), "olga".to_owned())], "one order");
    let audit = world.get("/console/audit", olga).await.text;
    assert!(audit.contains("waiting jobs, user ann: 2 done, 0 refused"), "{audit}");
}

/// The listener gave the answer up after 90 seconds: an empty page, and an audit without an end.
#[tokio::test]
async fn order_for_many_jobs_ends_in_time_and_the_next_one_goes_on_with_the_rest() {
    let world = World::with_keys().await;
    for id in ["c", "d"] {
        backing_off(&world, id).await;
    }
    let operations = Operations::new(&world.ledger);
    let action = OperatorAction::new("olga", "the server is back");
    let run = async || {
        let waits_at = Some(operations.db().now().await.unwrap());
        let filter =
            JobFilter { status: Some("queued".to_owned()), waits_at, limit: 9, ..JobFilter::default() };
        run_now_in(&operations, (&filter, "all", &action), Instant::now()).await.unwrap()
    };

    let first = run().await;

    assert_eq!((first.counts.granted, first.error.map(|error| error.name())), (1, Some("time-is-over")));
    let (heading, words) = Undone::of_name("time-is-over").unwrap().words();
    assert!(heading.contains("time") && words.contains("give the order again"), "{heading}: {words}");
    let second = run().await;
    assert!(second.counts.granted == 1 && second.error.is_none());
    let audit = operations.actions(&ActionFilter { limit: 9, ..ActionFilter::default() }).await.unwrap();
    assert_eq!(audit.iter().filter(|action| action.action == "bulk_run_now").count(), 2, "{audit:?}");
}

#[tokio::test]
async fn cancelled_job_is_shown_and_can_be_replayed() {
    let world = World::with_keys().await;
    let (job, cookie) = (world.admitted("c").await, world.cookie("olga's").await);
    let olga = Who { cookie: &cookie, ..Who::default() };
    let page = format!("/console/jobs/{job}");
    let form = world.get(&format!("{page}/cancel"), olga).await;
    let fields = [("token", form.token()), ("reason", "asked for by the user")];
    let sent = world.post(&format!("{page}/cancel"), &fields, olga).await;
    assert_eq!(
        (sent.location(), world.status(&job).await),
        (&*format!("{page}?done=job-cancelled"), "dead_letter")
    );
    let shown = world.get(sent.location(), olga).await.text;
    for words in ["Cancelled.", "cancelled_by_operator", "Replay it all the same…", "asked for by the user"]
    {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert_eq!(world.post(&format!("{page}/cancel"), &fields, olga).await.status, StatusCode::CONFLICT);
    let overview = world.get("/console", olga).await.text;
    assert!(!overview.contains("dead letters wait for an operator"), "the order settled it");
}

#[tokio::test]
async fn operator_retries_all_deliveries_of_a_recovered_endpoint() {
    let world = World::with_keys().await;
    let ann = UserId::new("ann");
    let new = NewEndpoint {
        force: true,
        id: "w".to_owned(),
        url: "https://hooks.example".to_owned(),
        events: vec![EventKind::ConversationCompleted],
        format: WebhookFormat::Full,
        secret: SecretString::from("whsec_c2VjcmV0"),
    };
    world.ledger.outbox().create_endpoint(&ann, &new).await.unwrap().unwrap();
    let policy = DeliveryPolicy::default();
    for id in ["d", "e"] {
        world.ledger.outbox().test_delivery(&ann, "w", id).await.unwrap().unwrap();
        let claimed =
            world.ledger.outbox().claim_deliveries(1, &policy, None).await.unwrap().claimed.pop().unwrap();
        let (error, retry_after) = ("status", None);
        let outcome = DeliveryOutcome::Retry { status: Some(503), error, retry_after, jitter_permille: 0 };
        assert!(world.ledger.outbox().finish_delivery(&claimed, outcome, &policy).await.unwrap());
    }
    let cookie = world.cookie("olga's").await;
    let olga = Who { cookie: &cookie, ..Who::default() };
    let endpoint = "/console/webhooks/endpoint?user=ann&endpoint=w";
    let delivery = "/console/webhooks/delivery?user=ann&endpoint=w&delivery=d";
    assert!(world.get(endpoint, olga).await.text.contains("Try what waits now…"));
    assert!(world.get(delivery, olga).await.text.contains("Try now…"));
    let form = world.get("/console/webhooks/try-now?user=ann&endpoint=w&delivery=d", olga).await;
    let named = [("token", form.token()), ("user", "ann"), ("endpoint", "w"), ("reason", "it is back")];
    let one = [&named[..], &[("delivery", "d")]].concat();
    let sent = world.post("/console/webhooks/try-now", &one, olga).await;
    assert_eq!(sent.location(), format!("{delivery}&done=tried-now"));
    let sent = world.post("/console/webhooks/try-now", &named, olga).await;
    assert_eq!(sent.location(), format!("{endpoint}&done=tried-now"));
    let sent = world.post("/console/webhooks/try-now", &named, olga).await;
    assert_eq!(sent.location(), format!("{endpoint}&done=unchanged"));
    assert_eq!(world.ledger.outbox().claim_deliveries(9, &policy, None).await.unwrap().claimed.len(), 2);
    assert_eq!(done(&world).await.len(), 2);
}

/// "Dismissed" says that an operator has looked at it.
#[tokio::test]
async fn list_says_what_settled_each_dead_letter() {
    let world = World::with_keys().await;
    let ann = UserId::new("ann");
    let [dismissed, superseded, deleted] =
        [world.dead("a").await, world.dead("b").await, world.dead("c").await];
    let cookie = world.cookie("olga's").await;
    let olga = Who { cookie: &cookie, ..Who::default() };
    let path = format!("/console/jobs/{dismissed}/discard");
    let form = world.get(&path, olga).await;
    let sent = world.post(&path, &[("token", form.token()), ("reason", "a test")], olga).await;
    assert_eq!(sent.status, StatusCode::SEE_OTHER, "{}", sent.text);
    world.ledger.reprocess(&ann, &ConversationId::new("b"), None).await.unwrap().unwrap();
    assert!(world.ledger.delete_conversation(&ann, &ConversationId::new("c")).await.unwrap());

    let list = world.get("/console/jobs?status=dead_letter", olga).await.text;

    for (job, words) in
        [(dismissed, "dismissed"), (superseded, "superseded"), (deleted, "conversation deleted")]
    {
        let row = list.split("<tr>").find(|row| row.contains(job.as_str())).unwrap();
        assert!(row.contains(&format!("dead letter</span> <small>{words}</small>")), "{words}: {row}");
    }
    let waiting = world.get("/console/jobs?status=dead_letter&unsettled=1", olga).await.text;
    assert!(waiting.contains("No job fits this filter."), "{waiting}");
    assert!(!world.get("/console", olga).await.text.contains("dead letters wait for an operator"));
}
