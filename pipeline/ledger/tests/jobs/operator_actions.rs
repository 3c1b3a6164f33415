//! Operators' actions: what they change, and how history and audit show them.

use job::{FailureCode, Refusal, State};
use ledger::{Answer, CheckpointKey, Operation, history::Verb};
use operations::{ActionFilter, JobFilter, OrderCounts, OrderOfMany};

use crate::world::{REPLAY, World, olga};

#[tokio::test]
async fn run_writes_nothing_after_its_job_is_cancelled() {
    let world = World::new().await;
    let claimed = world.claimed("c").await;
    let job = world.operate(&claimed.job.id, Operation::Cancel).await.unwrap();
    assert_eq!(job.state, State::DeadLetter { code: FailureCode::CancelledByOperator });
    let key = CheckpointKey { stage: "describe", version: 1, digest: [0; 32] };
    let kept =
        world.ledger.record(&claimed.lease_token(), &key, &serde_json::json!(1), false, &[]).await.unwrap();
    assert!(!kept, "its next checkpoint is refused");
    let renewal = world.ledger.renew(&[claimed.lease_token()]).await.unwrap()[0];
    assert_eq!(renewal, ledger::Renewal::Lost, "and so is its next heartbeat");
    let status: String = world.value("select status || discarded from conversations").await;
    assert_eq!(status, "failedtrue");
}

#[tokio::test]
async fn cancelled_job_is_settled_and_left_out_of_bulk_replays() {
    let world = World::new().await;
    let cancelled = world.admitted("c").await;
    world.operate(&cancelled, Operation::Cancel).await.unwrap();
    world.dead("d", FailureCode::InvalidJob).await;
    let found = JobFilter { status: Some("dead_letter".to_owned()), ..JobFilter::default() };
    assert_eq!(world.operations().preview_replay(&found).await.unwrap().jobs, 1);
    let waiting: Vec<(String, i64, i64)> = world
        .operations()
        .overview()
        .await
        .unwrap()
        .dead_letters
        .iter()
        .map(|letters| (letters.code.clone(), letters.waiting(), letters.settled))
        .collect();
    assert_eq!(waiting, [("invalid_job".to_owned(), 1, 0), ("cancelled_by_operator".to_owned(), 0, 1)]);
    let told = world.operations().gauges().await.unwrap().waiting_dead_letters;
    assert_eq!(told, 1, "what its operator ended alerts nobody");
    let replayed = world.operate(&cancelled, REPLAY).await.unwrap();
    assert_eq!((replayed.state.status(), replayed.settled_at), ("queued", None));
}

#[tokio::test]
async fn run_now_is_recorded_in_history_and_audit() {
    let world = World::new().await;
    let claimed = world.claimed("c").await;
    let transition = ledger::Transition::Fail {
        code: FailureCode::ModelUnavailable,
        retry_after: None,
        jitter_permille: 0,
    };
    world.ledger.settle(&claimed.lease_token(), transition, None).await.unwrap();
    world.operate(&claimed.job.id, Operation::RunNow).await.unwrap();
    let page = world.operations().job_page(&claimed.job.id).await.unwrap().unwrap();
    let last = page.history.last().unwrap();
    assert_eq!((last.verb, last.from.as_str(), last.to.as_str()), (Verb::RunNow, "queued", "queued"));
    let action = &page.actions[0];
    assert_eq!((action.action.as_str(), action.from_code.as_deref()), ("run_now", Some("model_unavailable")));
    assert_eq!((action.from_generation, action.to_generation), (Some(1), Some(2)));
    let retaken = world.claim(&claimed.job.id).await;
    assert!(retaken.job.hurried, "its run is marked as hurried");
}

#[tokio::test]
async fn bulk_discard_is_one_audit_row_and_one_entry_per_job() {
    let world = World::new().await;
    let operations = world.operations();
    let dead = world.dead("c", FailureCode::InvalidJob).await;
    let live = world.admitted("d").await;
    let id = uuid::Uuid::from_u128(7);
    let mut given =
        operations.begin_order(id, OrderOfMany::Dismiss, ("code invalid_job", 2), &olga()).await.unwrap();
    let rows = async || {
        let all = operations.actions(&ActionFilter { limit: 9, ..ActionFilter::default() }).await.unwrap();
        all.into_iter().map(|row| (row.action, row.detail.unwrap_or_default())).collect::<Vec<_>>()
    };
    let row = |detail: &str| vec![("bulk_discard".to_owned(), detail.to_owned())];
    assert_eq!(rows().await, row("code invalid_job: 2 found"), "recorded before anything is changed");
    let result = operations.give_order(&mut given, &dead).await.unwrap();
    assert!(matches!(result, Answer::Granted { .. }), "{result:?}");
    let result = operations.give_order(&mut given, &live).await.unwrap();
    assert!(matches!(result, Answer::Refused(Refusal::NotDead)), "{result:?}");
    operations.end_order(&given).await.unwrap();
    assert_eq!(rows().await, row("code invalid_job: 1 done, 1 refused"));
    let page = operations.job_page(&dead).await.unwrap().unwrap();
    let action = &page.actions[0];
    assert_eq!((action.action.as_str(), action.subject.as_deref()), ("discard", Some(&*id.to_string())));
}

#[tokio::test]
async fn order_that_ended_midway_is_audited_with_what_it_did_and_what_it_left() {
    let world = World::new().await;
    let operations = world.operations();
    let dead = world.dead("c", FailureCode::InvalidJob).await;
    let id = uuid::Uuid::from_u128(7);
    let mut given =
        operations.begin_order(id, OrderOfMany::Dismiss, ("code invalid_job", 3), &olga()).await.unwrap();
    operations.give_order(&mut given, &dead).await.unwrap();
    operations.end_order(&given).await.unwrap();
    let filter = ActionFilter { limit: 9, ..ActionFilter::default() };
    let rows = operations.actions(&filter).await.unwrap();
    let detail = "code invalid_job: 1 done, 0 refused, 2 without an answer";
    assert_eq!(rows[0].detail.as_deref(), Some(detail));
}

/// A row that was edited by hand, or that a trigger guards, kept all others from being dismissed.
#[tokio::test]
async fn bulk_discard_goes_on_behind_a_job_whose_row_cannot_be_changed() {
    let world = World::new().await;
    let operations = world.operations();
    let mut jobs = Vec::new();
    for id in ["c", "d", "e", "f"] {
        jobs.push(world.dead(id, FailureCode::InvalidJob).await);
    }
    let kept = &jobs[0];
    world
        .database
        .run(&format!(
            "create function keep() returns trigger language plpgsql as $$ begin \
             if old.job_id = '{kept}' then raise 'kept for the auditors'; end if; return new; end $$; \
             create trigger keep before update on finalization_jobs for each row execute function keep()"
        ))
        .await;
    let id = uuid::Uuid::from_u128(8);
    let mut given =
        operations.begin_order(id, OrderOfMany::Dismiss, ("code invalid_job", 4), &olga()).await.unwrap();

    let error = operations.give_order(&mut given, kept).await.unwrap_err();

    assert!(error.is_of_one_row(), "others are asked: {error:?}");
    assert!(error.refusal().unwrap().contains("kept for the auditors"), "{error:?}");
    for job in &jobs[1..] {
        let result = operations.give_order(&mut given, job).await.unwrap();
        assert!(matches!(result, Answer::Granted { .. }), "{result:?}");
    }
    assert_eq!(given.counts, OrderCounts { granted: 3, refused: 0, failed: 1 });
    operations.end_order(&given).await.unwrap();
    let filter = ActionFilter { limit: 9, ..ActionFilter::default() };
    let rows = operations.actions(&filter).await.unwrap();
    assert_eq!(rows[0].detail.as_deref(), Some("code invalid_job: 3 done, 0 refused, 1 failed"));
}
