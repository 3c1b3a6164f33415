//! Budgets of users: exact at the limit, refused beyond it, separate for each user, and counted correctly.

use std::sync::Arc;

use db::Error;
use ledger::{AdmitRefusal, CreateOutcome, Ledger, NewContent, NewConversation};
use operations::CHECKS;
use records::{Budget, ConversationId, OverBudget, Source, UserId};
use store::{LimitsChange, UserChange};
use tokio::sync::Barrier;

use crate::world::{World, olga, segment};

fn new_conversation(id: &str, text: &str) -> NewConversation {
    let content = NewContent::Text {
        text: text.to_owned(),
        text_source: "other_text".to_owned(),
        text_source_spec: None,
    };
    NewConversation::new(ConversationId::new(id), content, Source::new("phone"))
}

fn deferred(id: &str) -> NewConversation {
    NewConversation { deferred: true, ..new_conversation(id, "words") }
}

async fn limit(world: &World, user: &UserId, limits: LimitsChange) {
    let change = UserChange { limits, ..UserChange::default() };
    world.ledger.change_user(user, &change).await.unwrap().unwrap();
}

fn per_day(limit: i64) -> LimitsChange {
    LimitsChange { conversations_per_day: Some(Some(limit)), ..LimitsChange::default() }
}

fn bytes(limit: i64) -> LimitsChange {
    LimitsChange { bytes: Some(Some(limit)), ..LimitsChange::default() }
}

fn waiting(limit: i64) -> LimitsChange {
    LimitsChange { waiting_jobs: Some(Some(limit)), ..LimitsChange::default() }
}

async fn create(ledger: &Ledger, user: &UserId, new: NewConversation) -> Result<CreateOutcome, OverBudget> {
    match ledger.create_conversation(user, new, None).await {
        Ok(created) => Ok(created),
        Err(Error::OverBudget(over)) => Err(over),
        Err(broken) => panic!("{broken}"),
    }
}

/// What `verify` finds wrong in the counted usage.
async fn drift(world: &World) -> Vec<String> {
    let check = CHECKS.iter().find(|check| check.name == "usage_recounts").unwrap();
    world.operations().verify(check, 10).await.unwrap().offenders
}

#[tokio::test]
async fn create_beyond_the_daily_limit_is_refused_until_the_next_day() {
    let world = World::new().await;
    limit(&world, &world.ann, per_day(2)).await;
    for id in ["a", "b"] {
        create(&world.ledger, &world.ann, new_conversation(id, "words")).await.unwrap();
    }
    for refused in [new_conversation("c", "words"), deferred("d")] {
        let over = create(&world.ledger, &world.ann, refused).await.unwrap_err();
        assert_eq!((over.budget, over.limit), (Budget::ConversationsPerDay, 2));
        assert!(over.retry_after.is_some_and(|seconds| (1..=86_401).contains(&seconds)));
    }
    let rows = "select (select count(*) from conversations) + (select count(*) from finalization_jobs)";
    assert_eq!(world.count(rows).await, 4);
    create(&world.ledger, &world.bob, new_conversation("c", "words")).await.unwrap();
    world.run("update user_usage set day = day - 1").await;
    assert_eq!(world.ledger.store().user_budget(&world.ann).await.unwrap().unwrap().conversations_today, 0);
    create(&world.ledger, &world.ann, new_conversation("c", "words")).await.unwrap();
    let budget = world.ledger.store().user_budget(&world.ann).await.unwrap().unwrap();
    assert_eq!((budget.conversations_today, budget.bytes, budget.waiting_jobs), (1, 15, 3));
    assert_eq!(drift(&world).await, Vec::<String>::new());
}

#[tokio::test]
async fn repeated_create_of_a_session_does_not_count() {
    let world = World::new().await;
    limit(&world, &world.ann, LimitsChange { waiting_jobs: Some(Some(1)), ..per_day(1) }).await;
    let new = NewConversation { client_session_id: Some("s".to_owned()), ..new_conversation("a", "words") };
    create(&world.ledger, &world.ann, new.clone()).await.unwrap();
    let repeat = create(&world.ledger, &world.ann, new).await.unwrap();
    assert!(matches!(repeat, CreateOutcome::Known(_)));
}

#[tokio::test]
async fn concurrent_creates_at_the_limit_refuse_one() {
    let world = World::new().await;
    let other = world.other_process();
    for (n, limits) in [per_day(1), bytes(7), waiting(1)].into_iter().cycle().take(12).enumerate() {
        let user = UserId::new(format!("user {n}"));
        assert!(
            world
                .ledger
                .store()
                .create_user(&user, &UserChange { limits, ..UserChange::default() })
                .await
                .unwrap()
        );
        let barrier = Arc::new(Barrier::new(2));
        let one = async |ledger: &Ledger, id: &str| {
            barrier.wait().await;
            create(ledger, &user, new_conversation(id, "words")).await
        };
        let (first, second) = tokio::join!(one(&world.ledger, "a"), one(&other, "b"));
        assert_eq!(
            [first.is_ok(), second.is_ok()].iter().filter(|ok| **ok).count(),
            1,
            "{first:?} {second:?}"
        );
    }
    assert_eq!(drift(&world).await, Vec::<String>::new());
}

#[tokio::test]
async fn byte_budget_counts_texts_and_is_freed_by_deletion() {
    let world = World::new().await;
    limit(&world, &world.ann, bytes(10)).await;
    create(&world.ledger, &world.ann, deferred("a")).await.unwrap();
    let over = create(&world.ledger, &world.ann, new_conversation("b", "123456")).await.unwrap_err();
    assert_eq!(over, OverBudget { budget: Budget::Bytes, limit: 10, retry_after: None });
    let id = ConversationId::new("a");
    let append = async |text: &str| {
        let words = [segment(None, "Tom", text, 0.0)];
        world.ledger.store().append_segments(&world.ann, &id, &words).await
    };
    let refused = append("six").await;
    assert!(
        matches!(refused, Err(Error::OverBudget(OverBudget { budget: Budget::Bytes, .. }))),
        "{refused:?}"
    );
    append("12").await.unwrap().unwrap();
    assert_eq!(world.ledger.store().user_budget(&world.ann).await.unwrap().unwrap().bytes, 10);
    assert!(append("").await.is_err());
    assert_eq!(drift(&world).await, Vec::<String>::new());
    create(&world.ledger, &world.bob, new_conversation("b", &"x".repeat(1_000))).await.unwrap();
    assert!(world.ledger.delete_conversation(&world.ann, &id).await.unwrap());
    assert_eq!(drift(&world).await, Vec::<String>::new());
    create(&world.ledger, &world.ann, new_conversation("b", "123456")).await.unwrap();
    let words = "select count(*) from transcript_segments";
    assert_eq!(world.count(words).await, 0);
}

#[tokio::test]
async fn concurrent_finalizes_beyond_the_waiting_jobs_are_refused() {
    let world = World::new().await;
    for n in 0..8 {
        create(&world.ledger, &world.ann, deferred(&format!("c{n}"))).await.unwrap();
        create(&world.ledger, &world.bob, deferred(&format!("c{n}"))).await.unwrap();
    }
    limit(&world, &world.ann, waiting(3)).await;
    let other = world.other_process();
    let barrier = Arc::new(Barrier::new(16));
    let one = async |user: &UserId, n: usize| {
        let ledger = if n.is_multiple_of(2) { &world.ledger } else { &other };
        barrier.wait().await;
        ledger.finalize(user, &ConversationId::new(format!("c{n}")), None, None).await.unwrap()
    };
    let (hers, his) = tokio::join!(
        futures::future::join_all((0..8).map(|n| one(&world.ann, n))),
        futures::future::join_all((0..8).map(|n| one(&world.bob, n))),
    );
    assert!(his.iter().all(Result::is_ok), "{his:?}");
    let over = OverBudget { budget: Budget::WaitingJobs, limit: 3, retry_after: Some(30) };
    let refused = hers.iter().filter(|answer| **answer == Err(AdmitRefusal::OverBudget(over))).count();
    assert_eq!((refused, hers.iter().filter(|answer| answer.is_ok()).count()), (5, 3), "{hers:?}");
    let admitted = "select count(*) from finalization_jobs where user_id = 'ann'";
    assert_eq!(world.count(admitted).await, 3);
    // A repeat of an admitted finalize is answered, and the reconciler is never refused.
    let index = hers.iter().position(Result::is_ok).unwrap();
    let again =
        world.ledger.finalize(&world.ann, &ConversationId::new(format!("c{index}")), None, None).await;
    assert!(again.unwrap().is_ok());
    world.run("update conversations set last_append_at = last_append_at - interval '25 hours'").await;
    let index = hers.iter().position(Result::is_err).unwrap();
    let abandoned = ConversationId::new(format!("c{index}"));
    assert!(world.ledger.admit_abandoned(&world.ann, &abandoned).await.unwrap());
    assert_eq!(world.count(admitted).await, 4);
}

#[tokio::test]
async fn finished_jobs_do_not_count_as_waiting() {
    let world = World::new().await;
    for id in ["a", "b", "c", "d", "e"] {
        create(&world.ledger, &world.ann, deferred(id)).await.unwrap();
    }
    limit(&world, &world.ann, waiting(2)).await;
    let finalize =
        async |id| world.ledger.finalize(&world.ann, &ConversationId::new(id), None, None).await.unwrap();
    assert!(finalize("a").await.is_ok());
    assert!(finalize("b").await.is_ok());
    assert!(matches!(finalize("c").await, Err(AdmitRefusal::OverBudget(_))));
    world
        .run(
            "update finalization_jobs set status = 'completed', outcome = 'kept', finished_at = now(), \
                 ready_at = null, reconcile_after_at = null",
        )
        .await;
    assert!(finalize("c").await.is_ok());
    assert!(finalize("d").await.is_ok());
    assert!(matches!(finalize("e").await, Err(AdmitRefusal::OverBudget(_))));
}

#[tokio::test]
async fn reprocess_counts_against_waiting_jobs() {
    let world = World::new().await;
    create(&world.ledger, &world.ann, new_conversation("a", "words")).await.unwrap();
    limit(&world, &world.ann, waiting(1)).await;
    let done = world.conversation(&world.ann, "done", "completed", 0).await;
    world.run("update conversations set private_text = 'words' where conversation_id = 'done'").await;
    let refused = world.ledger.reprocess(&world.ann, &done, None).await;
    assert!(
        matches!(refused, Err(Error::OverBudget(OverBudget { budget: Budget::WaitingJobs, .. }))),
        "{refused:?}"
    );
    limit(&world, &world.ann, waiting(2)).await;
    assert!(world.ledger.reprocess(&world.ann, &done, None).await.unwrap().unwrap().fresh);
}

#[tokio::test]
async fn zero_means_unlimited_and_none_the_services_default() {
    let world = World::new().await;
    limit(&world, &world.ann, per_day(1)).await;
    create(&world.ledger, &world.ann, new_conversation("a", "words")).await.unwrap();
    limit(&world, &world.ann, LimitsChange::default()).await;
    assert!(
        create(&world.ledger, &world.ann, new_conversation("b", "words")).await.is_err(),
        "nothing was changed"
    );
    limit(&world, &world.ann, per_day(0)).await;
    create(&world.ledger, &world.ann, new_conversation("b", "words")).await.unwrap();
    limit(&world, &world.ann, LimitsChange { conversations_per_day: Some(None), ..LimitsChange::default() })
        .await;
    let budgets = store::Budgets { conversations_per_day: 2, ..store::Budgets::default() };
    let strict = Ledger::new(world.database.options(), ledger::Settings { budgets, ..Default::default() });
    let over = create(&strict, &world.ann, new_conversation("c", "words")).await.unwrap_err();
    assert_eq!((over.budget, over.limit), (Budget::ConversationsPerDay, 2));
    let budget = strict.store().user_budget(&world.ann).await.unwrap().unwrap();
    assert_eq!((budget.own.conversations_per_day, budget.limits.conversations_per_day), (None, 2));
}

#[tokio::test]
async fn verify_finds_wrong_usage_and_recount_corrects_it() {
    let world = World::new().await;
    create(&world.ledger, &world.ann, new_conversation("a", "words")).await.unwrap();
    create(&world.ledger, &world.bob, new_conversation("a", "words")).await.unwrap();
    world.run("update user_usage set bytes = 7 where user_id = 'ann'").await;
    world.run("delete from user_usage where user_id = 'bob'").await;
    let found = drift(&world).await;
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(world.operations().recount(&olga()).await.unwrap());
    assert_eq!(drift(&world).await, Vec::<String>::new());
    assert!(!world.operations().recount(&olga()).await.unwrap());
}
