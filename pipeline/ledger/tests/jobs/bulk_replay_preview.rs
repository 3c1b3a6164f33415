//! Bulk replay: the preview counts, and the list of items, each of the dead letters that the filter finds.

use operations::{JobFilter, ReplayOrder, ReplayPreview};
use store::UserChange;
use uuid::Uuid;

use crate::{
    three_conversations::{ThreeConversations, c},
    world::{olga, segment},
};

async fn preview(three: &ThreeConversations) -> ReplayPreview {
    three.world.operations().preview_replay(&JobFilter::default()).await.unwrap()
}

#[tokio::test]
async fn preview_counts_dead_letters_that_wait_and_those_that_would_be_parked() {
    let three = ThreeConversations::new().await;
    three.dead().await;
    three.world.admitted("queued").await;
    let none = preview(&three).await;
    assert_eq!((none.jobs, none.users, none.recorded_stages), (3, 2, 3));
    assert_eq!(none.parked, 0);

    // `read_context`, which every run records first, costs no model call.
    three
        .world
        .run(
            "insert into stage_checkpoints select user_id, job_id, 'read_context', version, digest, output, epoch \
             from stage_checkpoints",
        )
        .await;
    assert_eq!(preview(&three).await.recorded_stages, 3);

    let marked = UserChange { requires_byok: Some(true), ..UserChange::default() };
    three.world.ledger.change_user(&three.bob, &marked).await.unwrap().unwrap();
    assert_eq!(preview(&three).await.parked, 1, "Bob's own");

    let admitted =
        three.world.ledger.reprocess(&three.world.ann, &records::ConversationId::new("d"), None).await;
    assert!(admitted.unwrap().unwrap().fresh);
    assert_eq!(preview(&three).await.jobs, 2, "a superseded dead letter is settled");
    assert!(three.world.ledger.delete_conversation(&three.world.ann, &c()).await.unwrap());
    assert_eq!(
        preview(&three).await.jobs,
        1,
        "and so is that of a deleted conversation: Bob's `c` is another one"
    );
}

#[tokio::test]
async fn replay_items_are_dead_letters_only_and_paged_per_operation() {
    let three = ThreeConversations::new().await;
    let dead = three.dead().await;
    three.world.admitted("queued").await;
    three.world.claimed("leased").await;
    let deferred = three.world.deferred("deferred").await;
    three
        .world
        .ledger
        .store()
        .append_segments(&three.world.ann, &deferred, &[segment("s")])
        .await
        .unwrap()
        .unwrap();
    let start = async |id, filter| {
        let words = "all".into();
        let order = ReplayOrder { filter, words, from_scratch: false, per_minute: 60, in_flight: 1 };
        three.world.operations().start_replay(Uuid::from_u128(id), &order, &olga()).await.unwrap()
    };
    let all = start(1, JobFilter::default()).await.expect("there are some");
    assert_eq!(all.items, 3);
    let bobs = JobFilter { user: Some(three.bob.clone()), ..JobFilter::default() };
    let of_bob = start(2, bobs).await.expect("there is one");
    assert_eq!(of_bob.items, 1);
    let items = async |id: u128, after, limit| {
        let id = Uuid::from_u128(id).to_string();
        let items = three.world.operations().replay_items(&id, after, limit).await.unwrap().into_iter();
        items.map(|item| (item.position, item.job_id)).collect::<Vec<_>>()
    };
    let item = |position: i32, run: usize| (position, dead[run].job.id.as_str().to_owned());
    assert_eq!(items(1, 0, 2).await, [item(1, 0), item(2, 1)]);
    assert_eq!(items(1, 2, 2).await, [item(3, 2)]);
    assert_eq!(items(2, 0, 9).await, [item(1, 2)]);
    for (id, items) in [(1, 3), (2, 1)] {
        let id = Uuid::from_u128(id).to_string();
        let view = three.world.operations().replay_operation(&id).await.unwrap().unwrap();
        assert_eq!((view.operation_id, view.items), (id, items));
    }
}
