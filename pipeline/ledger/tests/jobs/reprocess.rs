//! Reprocessing a finished conversation: its results stay until the new revision replaces them.

use chrono::Duration;
use job::{FailureCode, Origin, Outcome, Queue};
use ledger::{
    ItemChange, MemoryChange, NewActionItem, NewItem, NewMemory, ReprocessRefusal, Results, StoredJob,
};
use records::{ActionItemId, ConversationId, EventKind, MemoryCategory, MemoryId, Status, Structured};
use store::{DatePage, ItemFilter, MemoryFilter, UserChange};
use testbed::{at_once, both_at_once};

use crate::world::{REPLAY, World, completion, fail, operate};

fn results(title: &str, items: &[&str], facts: &[&str]) -> Results {
    let item = |words: &&str| NewItem { description: (*words).into(), due_at: None };
    let fact = |words: &&str| NewMemory { content: (*words).into(), category: MemoryCategory::Core };
    Results {
        structured: Structured { title: title.into(), ..Structured::default() },
        items: items.iter().map(item).collect(),
        memories: facts.iter().map(fact).collect(),
        apps: vec![("minutes".into(), title.into())],
        engine: "test".into(),
        announcements: vec![EventKind::ConversationCompleted],
        ..Results::default()
    }
}

async fn complete(world: &World, claimed: &StoredJob, results: &Results) {
    world.ledger.complete(&completion(claimed, Outcome::Kept, results.clone())).await.unwrap();
}

/// A completed conversation `c` with two action items and a memory, and an endpoint that subscribed to everything.
async fn with_completed() -> World {
    let world = World::new().await;
    world.endpoint(&world.ann, "w", EventKind::ALL).await;
    let claimed = world.claimed("c").await;
    complete(&world, &claimed, &results("First", &["Call Tom", "Buy milk"], &["Ann lives in Porto"])).await;
    world
}

fn c() -> ConversationId {
    ConversationId::new("c")
}

async fn reprocess(world: &World) -> StoredJob {
    let admitted = world.ledger.reprocess(&world.ann, &c(), None).await.unwrap().unwrap();
    assert!(admitted.fresh);
    world.claim(&admitted.job_id).await
}

async fn items(world: &World) -> Vec<String> {
    let filter = ItemFilter { page: DatePage { limit: 9, ..DatePage::default() }, ..ItemFilter::default() };
    let items = world.ledger.store().action_items(&world.ann, &filter).await.unwrap();
    let mut words: Vec<String> = items.into_iter().map(|item| item.description).collect();
    words.sort();
    words
}

#[tokio::test]
async fn reprocess_keeps_results_until_the_new_revision_completes() {
    let world = with_completed().await;
    let before = world.ledger.store().conversation(&world.ann, &c(), true).await.unwrap().unwrap();
    let claimed = reprocess(&world).await;
    assert_eq!((claimed.revision, claimed.job.origin), (2, Origin::Reprocess));
    assert_eq!((claimed.job.queue, claimed.job.force_process), (Queue::Creation, true));
    let mut meanwhile = world.ledger.store().conversation(&world.ann, &c(), true).await.unwrap().unwrap();
    assert_eq!(meanwhile.conversation.finalization_revision, 2);
    meanwhile.conversation.finalization_revision = 1;
    assert_eq!(meanwhile, before, "nothing changes, not even updated_at");

    complete(&world, &claimed, &results("Second", &["Call Tim"], &[])).await;
    let after = world.ledger.store().conversation(&world.ann, &c(), true).await.unwrap().unwrap();
    assert_eq!(after.conversation.structured.title, "Second");
    assert_eq!(after.apps_results, [(Some("minutes".to_owned()), "Second".to_owned())]);
    assert_eq!(items(&world).await, ["Call Tim"]);
    let all = MemoryFilter { limit: 9, ..MemoryFilter::default() };
    assert_eq!(world.ledger.store().memories(&world.ann, &all).await.unwrap(), []);
    let deliveries = "select count(*) from webhook_deliveries where event = 'conversation.completed'";
    assert_eq!(world.count(deliveries).await, 2, "one for each revision");
}

#[tokio::test]
async fn reprocess_keeps_edited_items_and_does_not_extract_them_again() {
    let world = with_completed().await;
    world
        .run(
            "update action_items set by_person = true, created_at = created_at - interval '9 days' \
                 where description = 'Call Tom'; \
             update memories set reviewed = true",
        )
        .await;
    let claimed = reprocess(&world).await;
    complete(&world, &claimed, &results("Second", &["Call Tom", "Pay Tim"], &["Ann lives in Porto"])).await;
    assert_eq!(items(&world).await, ["Call Tom", "Pay Tim"]);
    assert_eq!(world.count("select count(*) from memories").await, 1);
}

#[tokio::test]
async fn reprocess_does_not_extract_deleted_items_again() {
    let world = with_completed().await;
    let (ledger, ann) = (&world.ledger, &world.ann);
    let item: Vec<String> =
        world.list("select action_item_id from action_items where description = 'Call Tom'").await;
    assert!(ledger.delete_action_item(ann, &ActionItemId::new(item[0].as_str())).await.unwrap());
    let memory: Vec<String> = world.list("select memory_id from memories").await;
    assert!(ledger.delete_memory(ann, &MemoryId::new(memory[0].as_str())).await.unwrap());
    let own = ActionItemId::new("own");
    let written =
        NewActionItem { id: own.clone(), description: "Mine".into(), completed: false, due_at: None };
    ledger.create_action_items(ann, &[written]).await.unwrap();
    assert!(ledger.delete_action_item(ann, &own).await.unwrap());
    assert_eq!(world.count("select count(*) from deleted_extractions").await, 2, "nothing of what Ann wrote");

    let again = results("Second", &["Call Tom", "Buy milk"], &["Ann lives in Porto"]);
    let claimed = reprocess(&world).await;
    complete(&world, &claimed, &again).await;
    assert_eq!(items(&world).await, ["Buy milk"]);
    assert_eq!(world.count("select count(*) from memories").await, 0);

    let other = world.claimed("d").await;
    complete(&world, &other, &again).await;
    assert_eq!(items(&world).await, ["Buy milk", "Call Tom"], "extracted again from another conversation");
    assert_eq!(world.count("select count(*) from memories").await, 1);

    assert!(ledger.delete_conversation(ann, &c()).await.unwrap());
    assert_eq!(
        world.count("select count(*) from deleted_extractions").await,
        0,
        "deleted with the conversation"
    );
}

#[tokio::test]
async fn reprocess_does_not_restore_a_due_date_that_the_user_cleared() {
    let world = with_completed().await;
    let item: Vec<String> =
        world.list("select action_item_id from action_items where description = 'Call Tom'").await;
    let item = ActionItemId::new(item[0].as_str());
    let clear = ItemChange { due_at: Some(None), ..ItemChange::default() };
    world.ledger.change_action_item(&world.ann, &item, &clear).await.unwrap().unwrap();
    let due_at = Some(world.ledger.db().now().await.unwrap() + Duration::days(3));
    let heard = NewItem { description: "Call Tom".into(), due_at };
    let again = Results { items: vec![heard], ..results("Second", &[], &[]) };
    let claimed = reprocess(&world).await;
    complete(&world, &claimed, &again).await;
    assert_eq!(world.count("select count(*) from action_items where due_at is not null").await, 0);

    let other = world.claimed("d").await;
    complete(&world, &other, &again).await;
    assert_eq!(
        world.count("select count(*) from action_items where due_at is not null").await,
        1,
        "said again in another conversation"
    );
}

/// The item is the user's own, or came from another conversation: this one gave it a date only.
#[tokio::test]
async fn reprocess_does_not_restore_a_cleared_due_date_on_an_item_of_elsewhere() {
    let world = World::new().await;
    let own = ActionItemId::new("own");
    let written =
        NewActionItem { id: own.clone(), description: "Call Tom".into(), completed: false, due_at: None };
    world.ledger.create_action_items(&world.ann, &[written]).await.unwrap();
    let due_at = Some(world.ledger.db().now().await.unwrap() + Duration::days(3));
    let heard = NewItem { description: "Call Tom".into(), due_at };
    let heard = Results { items: vec![heard], ..results("First", &[], &[]) };
    let claimed = world.claimed("c").await;
    complete(&world, &claimed, &heard).await;
    let dated = "select count(*) from action_items where due_at is not null";
    assert_eq!(world.count(dated).await, 1, "the user's own item takes the date over");

    let clear = ItemChange { due_at: Some(None), ..ItemChange::default() };
    world.ledger.change_action_item(&world.ann, &own, &clear).await.unwrap().unwrap();
    let claimed = reprocess(&world).await;
    complete(&world, &claimed, &heard).await;
    assert_eq!(world.count(dated).await, 0);
}

#[tokio::test]
async fn reprocess_shows_items_in_the_order_in_which_they_were_said_around_a_completed_one() {
    let world = World::new().await;
    let said = results("First", &["Call Tom", "Buy milk", "Pay Tim"], &[]);
    let claimed = world.claimed("c").await;
    complete(&world, &claimed, &said).await;
    let item: Vec<String> =
        world.list("select action_item_id from action_items where description = 'Buy milk'").await;
    let done = ItemChange { completed: Some(true), ..ItemChange::default() };
    world.ledger.change_action_item(&world.ann, &ActionItemId::new(item[0].as_str()), &done).await.unwrap();
    let claimed = reprocess(&world).await;
    complete(&world, &claimed, &said).await;
    let view = world.ledger.store().conversation(&world.ann, &c(), false).await.unwrap().unwrap();
    let shown: Vec<&str> = view.action_items.iter().map(|item| item.description.as_str()).collect();
    assert_eq!(shown, ["Call Tom", "Buy milk", "Pay Tim"]);
}

/// Only the newest 1,000 of all memories are compared, and besides them those of the very conversation.
#[tokio::test]
async fn reprocess_does_not_double_a_kept_memory_behind_a_thousand_newer_ones() {
    let world = with_completed().await;
    world
        .run(
            "update memories set reviewed = true, created_at = created_at - interval '1 day'; \
             insert into memories (user_id, memory_id, content, category, created_at, updated_at) \
             select user_id, 'm' || n, 'Fact ' || n, 'core', now(), now() \
             from memories cross join generate_series(1, 1000) n",
        )
        .await;
    let claimed = reprocess(&world).await;
    complete(&world, &claimed, &results("Second", &[], &["Ann lives in Porto"])).await;
    assert_eq!(world.count("select count(*) from memories where content = 'Ann lives in Porto'").await, 1);
}

/// The words of a correction are the user's; those that were corrected do not come back beside them, even after it was deleted.
#[tokio::test]
async fn reprocess_does_not_extract_reworded_items_again() {
    let world = with_completed().await;
    let (ledger, ann) = (&world.ledger, &world.ann);
    let item: Vec<String> =
        world.list("select action_item_id from action_items where description = 'Call Tom'").await;
    let item = ActionItemId::new(item[0].as_str());
    let memory: Vec<String> = world.list("select memory_id from memories").await;
    let memory = MemoryId::new(memory[0].as_str());
    for words in ["Write to Tim", "Visit Ben"] {
        let change = ItemChange { description: Some(words.into()), ..ItemChange::default() };
        ledger.change_action_item(ann, &item, &change).await.unwrap().unwrap();
        let change = MemoryChange { content: Some(words.into()), ..MemoryChange::default() };
        ledger.change_memory(ann, &memory, &change).await.unwrap().unwrap();
    }
    let again = results("Second", &["Call Tom", "Buy milk"], &["Ann lives in Porto"]);
    let claimed = reprocess(&world).await;
    complete(&world, &claimed, &again).await;
    assert_eq!(items(&world).await, ["Buy milk", "Visit Ben"]);
    assert_eq!(world.list::<String>("select content from memories").await, ["Visit Ben"]);

    assert!(ledger.delete_action_item(ann, &item).await.unwrap());
    assert!(ledger.delete_memory(ann, &memory).await.unwrap());
    let either =
        results("Third", &["Call Tom", "Visit Ben", "Buy milk"], &["Ann lives in Porto", "Visit Ben"]);
    for third in [&again, &either] {
        let claimed = reprocess(&world).await;
        complete(&world, &claimed, third).await;
        assert_eq!(items(&world).await, ["Buy milk"]);
        assert_eq!(world.count("select count(*) from memories").await, 0);
    }
}

#[tokio::test]
async fn reprocess_settles_the_dead_letter_of_its_conversation() {
    let world = with_completed().await;
    let waiting = async || {
        let overview = world.operations().overview().await.unwrap();
        overview.dead_letters.iter().map(|code| (code.waiting(), code.settled)).collect::<Vec<_>>()
    };
    let first = reprocess(&world).await;
    world.fail(&first, FailureCode::InvalidJob).await;
    assert_eq!(waiting().await, [(1, 0)]);
    let second = reprocess(&world).await;
    assert_eq!(waiting().await, [(0, 1)], "the newer job runs, and the old one is settled");
    world.fail(&second, FailureCode::InvalidJob).await;
    assert_eq!(waiting().await, [(1, 1)], "the newer one waits in its turn");

    let failed = world.claimed("d").await;
    world.fail(&failed, FailureCode::InvalidJob).await;
    assert_eq!(waiting().await, [(2, 1)]);
    world.ledger.reprocess(&world.ann, &ConversationId::new("d"), None).await.unwrap().unwrap();
    assert_eq!(waiting().await, [(1, 2)], "another conversation's is left alone");
    let view = world.view(&failed.job.id).await;
    assert!(view.job.settled_at.is_some());
    assert_eq!(world.operations().job_page(&failed.job.id).await.unwrap().unwrap().why.guard(), "superseded");
}

/// A completed conversation `c` with a stored delivery for each item and memory. Those of one item and of one memory
/// were given up, the item's being the older one; another item was edited by the user.
async fn with_deliveries() -> World {
    let world = World::new().await;
    world.endpoint(&world.ann, "w", EventKind::ALL).await;
    let claimed = world.claimed("c").await;
    let items = ["Call Tom", "Buy milk", "Pay Bob"];
    complete(&world, &claimed, &with_all_announcements(results("First", &items, &["Ann rows", "Ann reads"])))
        .await;
    world
        .run(
            "update action_items set by_person = true where description = 'Pay Bob'; \
             update webhook_deliveries set body = 'words'; \
             update webhook_deliveries set status = 'exhausted', next_at = null, finished_at = now() \
                 where subject_id in (select action_item_id from action_items where description = 'Buy milk' \
                     union all select memory_id from memories where content = 'Ann rows'); \
             update webhook_deliveries set occurred_at = occurred_at - interval '1 hour' \
                 where status = 'exhausted' and event = 'action_item.created'",
        )
        .await;
    world
}

fn with_all_announcements(results: Results) -> Results {
    let announcements = EventKind::ALL.iter().copied().filter(|event| event.as_str().ends_with("created"));
    Results { announcements: results.announcements.iter().copied().chain(announcements).collect(), ..results }
}

#[tokio::test]
async fn reprocess_cancels_deliveries_of_replaced_items_and_clears_bodies() {
    let world = with_deliveries().await;
    let claimed = reprocess(&world).await;
    complete(&world, &claimed, &with_all_announcements(results("Second", &["Call Tim"], &[]))).await;
    let left: Vec<(i64, String, String, bool)> = world
        .rows("select revision, event, status, body is not null from webhook_deliveries order by 1, 2, 3")
        .await;
    let row = |revision, event: &str, status: &str, words| (revision, event.into(), status.into(), words);
    assert_eq!(
        left,
        [
            row(1, "action_item.created", "exhausted", false),
            row(1, "action_item.created", "pending", true),
            row(1, "conversation.completed", "pending", true),
            row(1, "memory.created", "exhausted", false),
            row(2, "action_item.created", "pending", false),
            row(2, "conversation.completed", "pending", false),
        ],
        "the delivery of the edited item stays"
    );
}

/// How many deliveries a replacing completion has not locked while another session holds the rows of `held`.
async fn deliveries_free_while(held: &'static str) -> i64 {
    let world = with_deliveries().await;
    let claimed = reprocess(&world).await;
    let mut holder = world.database.hold_locks(held).await;
    let second = with_all_announcements(results("Second", &["Call Tim"], &[]));
    let look = async {
        world.database.until_somebody_waits().await;
        let free = "select count(*) from (select from webhook_deliveries for update skip locked) d";
        let free = world.count(free).await;
        sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
        free
    };
    tokio::join!(complete(&world, &claimed, &second), look).1
}

#[tokio::test]
async fn reprocess_locks_endpoints_before_deliveries_in_one_order() {
    assert_eq!(deliveries_free_while("select from webhook_endpoints for update").await, 6, "all of them");
    // Two pending ones are deleted by then. Of the two given up, one is locked and the other comes after it.
    let first =
        "select from webhook_deliveries where status = 'exhausted' order by occurred_at limit 1 for update";
    assert_eq!(deliveries_free_while(first).await, 3);
}

#[tokio::test]
async fn failed_reprocess_changes_nothing_and_sends_nothing() {
    let world = with_completed().await;
    let before =
        world.ledger.store().conversation(&world.ann, &c(), true).await.unwrap().unwrap().conversation;
    let claimed = reprocess(&world).await;
    world.fail(&claimed, FailureCode::InvalidJob).await;
    let after =
        world.ledger.store().conversation(&world.ann, &c(), true).await.unwrap().unwrap().conversation;
    assert_eq!((after.status, after.discarded), (Status::Completed, false));
    assert_eq!(after.structured, before.structured);
    assert_eq!(items(&world).await, ["Buy milk", "Call Tom"]);
    let failed = "select count(*) from webhook_deliveries where event = 'conversation.failed'";
    assert_eq!(world.count(failed).await, 0);

    world.operate(&claimed.job.id, REPLAY).await.unwrap();
    let replayed =
        world.ledger.store().conversation(&world.ann, &c(), true).await.unwrap().unwrap().conversation;
    assert_eq!(replayed.status, Status::Completed, "a replay does not change the status either");
    let claimed = world.claim(&claimed.job.id).await;
    complete(&world, &claimed, &results("Third", &[], &[])).await;
    let done = world.ledger.store().conversation(&world.ann, &c(), true).await.unwrap().unwrap().conversation;
    assert_eq!(done.structured.title, "Third");
}

#[tokio::test]
async fn reprocess_of_a_failed_conversation_can_fail_again() {
    let world = with_completed().await;
    let claimed = world.claimed("d").await;
    let fatal = || fail(FailureCode::InvalidJob);
    world.ledger.settle(&claimed.lease_token(), fatal(), None).await.unwrap();
    let d = ConversationId::new("d");
    let admitted = world.ledger.reprocess(&world.ann, &d, None).await.unwrap().unwrap();
    assert_eq!((admitted.conversation.status, admitted.conversation.discarded), (Status::Processing, false));
    let again = world.ledger.reprocess(&world.ann, &d, None).await.unwrap().unwrap();
    assert_eq!((again.fresh, again.job_id), (false, admitted.job_id.clone()), "one live job");
    let claimed = world.claim(&admitted.job_id).await;
    world.ledger.settle(&claimed.lease_token(), fatal(), None).await.unwrap();
    let failed = "select count(*) from webhook_deliveries where event = 'conversation.failed'";
    assert_eq!(world.count(failed).await, 2);
}

#[tokio::test]
async fn reprocess_refusals_change_nothing() {
    let world = with_completed().await;
    let refused = async |id: &str| {
        world.ledger.reprocess(&world.ann, &ConversationId::new(id), None).await.unwrap().unwrap_err()
    };
    assert_eq!(refused("unknown").await, ReprocessRefusal::NoConversation);
    world.deferred("open").await;
    assert_eq!(refused("open").await, ReprocessRefusal::NotFinished);
    world.run("update conversations set private_text = null where conversation_id = 'c'").await;
    assert_eq!(refused("c").await, ReprocessRefusal::NoContent);
    let mark = UserChange { requires_byok: Some(true), ..UserChange::default() };
    world.ledger.change_user(&world.ann, &mark).await.unwrap();
    assert_eq!(refused("c").await, ReprocessRefusal::KeysRequired);
    let revision = "select finalization_revision from conversations where conversation_id = 'c'";
    assert_eq!(world.count(revision).await, 1, "nothing changed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_reprocess_and_replay_admit_one_job() {
    let world = with_completed().await;
    for round in 2..6 {
        let claimed = reprocess(&world).await;
        world.fail(&claimed, FailureCode::InvalidJob).await;
        let (ledger, id) = (world.ledger.clone(), claimed.job.id.clone());
        let replay = async move { operate(&ledger, &id, REPLAY).await.is_ok() };
        let reprocesses = (0..4).map(|_| {
            let (ledger, user) = (world.ledger.clone(), world.ann.clone());
            async move { ledger.reprocess(&user, &c(), None).await.unwrap().unwrap() }
        });
        let (replayed, answers) = both_at_once(replay, at_once(reprocesses.collect::<Vec<_>>())).await;
        let fresh = answers.iter().filter(|one| one.fresh).count();
        assert_eq!(usize::from(replayed) + fresh, 1, "round {round}");
        assert!(answers.windows(2).all(|pair| pair[0].job_id == pair[1].job_id));
        let live = answers[0].job_id.clone();
        world.age(&live, Duration::zero()).await;
        let claimed = world.claim(&live).await;
        complete(&world, &claimed, &results("Again", &[], &[])).await;
    }
}
