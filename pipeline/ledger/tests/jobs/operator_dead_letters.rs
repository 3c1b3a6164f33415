//! Operators' filters by age over dead letters: what is counted, what is replayed, and how many at most.

use job::FailureCode;
use ledger::history::Verb;
use operations::{Cause, Causes, JobFilter, ReplayOrder};
use records::ConversationId;
use uuid::Uuid;

use crate::world::{World, olga};

fn order(filter: JobFilter) -> ReplayOrder {
    ReplayOrder { filter, words: "since a week".into(), from_scratch: false, per_minute: 60, in_flight: 1 }
}

/// A dead letter that was first admitted two weeks ago and replayed since; and a filter that finds it by its last admission.
async fn replayed_since() -> (World, JobFilter) {
    let world = World::new().await;
    world.dead("c", job::FailureCode::InvalidJob).await;
    world.run("update finalization_jobs set created_at = created_at - interval '14 days'").await;
    let week = world.ledger.db().now().await.unwrap() - chrono::Duration::days(7);
    (world, JobFilter { since: Some(week), ..JobFilter::default() })
}

#[tokio::test]
async fn dead_letter_age_counts_from_the_last_admission() {
    let (world, since) = replayed_since().await;
    for status in [None, Some("completed".to_owned())] {
        let causes = world.operations().causes(&JobFilter { status, ..since.clone() }).await.unwrap();
        let one = Cause { code: "invalid_job".into(), jobs: 1, settled: 0 };
        assert_eq!(causes, Causes { codes: vec![one], cut: false });
    }
    for (n, status) in [(1, None), (2, Some("completed".to_owned()))] {
        let order = order(JobFilter { status, ..since.clone() });
        let started = world.operations().start_replay(Uuid::from_u128(n), &order, &olga()).await.unwrap();
        assert!(started.is_some_and(|view| view.items == 1));
    }
}

#[tokio::test]
async fn causes_are_cut_at_ten_thousand_and_say_so() {
    let world = World::new().await;
    world.dead("c", job::FailureCode::InvalidJob).await;
    // 9,999 copies of it.
    let copied = "create temp table copied as select finalization_jobs.* from finalization_jobs, generate_series(2, 10000); \
        update copied set job_id = 'fj_' || ctid::text, conversation_id = ctid::text; \
        insert into finalization_jobs select * from copied; drop table copied";
    world.database.seed(&[copied]).await;
    let counted = async || {
        let causes = world.operations().causes(&JobFilter::default()).await.unwrap();
        (causes.codes[0].jobs, causes.cut)
    };
    assert_eq!(counted().await, (10_000, false));
    world.dead("one more", job::FailureCode::InvalidJob).await;
    let (jobs, cut) = counted().await;
    assert!(jobs >= 10_000 && cut, "{jobs}");
}

#[tokio::test]
async fn start_replay_may_take_a_minute_to_list_its_items() {
    let (world, since) = replayed_since().await;
    world
        .run(
            "create function may_take_a_minute() returns trigger language plpgsql as $$ begin \
                 assert current_setting('statement_timeout') = '1min'; return new; end $$; \
             create trigger may_take_a_minute before insert on replay_items \
                 for each row execute function may_take_a_minute()",
        )
        .await;
    let started = world.operations().start_replay(Uuid::from_u128(1), &order(since), &olga()).await.unwrap();
    let view = started.expect("there is one");
    let listed = world.operations().replay_operations(9).await.unwrap();
    assert_eq!(listed, [view]);
    assert_eq!(world.operations().replay_operations(0).await.unwrap(), []);
}

/// It can never be replayed: an operator who is asked to look at it has nothing to decide.
#[tokio::test]
async fn dead_letter_of_a_deleted_conversation_waits_for_no_operator_and_stays_in_lists() {
    let world = World::new().await;
    let dead = world.dead("c", FailureCode::InvalidJob).await;
    let waiting = async || world.operations().overview().await.unwrap().dead_letters[0].waiting();
    assert_eq!(waiting().await, 1);

    assert!(world.ledger.delete_conversation(&world.ann, &ConversationId::new("c")).await.unwrap());

    assert_eq!(waiting().await, 0);
    let unsettled = JobFilter { unsettled: true, limit: 9, ..JobFilter::default() };
    assert_eq!(world.operations().jobs_page(&unsettled).await.unwrap().jobs, []);
    let all = JobFilter { limit: 9, ..JobFilter::default() };
    let listed = world.operations().jobs_page(&all).await.unwrap().jobs;
    assert_eq!((listed.len(), &listed[0].job.id, listed[0].settled_by), (1, &dead, Some(Verb::Withdraw)));
    let page = world.operations().job_page(&dead).await.unwrap().unwrap();
    assert_eq!(page.why.guard(), "conversation_gone");
}
