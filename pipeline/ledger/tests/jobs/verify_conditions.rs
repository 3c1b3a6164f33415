//! Every condition of every check of `verify`: a row that is corrupt in one respect is found, and its sound
//! neighbours are not. Two users have conversations with the same ids, and one is in each state.

use std::time::Duration;

use job::{FailureCode, JobId, Outcome};
use ledger::{CreateOutcome, Operation, Results};
use operations::{CHECKS, Finding};
use records::{ConversationId, UserId};
use serde_json::json;
use store::UserChange;

use crate::{
    three_conversations::KEY,
    world::{World, completion, new_conversation, olga},
};

async fn complete(world: &World, job: &JobId) {
    let claimed = world.claim(job).await;
    let results = Results { engine: "test".into(), ..Results::default() };
    world.ledger.complete(&completion(&claimed, Outcome::Kept, results)).await.unwrap();
}

async fn completed(world: &World, id: &str) -> ConversationId {
    let job = world.admitted(id).await;
    complete(world, &job).await;
    ConversationId::new(id)
}

async fn reprocess(world: &World, id: &ConversationId) -> JobId {
    world.ledger.reprocess(&world.ann, id, None).await.unwrap().unwrap().job_id
}

async fn fail(world: &World, job: &JobId) {
    let run = world.claim(job).await;
    world.fail(&run, FailureCode::InvalidJob).await;
}

async fn admitted_of(world: &World, user: &UserId, id: &str) -> JobId {
    match world.ledger.create_conversation(user, new_conversation(id), None).await.unwrap() {
        CreateOutcome::Admitted(admitted) => admitted.job_id,
        other => panic!("not admitted: {other:?}"),
    }
}

/// A world with a sound row in every state.
async fn world_with_every_state() -> World {
    let world = World::new().await;
    world.admitted("queued").await;
    let leased = world.claimed("leased").await;
    assert!(world.ledger.record(&leased.lease_token(), &KEY, &json!("said"), false, &[]).await.unwrap());
    world.deferred("deferred").await;
    completed(&world, "completed").await;
    completed(&world, "plain").await;
    let settled = world.dead("settled", FailureCode::NoContent).await;
    world.operate(&settled, Operation::Discard).await.unwrap();
    world.dead("dead", FailureCode::InvalidJob).await;
    // Later revisions: a live one, a dead letter, one that replaced the first, and one after a failure.
    reprocess(&world, &completed(&world, "reprocessed").await).await;
    let died = reprocess(&world, &completed(&world, "died again").await).await;
    fail(&world, &died).await;
    let replaced = reprocess(&world, &completed(&world, "replaced").await).await;
    complete(&world, &replaced).await;
    world.dead("opened again", FailureCode::NoContent).await;
    let opened = ConversationId::new("opened again");
    world.ledger.finalize(&world.ann, &opened, None, None).await.unwrap().unwrap();
    assert!(world.ledger.delete_conversation(&world.ann, &completed(&world, "deleted").await).await.unwrap());
    // Bob's conversations have Ann's ids and other states; Carla waits for her keys.
    let (bob, carla) = (UserId::new("bob"), UserId::new("carla"));
    assert!(world.ledger.store().create_user(&bob, &Default::default()).await.unwrap());
    let marked = UserChange { requires_byok: Some(true), ..UserChange::default() };
    assert!(world.ledger.store().create_user(&carla, &marked).await.unwrap());
    for id in ["queued", "completed", "deferred", "settled"] {
        admitted_of(&world, &bob, id).await;
    }
    let plain = admitted_of(&world, &bob, "plain").await;
    complete(&world, &plain).await;
    admitted_of(&world, &carla, "queued").await;
    world
        .run(
            "insert into finalization_admissions values ('ann', 'pruned', 1, 'fj_pruned', now() - interval '2 days'); \
             insert into finalization_admissions values ('ann', 'pruned', 2, 'fj_pruned too', now() - interval '9 days')",
        )
        .await;
    world
}

/// The findings of all checks.
async fn found(world: &World, limit: i64) -> Vec<Finding> {
    let mut found = Vec::new();
    for check in &CHECKS {
        let finding = world.operations().verify(check, limit).await.unwrap();
        if !finding.offenders.is_empty() {
            found.push(finding);
        }
    }
    found
}

/// The same as names of checks and numbers of offenders.
async fn broken(world: &World) -> Vec<(&'static str, usize)> {
    found(world, 100).await.into_iter().map(|finding| (finding.name, finding.offenders.len())).collect()
}

async fn expect(harms: &[(&'static str, &[(&'static str, usize)])]) {
    for (harm, expected) in harms {
        let world = world_with_every_state().await;
        world.run(harm).await;
        assert_eq!(broken(&world).await, *expected, "{harm}");
    }
}

#[tokio::test]
async fn verify_finds_nothing_in_rows_that_operations_wrote() {
    assert_eq!(found(&world_with_every_state().await, 100).await, []);
}

#[tokio::test]
async fn verify_compares_user_conversation_and_revision_of_admissions() {
    const NEITHER: &[(&str, usize)] = &[("admissions_have_jobs", 1), ("jobs_were_admitted", 1)];
    expect(&[
        ("update finalization_admissions set user_id = 'bob' where conversation_id = 'leased'", NEITHER),
        ("update finalization_admissions set job_id = 'fj_other' where conversation_id = 'leased'", NEITHER),
        (
            "update finalization_admissions set conversation_id = 'elsewhere' where conversation_id = 'leased'",
            &[("jobs_were_admitted", 1)],
        ),
        (
            "update finalization_admissions set revision = 9 where conversation_id = 'leased'",
            &[("jobs_were_admitted", 1)],
        ),
        (
            "insert into finalization_admissions select 'bob', 'leased', 1, job_id, now() \
                 from finalization_jobs where conversation_id = 'leased'",
            &[("admissions_have_jobs", 1)],
        ),
    ])
    .await;
}

#[tokio::test]
async fn verify_finds_two_completions_of_one_revision() {
    // A copy of the table without its constraints provides the second row of a revision.
    const TWICE: &str = "alter table finalization_jobs drop constraint one_job_per_revision; \
        create temporary table twin as select * from finalization_jobs where conversation_id = 'plain' and user_id = 'ann'; \
        update twin set job_id = 'fj_twin', history = null; \
        insert into finalization_jobs select * from twin; \
        insert into finalization_admissions select 'ann', 'plain', 7, 'fj_twin', now() from twin; \
        update finalization_totals set jobs = jobs + 1 where stripe = 3 and status = 'completed'";
    const ONCE: &str = "alter table finalization_jobs drop constraint one_job_per_revision; \
        create temporary table twin as select * from finalization_jobs where conversation_id = 'plain' and user_id = 'ann'; \
        update twin set job_id = 'fj_twin', history = null, status = 'dead_letter', outcome = null, dead_code = 'internal'; \
        insert into finalization_jobs select * from twin; \
        update finalization_totals set jobs = jobs + 1 where stripe = 3 and status = 'dead_letter'; \
        insert into dead_letter_totals values ('internal', false, 3, 1)";
    expect(&[
        (TWICE, &[("jobs_were_admitted", 1), ("one_completion", 1)]),
        (ONCE, &[("jobs_were_admitted", 1), ("jobs_and_conversations_agree", 1)]),
    ])
    .await;
}

#[tokio::test]
async fn verify_finds_a_live_job_checked_more_than_an_hour_late() {
    expect(&[
        (
            "update finalization_jobs set reconcile_after_at = now() - interval '50 minutes' where status = 'leased'",
            &[],
        ),
        (
            "alter table finalization_jobs drop constraint reconcile_iff_nonterminal; \
             update finalization_jobs set reconcile_after_at = null where status = 'leased'",
            &[("live_jobs_have_owners", 1)],
        ),
    ])
    .await;
}

#[tokio::test]
async fn verify_compares_conversation_status_with_its_newest_job() {
    expect(&[
        (
            "update conversations set status = 'processing' where conversation_id = 'deferred' and user_id = 'ann'",
            &[("conversations_are_processed_by_jobs", 1)],
        ),
        (
            "update conversations set status = 'processing' where conversation_id = 'plain' and user_id = 'ann'",
            &[("conversations_are_processed_by_jobs", 1), ("jobs_and_conversations_agree", 1)],
        ),
        (
            "update conversations set status = 'failed' where conversation_id = 'plain' and user_id = 'ann'",
            &[("jobs_and_conversations_agree", 1)],
        ),
        (
            "update conversations set status = 'completed' where conversation_id = 'dead'",
            &[("jobs_and_conversations_agree", 1)],
        ),
        (
            "update conversations set status = 'failed' where conversation_id = 'leased'",
            &[("jobs_and_conversations_agree", 1)],
        ),
        (
            "delete from conversations where conversation_id = 'queued' and user_id = 'ann'",
            &[("live_jobs_have_conversations", 1), ("usage_recounts", 1)],
        ),
    ])
    .await;
}

#[tokio::test]
async fn verify_finds_missing_totals() {
    expect(&[
        ("delete from finalization_totals where status = 'completed'", &[("totals_recount", 1)]),
        ("delete from dead_letter_totals where settled", &[("dead_letters_recount", 1)]),
        (
            "update dead_letter_totals set settled = true where not settled and code = 'invalid_job'",
            &[("dead_letters_recount", 2)],
        ),
    ])
    .await;
}

#[tokio::test]
async fn verify_finds_a_checkpoint_of_an_epoch_never_claimed() {
    expect(&[("update stage_checkpoints set epoch = 2", &[("numbers_only_grow", 1)])]).await;
}

#[tokio::test]
async fn verify_finds_versions_epochs_and_generations_that_decrease() {
    expect(&[
        (
            "update finalization_jobs set history = '[{\"v\": 3, \"verb\": \"claim\", \"epoch\": 1, \"gen\": 1}, \
                 {\"v\": 2, \"verb\": \"release\", \"epoch\": 1, \"gen\": 1}]' where status = 'leased'",
            &[("numbers_only_grow", 1)],
        ),
        (
            "update finalization_jobs set history = '[{\"v\": 2, \"verb\": \"claim\", \"epoch\": 2, \"gen\": 1}, \
                 {\"v\": 3, \"verb\": \"release\", \"epoch\": 1, \"gen\": 1}]' where status = 'leased'",
            &[("numbers_only_grow", 1)],
        ),
        (
            "update finalization_jobs set history = '[{\"v\": 2, \"verb\": \"claim\", \"epoch\": 1, \"gen\": 2}, \
                 {\"v\": 3, \"verb\": \"release\", \"epoch\": 1, \"gen\": 1}]' where status = 'leased'",
            &[("numbers_only_grow", 1)],
        ),
    ])
    .await;
}

#[tokio::test]
async fn verify_finds_an_erasure_unfinished_after_a_day() {
    expect(&[
        ("update users set deleting_since = now() - interval '23 hours' where user_id = 'ann'", &[]),
        (
            "update users set deleting_since = now() - interval '25 hours' where user_id = 'ann'",
            &[("erasures_end", 1)],
        ),
    ])
    .await;
}

#[tokio::test]
async fn verify_limits_offenders_and_says_whether_there_are_more() {
    let world = world_with_every_state().await;
    world.run("update finalization_admissions set revision = revision + 9 where conversation_id in ('leased', 'dead')").await;
    let counted = async |limit| {
        let found = found(&world, limit).await;
        assert_eq!(found.len(), 1);
        (found[0].offenders.len(), found[0].more)
    };
    assert_eq!((counted(1).await, counted(2).await, counted(3).await), ((1, true), (2, false), (2, false)));
}

#[tokio::test]
async fn recount_corrects_an_existing_stripe() {
    let world = world_with_every_state().await;
    world
        .run(
            "update finalization_totals set jobs = jobs + 3 where status = 'completed' and stripe in (0, 3); \
             insert into dead_letter_totals values ('no_content', true, 0, 5) \
                 on conflict (code, settled, stripe) do update set jobs = dead_letter_totals.jobs + 5",
        )
        .await;
    assert!(world.operations().recount(&olga()).await.unwrap());
    assert_eq!(broken(&world).await, []);
    assert!(!world.operations().recount(&olga()).await.unwrap());
    assert_eq!(world.count("select count(*) from operator_actions where action = 'recount'").await, 1);
}

#[tokio::test]
async fn verify_finds_a_session_idle_in_a_transaction() {
    let world = World::new().await;
    let options = world.database.options().application_name("listen");
    let mut session = sqlx::ConnectOptions::connect(&options).await.unwrap();
    sqlx::raw_sql("begin; select 1").execute(&mut session).await.unwrap();
    let check = CHECKS.iter().find(|check| check.name == "sessions_hold_no_transaction").unwrap();
    let found = async { while world.operations().verify(check, 9).await.unwrap().offenders.len() != 1 {} };
    tokio::time::timeout(Duration::from_secs(60), found).await.expect("it is found after some seconds");
    sqlx::raw_sql("rollback").execute(&mut session).await.unwrap();
    assert!(world.operations().verify(check, 9).await.unwrap().offenders.is_empty());
}
