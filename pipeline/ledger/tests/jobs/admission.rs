//! Admission: finalize checks its conversation again under lock, so that what changes between its first read and its
//! write is found.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use ledger::{FinalizeOutcome, Finished, Ledger, NewConversation, Results, Settings, WithKeys};
use records::{ConversationId, Segment, Status, UserId};

use crate::{
    prepared_plans::reads,
    world::{World, completion, new_conversation, segment},
};

const JOBS: &str = "select count(*) from finalization_jobs";

/// A world with a second user, Bob.
async fn with_bob() -> (World, UserId) {
    let (world, bob) = (World::new().await, UserId::new("bob"));
    assert!(world.ledger.store().create_user(&bob, &Default::default()).await.unwrap());
    (world, bob)
}

#[tokio::test]
async fn finalize_answer_includes_segments_appended_meanwhile() {
    let world = World::new().await;
    let id = world.deferred("c").await;
    let appended = "insert into transcript_segments (user_id, conversation_id, position, content, start_seconds, end_seconds) \
            values ('ann', 'c', 7, 'And one thing more.', 1, 2); \
        update conversations set last_append_at = clock_timestamp()";
    let operation = world.ledger.finalize(&world.ann, &id, None, None);
    let FinalizeOutcome { fresh, view, .. } =
        world.database.overtaken_by(appended, operation).await.unwrap().unwrap();
    assert!(fresh);
    let view = view.unwrap();
    let segments = view.segments.unwrap();
    assert_eq!(segments.last().unwrap().text, "And one thing more.");
    assert_eq!(view.conversation.status, Status::Processing);
}

#[tokio::test]
async fn finalize_parks_the_job_of_a_user_who_requires_byok_meanwhile() {
    let world = World::new().await;
    let id = world.deferred("c").await;
    let marked = "update users set requires_byok = true";
    let operation = world.ledger.finalize(&world.ann, &id, None, None);
    world.database.overtaken_by(marked, operation).await.unwrap().unwrap();
    let waiting = "select count(*) from finalization_jobs where status = 'blocked_byok'";
    assert_eq!((world.count(waiting).await, world.count(JOBS).await), (1, 1));
}

#[tokio::test]
async fn admit_abandoned_skips_a_conversation_appended_to_meanwhile() {
    let world = World::new().await;
    let id = world.deferred("c").await;
    world.run("update conversations set last_append_at = now() - interval '25 hours'").await;
    let appended = "update conversations set last_append_at = now()";
    let operation = world.ledger.admit_abandoned(&world.ann, &id);
    assert!(!world.database.overtaken_by(appended, operation).await.unwrap());
    assert_eq!(world.count(JOBS).await, 0);
}

#[tokio::test]
async fn finalize_forces_processing_and_admit_abandoned_does_not() {
    const FORCED: &str = "select count(*) from finalization_jobs where force_process";
    let world = World::new().await;
    let (requested, left) = (world.deferred("a").await, world.deferred("b").await);
    world.run("update conversations set last_append_at = now() - interval '25 hours'").await;
    assert!(world.ledger.admit_abandoned(&world.ann, &left).await.unwrap());
    assert_eq!(world.count(FORCED).await, 0);
    world.ledger.finalize(&world.ann, &requested, None, None).await.unwrap().unwrap();
    assert_eq!((world.count(FORCED).await, world.count(JOBS).await), (1, 2));
}

#[tokio::test]
async fn finalize_admits_nothing_when_a_replay_completed_meanwhile() {
    let world = World::new().await;
    let dead = world.dead("c", job::FailureCode::InvalidJob).await;
    // A replay that completed: the revision is the same.
    let completed = "update conversations set status = 'completed'";
    let id = ConversationId::new("c");
    let operation = world.ledger.finalize(&world.ann, &id, None, None);
    let newest = world.database.overtaken_by(completed, operation).await.unwrap().unwrap();
    assert_eq!((newest.job, world.count(JOBS).await), (Some(dead), 1));
}

#[tokio::test]
async fn finalize_admits_the_revision_after_a_concurrent_one() {
    let world = World::new().await;
    let id = world.deferred("c").await;
    let moved = "update conversations set finalization_revision = finalization_revision + 1";
    let operation = world.ledger.finalize(&world.ann, &id, None, None);
    world.database.overtaken_by(moved, operation).await.unwrap().unwrap();
    assert_eq!(world.count("select revision from finalization_jobs").await, 2);
    assert_eq!(world.count("select finalization_revision from conversations").await, 2);
}

#[tokio::test]
async fn finalize_batch_admits_the_rest_when_one_conversation_is_deleted() {
    let world = World::new().await;
    let (stays, goes) = (world.deferred("a").await, world.deferred("b").await);
    let gone = "delete from conversations where conversation_id = 'b'";
    // Concurrent: one batch.
    let operation = async {
        tokio::join!(
            world.ledger.finalize(&world.ann, &stays, None, None),
            world.ledger.finalize(&world.ann, &goes, None, None)
        )
    };
    let (one, other) = world.database.overtaken_by(gone, operation).await;
    assert!(one.unwrap().unwrap().job.is_some());
    assert!(other.unwrap().is_err(), "there is no such conversation");
    let of_one = [
        JOBS,
        "select count(*) from finalization_admissions",
        "select count(*) from conversations where status = 'processing'",
    ];
    for counted in of_one {
        assert_eq!(world.count(counted).await, 1, "{counted}");
    }
}

#[tokio::test]
async fn finalize_batch_admits_the_rest_when_one_insert_fails() {
    let world = World::new().await;
    let (one, other) = (world.deferred("a").await, world.deferred("b").await);
    world
        .run(
            "create function no_room() returns trigger language plpgsql as $$begin if new.conversation_id = 'b' then \
                 raise exception 'no room' using errcode = '53100'; end if; return new; end$$; \
             create trigger no_room before insert on finalization_jobs for each row execute function no_room()",
        )
        .await;
    // Concurrent: one batch.
    let (one, other) = tokio::join!(
        world.ledger.finalize(&world.ann, &one, None, None),
        world.ledger.finalize(&world.ann, &other, None, None)
    );
    assert!(one.unwrap().unwrap().job.is_some());
    assert!(other.is_err_and(|error| error.is_passing()));
    assert_eq!(world.count(JOBS).await, 1);
}

#[tokio::test]
async fn finalize_answer_includes_items_people_and_segments() {
    let world = World::new().await;
    let id = world.deferred("c").await;
    world.ledger.store().append_segments(&world.ann, &id, &[segment("s")]).await.unwrap().unwrap();
    world
        .run(
            "insert into action_items (user_id, action_item_id, conversation_id, description, created_at, updated_at) \
                 values ('ann', 'i', 'c', 'Call the dentist.', now(), now()); \
             insert into people (user_id, person_id, name) values ('ann', 'p', 'Bea'); \
             update transcript_segments set person_id = 'p'",
        )
        .await;
    let show = || world.ledger.finalize(&world.ann, &id, None, None);
    let (first, again) = (show().await.unwrap().unwrap(), show().await.unwrap().unwrap());
    assert_eq!((first.fresh, again.fresh), (true, false));
    let (first, again) = (first.view.unwrap(), again.view.unwrap());
    assert_eq!(first.people, [("p".to_owned(), "Bea".to_owned())]);
    assert_eq!((first.action_items.len(), first.segments.as_ref().map(Vec::len)), (1, Some(1)));
    assert_eq!((again.segments, again.action_items), (first.segments, first.action_items));
    // Deletes one kind after the other, and looks at the answer again.
    for (gone, left) in [
        ("delete from people; update transcript_segments set person_id = null", (1, 0, Some(1))),
        ("delete from action_items", (0, 0, Some(1))),
    ] {
        world.run(gone).await;
        world.run("update conversations set status = 'in_progress'; delete from finalization_jobs").await;
        let view = show().await.unwrap().unwrap().view.unwrap();
        let shown =
            (view.action_items.len(), view.people.len(), view.segments.map(|segments| segments.len()));
        assert_eq!(shown, left);
    }
}

#[tokio::test]
async fn finalize_answer_names_a_folder_created_meanwhile() {
    let world = World::new().await;
    let id = world.deferred("c").await;
    let filed = "insert into folders (user_id, folder_id, name, created_at, updated_at) \
            values ('ann', 'new', 'Brand new', now(), now()); \
        update conversations set folder_id = 'new'";
    let operation = world.ledger.finalize(&world.ann, &id, None, None);
    let view = world.database.overtaken_by(filed, operation).await.unwrap().unwrap().view.unwrap();
    assert_eq!(view.folder_name.as_deref(), Some("Brand new"));
}

#[tokio::test]
async fn finalize_batch_reads_requires_byok_per_user_under_lock() {
    let (world, bob) = with_bob().await;
    let (anns, bobs) = (world.deferred("c").await, ConversationId::new("c"));
    let new = NewConversation { deferred: true, ..new_conversation("c") };
    world.ledger.create_conversation(&bob, new, None).await.unwrap();
    world.run("update users set requires_byok = user_id = 'bob'; update conversations set last_append_at = now()").await;
    // Concurrent: one batch, of a user who requires keys and one who is marked meanwhile.
    let operation = async {
        tokio::join!(
            world.ledger.finalize(&world.ann, &anns, None, None),
            world.ledger.finalize(&bob, &bobs, None, None)
        )
    };
    let marked = "update users set requires_byok = not requires_byok where user_id = 'ann'";
    let (one, other) = world.database.overtaken_by(marked, operation).await;
    assert!(one.unwrap().unwrap().job.is_some() && other.unwrap().unwrap().job.is_some());
    let waiting = "select count(*) from finalization_jobs where status = 'blocked_byok'";
    assert_eq!((world.count(waiting).await, world.count(JOBS).await), (2, 2));
}

#[tokio::test]
async fn finalize_batch_returns_each_users_own_segments_in_order() {
    let (world, bob) = with_bob().await;
    for id in ["c", "d"] {
        let id = world.deferred(id).await;
        let other = NewConversation { deferred: true, ..new_conversation(id.as_str()) };
        world.ledger.create_conversation(&bob, other, None).await.unwrap();
        for (user, whose) in [(&world.ann, "ann"), (&bob, "bob")] {
            let own = |n: usize| Segment {
                text: format!("{whose} {} {n}", id.as_str()),
                ..segment(&format!("s{n}"))
            };
            world
                .ledger
                .store()
                .append_segments(user, &id, &[own(0), own(1), own(2)])
                .await
                .unwrap()
                .unwrap();
        }
    }
    world.run("update conversations set last_append_at = now()").await;
    let (c, d) = (ConversationId::new("c"), ConversationId::new("d"));
    let (one, other) = tokio::join!(
        world.ledger.finalize(&world.ann, &c, None, None),
        world.ledger.finalize(&bob, &d, None, None)
    );
    for (shown, whose) in [(one, "ann c"), (other, "bob d")] {
        let view = shown.unwrap().unwrap().view.unwrap();
        assert_eq!(format!("{} {}", view.conversation.user_id, view.conversation.id), whose);
        let segments = view.segments.unwrap();
        let texts: Vec<String> = segments.into_iter().map(|segment| segment.text).collect();
        assert_eq!(texts, [0, 1, 2].map(|n| format!("{whose} {n}")));
    }
    let transactions = "select count(distinct xmin::text) from finalization_jobs";
    assert_eq!((world.count(JOBS).await, world.count(transactions).await), (2, 1), "they are one batch");
}

#[tokio::test]
async fn finalize_with_keys_waits_for_no_other_conversation() {
    let (world, bob) = with_bob().await;
    let id = world.deferred("c").await;
    world.deferred("d").await;
    let other = NewConversation { deferred: true, ..new_conversation("c") };
    world.ledger.create_conversation(&bob, other, None).await.unwrap();
    let held = "select from users where user_id = 'bob' for update; select from conversations \
        where (user_id, conversation_id) in (('ann', 'd'), ('bob', 'c')) for update";
    let _held = world.database.hold_locks(held).await;
    let keys = WithKeys { claimant: None };
    assert!(world.ledger.finalize(&world.ann, &id, None, Some(keys)).await.unwrap().unwrap().fresh);
}

#[tokio::test]
async fn finalize_batch_does_not_read_long_conversations() {
    let world = World::new().await;
    let ids = ["a", "b", "c"];
    for id in ids {
        let id = world.deferred(id).await;
        world.ledger.store().append_segments(&world.ann, &id, &[segment("s")]).await.unwrap().unwrap();
    }
    world.run("update conversations set counted_bytes = 16 * 1024 + 1 where conversation_id <> 'a'").await;
    let shown = ids.map(|id| {
        let (ledger, ann) = (world.ledger.clone(), world.ann.clone());
        async move { ledger.finalize(&ann, &ConversationId::new(id), None, None).await.unwrap().unwrap() }
    });
    let shown = futures::future::join_all(shown).await;
    assert!(shown.iter().all(|outcome| outcome.fresh));
    assert_eq!(shown.iter().map(|outcome| outcome.view.is_some()).collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(world.count(JOBS).await, 3);
}

#[tokio::test]
async fn conversation_within_does_not_load_a_transcript_over_the_limit() {
    const BYTES: usize = 33 * 1024 * 1024;
    let world = World::new().await;
    let id = world.deferred("c").await;
    world.ledger.store().append_segments(&world.ann, &id, &[segment("s")]).await.unwrap().unwrap();
    world.run("update transcript_segments set content = repeat('x', 33 * 1024 * 1024)").await;
    let store = world.ledger.store();
    let read = store.conversation_within(&world.ann, &id, |bytes| (bytes < BYTES).then_some(()).ok_or(bytes));
    let size = read.await.unwrap().unwrap_err();
    assert!((BYTES..BYTES + 10_000).contains(&size), "{size}");
    let read = store.conversation_within(&world.ann, &id, |_| Ok::<(), ()>(()));
    let view = read.await.unwrap().unwrap().unwrap();
    assert_eq!(view.segments.unwrap()[0].text.len(), BYTES);
    let unknown = ConversationId::new("none");
    let none = store.conversation_within(&world.ann, &unknown, |_| Ok::<(), ()>(()));
    assert_eq!(none.await.unwrap(), Ok(None));
}

#[tokio::test]
async fn finalize_is_admitted_between_appends_that_keep_coming() {
    const APPEND: &str = "begin; update conversations set last_append_at = clock_timestamp(); \
        select pg_sleep(0.002); commit";
    let world = World::new().await;
    let id = world.deferred("c").await;
    let stop = Arc::new(AtomicBool::new(false));
    // Two sessions append in turns: one always waits while the other holds the conversation.
    let appenders = [world.database.pool(1).await, world.database.pool(1).await].map(|pool| {
        let stop = stop.clone();
        tokio::spawn(async move {
            while !stop.load(Ordering::Acquire) {
                sqlx::raw_sql(APPEND).execute(&pool).await.unwrap();
            }
        })
    });
    let admitted = world.ledger.finalize(&world.ann, &id, None, None).await;
    stop.store(true, Ordering::Release);
    for appender in appenders {
        appender.await.unwrap();
    }
    assert!(admitted.unwrap().unwrap().job.is_some());
}

#[tokio::test]
async fn finalize_reads_short_transcripts_once_and_long_ones_never() {
    let world = World::new().await;
    let id = world.deferred("c").await;
    world
        .run(
            "insert into transcript_segments (user_id, conversation_id, position, content, start_seconds, end_seconds) \
             select 'ann', 'c', n, 'Well.', n, n from generate_series(1, 2000) n",
        )
        .await;
    let read = async |name: &str, counted_bytes: u32| {
        world.database.run(&format!("update conversations set counted_bytes = {counted_bytes}")).await;
        let before = reads(&world).await["transcript_segments"];
        let reader = Ledger::new(world.database.options().application_name(name), Settings::default());
        reader.finalize(&world.ann, &id, None, None).await.unwrap().unwrap();
        reader.db().close().await;
        world.database.until_nobody_is(name).await;
        reads(&world).await["transcript_segments"] - before
    };
    let first = read("shown", 10_000).await;
    assert!((2_000..2_100).contains(&first), "{first} rows were read");
    world.run("delete from finalization_jobs; update conversations set status = 'failed'").await;
    let long = read("long", 20_000).await;
    assert!(long < 100, "{long} rows were read");
}

#[tokio::test]
async fn finalize_succeeds_after_the_server_closed_its_connections() {
    let world = World::new().await;
    let (first, second) = (world.deferred("a").await, world.deferred("b").await);
    let ledger = Ledger::new(world.database.options().application_name("closed"), Settings::default());
    ledger.finalize(&world.ann, &first, None, None).await.unwrap().unwrap();
    // Opens connections for single statements and a shared one, to which a refused caller turns.
    ledger.change_user(&world.ann, &Default::default()).await.unwrap().unwrap();
    world.run("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'closed' and datname = current_database()").await;
    assert!(ledger.finalize(&world.ann, &second, None, None).await.unwrap().unwrap().job.is_some());
}

#[tokio::test]
async fn finalize_is_not_delayed_by_another_locked_conversation() {
    let world = World::new().await;
    let (locked, free) = (world.deferred("a").await, world.deferred("b").await);
    let mut holder =
        world.database.hold_locks("select from conversations where conversation_id = 'a' for update").await;
    let (ledger, ann, id) = (world.ledger.clone(), world.ann.clone(), locked.clone());
    let waits = tokio::spawn(async move { ledger.finalize(&ann, &id, None, None).await });
    // Repeated beside the one that waits: it is never in one batch with it.
    for _ in 0..3 {
        assert!(world.ledger.finalize(&world.ann, &free, None, None).await.unwrap().unwrap().job.is_some());
    }
    assert!(!waits.is_finished());
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    assert!(waits.await.unwrap().unwrap().unwrap().job.is_some());
}

#[tokio::test]
async fn completion_is_not_delayed_by_another_locked_conversation() {
    let world = World::new().await;
    let (locked, free) = (world.claimed("a").await, world.claimed("b").await);
    let mut holder =
        world.database.hold_locks("select from conversations where conversation_id = 'a' for update").await;
    let (ledger, run) =
        (world.ledger.clone(), completion(&locked, job::Outcome::Discarded, Results::default()));
    let waits = tokio::spawn(async move { ledger.complete(&run).await });
    world.database.until_somebody_waits().await;
    let other = completion(&free, job::Outcome::Discarded, Results::default());
    assert!(matches!(world.ledger.complete(&other).await.unwrap(), Finished::Completed { .. }));
    assert!(!waits.is_finished());
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    assert!(matches!(waits.await.unwrap().unwrap(), Finished::Completed { .. }));
}
