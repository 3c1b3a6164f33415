//! What operators see: history, filters and pages, processes, pauses, operator actions.

use chrono::Duration;
use job::{FailureCode, JobId, Outcome, Queue, Why};
use ledger::{ClaimRequest, Operation, Results, history::Verb};
use operations::{ActionFilter, JobFilter, RunCounts};
use records::UserId;

use crate::world::{REPLAY, World, completion, olga, process, wanted, worker};

async fn verbs(world: &World, job: &JobId) -> Vec<&'static str> {
    let page = world.operations().job_page(job).await.unwrap().unwrap();
    page.history.iter().map(|event| event.verb.as_str()).collect()
}

#[tokio::test]
async fn history_has_every_transition_once() {
    let world = World::new().await;
    let job = world.dead("c", FailureCode::InvalidJob).await;
    world.operate(&job, REPLAY).await.unwrap();
    let claimed = world.claim(&job).await;
    world.ledger.renew(&[claimed.lease_token()]).await.unwrap();
    let results = Results { stages: vec![("describe", 61)], ..Results::default() };
    world.ledger.complete(&completion(&claimed, Outcome::Kept, results)).await.unwrap();

    let page = world.operations().job_page(&job).await.unwrap().unwrap();

    assert_eq!(verbs(&world, &job).await, ["claim", "fail", "replay", "claim", "complete"]);
    let epochs: Vec<i64> = page.history.iter().map(|event| event.epoch).collect();
    assert_eq!(epochs, [1, 1, 1, 2, 2]);
    // Version 1 is the admission's; the renewal has a version, but is no transition.
    let versions: Vec<i64> = page.history.iter().map(|event| event.version).collect();
    assert_eq!((versions.as_slice(), page.view.version), ([2, 3, 4, 5, 7].as_slice(), 7));
    let codes: Vec<Option<&str>> = page.history.iter().map(|event| event.code.as_deref()).collect();
    assert_eq!(codes, [None, Some("invalid_job"), None, None, None]);
    assert_eq!(page.history[4].stages, [("describe".to_owned(), 61)]);
    assert_eq!((page.actions.len(), page.actions[0].action.as_str()), (1, "replay"));
}

#[tokio::test]
async fn history_records_each_job_of_one_claim() {
    let world = World::new().await;
    let jobs = [world.admitted("a").await, world.admitted("b").await];
    world
        .ledger
        .claim(&ClaimRequest { worker: worker("host:1/creation"), ..wanted(Queue::Creation, 4) })
        .await
        .unwrap();
    for job in &jobs {
        let page = world.operations().job_page(job).await.unwrap().unwrap();
        assert_eq!(page.history.len(), 1);
        assert_eq!(page.history[0].worker.as_deref(), Some("host:1/creation"));
    }
}

#[tokio::test]
async fn history_keeps_its_newest_64_entries() {
    let world = World::new().await;
    let job = world.admitted("c").await;
    for _ in 0..40 {
        let claimed = world.claim(&job).await;
        world.release(&claimed).await;
    }
    let history = world.operations().job_page(&job).await.unwrap().unwrap().history;
    assert_eq!(history.len(), 64);
    assert_eq!(history.last().unwrap().epoch, 40);
}

#[tokio::test]
async fn jobs_pages_have_no_gap_or_overlap() {
    let world = World::new().await;
    let mut all = Vec::new();
    for n in 0..7 {
        all.push(world.admitted(&format!("c{n}")).await);
    }
    all.reverse();
    for status in [None, Some("queued".to_owned())] {
        let mut filter = JobFilter { status, limit: 3, ..JobFilter::default() };
        let mut found = Vec::new();
        loop {
            let page = world.operations().jobs_page(&filter).await.unwrap();
            found.extend(page.jobs.into_iter().map(|view| view.stored.job.id));
            match page.next {
                Some(next) => filter.after = Some(next),
                None => break,
            }
        }
        assert_eq!(found, all);
    }
}

#[tokio::test]
async fn jobs_are_filtered_by_code_user_age_and_generation() {
    let world = World::new().await;
    let dead = world.dead("dead", FailureCode::InvalidJob).await;
    world.dead("other", FailureCode::NoContent).await;
    world.admitted("live").await;
    let found = async |filter: JobFilter| {
        let page = world.operations().jobs_page(&JobFilter { limit: 9, ..filter }).await.unwrap();
        page.jobs.into_iter().map(|view| view.stored.job.id).collect::<Vec<_>>()
    };
    let by_code = JobFilter { code: Some("invalid_job".into()), ..JobFilter::default() };
    assert_eq!(found(by_code.clone()).await, std::slice::from_ref(&dead));
    let of_bob = JobFilter { user: Some(UserId::new("bob")), ..JobFilter::default() };
    assert_eq!(found(of_bob).await, []);
    let now = world.ledger.db().now().await.unwrap();
    let old = JobFilter { until: Some(now - Duration::hours(1)), ..JobFilter::default() };
    assert_eq!(found(old).await, []);
    let young = JobFilter { since: Some(now - Duration::hours(1)), ..JobFilter::default() };
    assert_eq!(found(young).await.len(), 3);
    let second = JobFilter { generation: Some(2), ..JobFilter::default() };
    assert_eq!(found(second.clone()).await, []);
    let counted = async |filter: &JobFilter| {
        let causes = world.operations().causes(filter).await.unwrap();
        causes.codes.into_iter().map(|cause| (cause.code, cause.jobs, cause.settled)).collect::<Vec<_>>()
    };
    let of = |code: &str, settled| (code.to_owned(), 1, settled);
    assert_eq!(counted(&JobFilter::default()).await, [of("invalid_job", 0), of("no_content", 0)]);
    world.operate(&dead, Operation::Discard).await.unwrap();
    let last = world.operations().job_page(&dead).await.unwrap().unwrap().history.pop().unwrap();
    assert_eq!((last.verb, last.code), (Verb::Discard, None), "a discard records no failure code");
    assert_eq!(counted(&by_code).await, [of("invalid_job", 1)]);
    assert_eq!(counted(&JobFilter { unsettled: true, ..JobFilter::default() }).await, [of("no_content", 0)]);
    assert_eq!(found(JobFilter { unsettled: true, ..by_code }).await, []);
}

#[tokio::test]
async fn pause_and_resume_are_shown_and_audited() {
    let world = World::new().await;
    let job = world.admitted("c").await;
    world.operations().report_process(&process("host:1", 4), &RunCounts::default()).await.unwrap();
    assert!(world.operations().pause(Queue::Creation, &olga()).await.unwrap());
    assert!(!world.operations().pause(Queue::Creation, &olga()).await.unwrap(), "once");

    assert_eq!(world.claimed_ids(Queue::Creation).await, []);
    let why = world.operations().job_page(&job).await.unwrap().unwrap().why;
    assert!(why.to_string().starts_with("Its queue, creation, has been paused by olga since "), "{why}");

    assert!(world.operations().resume(Queue::Creation, &olga()).await.unwrap());
    assert_eq!(world.claimed_ids(Queue::Creation).await, [job]);
    let actions =
        world.operations().actions(&ActionFilter { limit: 9, ..ActionFilter::default() }).await.unwrap();
    let verbs: Vec<&str> = actions.iter().map(|action| action.action.as_str()).collect();
    assert_eq!(verbs, ["resume", "pause"]);
}

#[tokio::test]
async fn why_shows_missing_workers_and_taken_slots() {
    let world = World::new().await;
    let (first, second) = (world.admitted("a").await, world.admitted("b").await);
    let why = async |job: &JobId| world.operations().job_page(job).await.unwrap().unwrap().why;
    assert_eq!(why(&first).await, Why::NoWorkers);
    let one_slot = process("host:1", 1);
    world.operations().report_process(&one_slot, &RunCounts::default()).await.unwrap();
    assert_eq!(why(&first).await, Why::NothingWrong);
    assert_eq!(why(&second).await, Why::Behind { ahead: 1 });
    world.claim(&first).await;
    assert_eq!(why(&second).await, Why::SlotsTaken { slots: 1, ahead: 0 });
    assert_eq!(why(&first).await.guard(), "running");
    world.run("update service_processes set seen_at = now() - interval '1 minute'").await;
    assert_eq!(why(&second).await, Why::NoWorkers, "a process that is not seen has no slots");
}

#[tokio::test]
async fn workers_page_shows_leases_and_orphans() {
    let world = World::new().await;
    let job = world.admitted("a").await;
    let orphan = world.admitted("b").await;
    let generation = world.job(&job).await.generation;
    world.ledger.claim_delivery(&job, generation, &worker("host:1/creation")).await.unwrap();
    world.ledger.claim_delivery(&orphan, generation, &worker("elsewhere")).await.unwrap();
    world.operations().report_process(&process("host:1", 4), &RunCounts::default()).await.unwrap();
    world.operations().report_process(&process("host:2", 4), &RunCounts::default()).await.unwrap();
    world
        .run("update service_processes set seen_at = now() - interval '1 minute' where process_id = 'host:2'")
        .await;

    let workers = world.operations().workers().await.unwrap();

    let found: Vec<(&str, bool, usize)> = workers
        .processes
        .iter()
        .map(|view| (view.process.id.as_str(), view.alive, view.holds.len()))
        .collect();
    assert_eq!(found, [("host:1", true, 1), ("host:2", false, 0)]);
    assert_eq!(workers.strays.len(), 1);
    world.operations().forget_process("host:2").await.unwrap();
    assert_eq!(world.operations().workers().await.unwrap().processes.len(), 1);
}

#[tokio::test]
async fn overview_counts_completed_runs_and_dead_letters_by_code() {
    let world = World::new().await;
    world.dead("a", FailureCode::InvalidJob).await;
    let settled = world.dead("b", FailureCode::InvalidJob).await;
    let replayed = world.dead("c", FailureCode::NoContent).await;
    world.operate(&settled, Operation::Discard).await.unwrap();
    world.operate(&replayed, REPLAY).await.unwrap();
    let mut counts = RunCounts::default();
    for _ in 0..2 {
        counts.completed += 3;
        counts.failed += 1;
        counts.lengths[5] += 4;
        world.operations().report_process(&process("host:1", 4), &counts).await.unwrap();
    }
    let done = world.operations().round_done(chrono::Duration::hours(1)).await.unwrap();

    let overview = world.operations().overview().await.unwrap();

    let causes: Vec<(&str, i64, i64)> =
        overview.dead_letters.iter().map(|dead| (dead.code.as_str(), dead.waiting(), dead.settled)).collect();
    assert_eq!(causes, [("invalid_job", 1, 1)]);
    let minutes = world.operations().activity(1).await.unwrap();
    assert_eq!(minutes.len(), 60);
    let last: Vec<_> = minutes.iter().rev().take(2).collect();
    assert_eq!(last.iter().map(|minute| minute.completed).sum::<i64>(), 6);
    assert!(last.iter().any(|minute| minute.p50_ms == Some(175.0)), "between 100 and 250: {last:?}");
    let last = operations::LastRound { at: done, every: chrono::Duration::hours(1) };
    assert_eq!((overview.last_round, overview.living, overview.slots), (Some(last), 1, (4, 4)));
}
