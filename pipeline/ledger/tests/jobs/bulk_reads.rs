//! What a replay of many would do, and what one did: of the dead letters that it finds, each counted by what is its own.

use operations::{JobFilter, ReplayOrder, ReplayPreview, Started};
use store::UserChange;
use uuid::Uuid;

use crate::{
    street::{Street, c},
    world::{olga, said},
};

/// Dead letters that an older program left unsettled when it admitted the next revision.
const AS_BEFORE: &str = "update finalization_jobs set settled_at = null";

async fn preview(street: &Street) -> ReplayPreview {
    street.world.operations().preview_replay(&JobFilter::default()).await.unwrap()
}

#[tokio::test]
async fn a_preview_counts_what_is_true_of_each_dead_letter_itself() {
    let street = Street::new().await;
    street.dead().await;
    street.world.admitted("queued").await;
    let none = preview(&street).await;
    assert_eq!((none.jobs, none.users, none.recorded_stages), (3, 2, 3));
    assert_eq!((none.superseded, none.conversation_gone, none.parked), (0, 0, 0));

    // What every run records first is no stage that was paid for.
    street
        .world
        .run(
            "insert into stage_checkpoints select user_id, job_id, 'read_context', version, digest, output, epoch \
             from stage_checkpoints",
        )
        .await;
    assert_eq!(preview(&street).await.recorded_stages, 3);

    let marked = UserChange { requires_byok: Some(true), ..UserChange::default() };
    street.world.ledger.change_user(&street.bob, &marked).await.unwrap().unwrap();
    assert_eq!(preview(&street).await.parked, 1, "Bob's own");

    street.world.run("delete from conversations where user_id = 'ann' and conversation_id = 'c'").await;
    let gone = preview(&street).await;
    assert_eq!((gone.conversation_gone, gone.superseded), (1, 0), "Bob's `c` is another one");

    let admitted =
        street.world.ledger.reprocess(&street.world.ann, &records::ConversationId::new("d"), None).await;
    assert!(admitted.unwrap().unwrap().fresh);
    let left = preview(&street).await;
    assert_eq!((left.jobs, left.superseded), (2, 0), "what is superseded waits for no replay");
    street.world.run(AS_BEFORE).await;
    let superseded = preview(&street).await;
    assert_eq!((superseded.jobs, superseded.superseded, superseded.conversation_gone), (3, 1, 1));
}

#[tokio::test]
async fn a_dead_letter_of_somebody_elses_conversation_of_that_name_is_not_superseded() {
    let street = Street::new().await;
    street.dead().await;
    street.world.ledger.reprocess(&street.bob, &c(), None).await.unwrap().unwrap();
    street.world.run(AS_BEFORE).await;
    assert_eq!(preview(&street).await.superseded, 1, "Bob's, and not Ann's");
}

#[tokio::test]
async fn a_replay_lists_dead_letters_alone_and_shows_its_own_items_page_by_page() {
    let street = Street::new().await;
    let dead = street.dead().await;
    street.world.admitted("queued").await;
    street.world.claimed("leased").await;
    let deferred = street.world.deferred("deferred").await;
    street
        .world
        .ledger
        .store()
        .append_segments(&street.world.ann, &deferred, &[said("s")])
        .await
        .unwrap()
        .unwrap();
    let start = async |id, filter| {
        let words = "all".into();
        let order = ReplayOrder { filter, words, from_scratch: false, per_minute: 60, in_flight: 1 };
        street.world.operations().start_replay(Uuid::from_u128(id), &order, &olga()).await.unwrap()
    };
    let Started::Running(all) = start(1, JobFilter::default()).await else { panic!("there are some") };
    assert_eq!(all.items, 3);
    let bobs = JobFilter { user: Some(street.bob.clone()), ..JobFilter::default() };
    let Started::Running(his) = start(2, bobs).await else { panic!("there is one") };
    assert_eq!(his.items, 1);
    let items = async |id: u128, after, limit| {
        let id = Uuid::from_u128(id).to_string();
        let items = street.world.operations().replay_items(&id, after, limit).await.unwrap().into_iter();
        items.map(|item| (item.position, item.job_id)).collect::<Vec<_>>()
    };
    let place = |position: i32, run: usize| (position, dead[run].job.id.as_str().to_owned());
    assert_eq!(items(1, 0, 2).await, [place(1, 0), place(2, 1)]);
    assert_eq!(items(1, 2, 2).await, [place(3, 2)]);
    assert_eq!(items(2, 0, 9).await, [place(1, 2)]);
    for (id, items) in [(1, 3), (2, 1)] {
        let id = Uuid::from_u128(id).to_string();
        let view = street.world.operations().replay_operation(&id).await.unwrap().unwrap();
        assert_eq!((view.operation_id, view.items), (id, items));
    }
}
