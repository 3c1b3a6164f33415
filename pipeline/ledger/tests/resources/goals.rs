//! Goals: at most three active, progress and history.

use futures::future::BoxFuture;
use ledger::Ledger;
use records::{GoalId, GoalType, UserId};
use store::{GoalChange, GoalFilter, GoalRefusal, NewGoal};
use testbed::at_once;

use crate::world::World;

const ROUNDS: usize = 8;

fn new(id: &str) -> NewGoal {
    NewGoal {
        id: GoalId::new(id),
        title: format!("Reach {id}"),
        goal_type: GoalType::Scale,
        target_value: 8.0,
        current_value: 0.0,
        min_value: 0.0,
        max_value: 10.0,
        unit: None,
    }
}

fn all() -> GoalFilter {
    GoalFilter { limit: 100, offset: 0, include_inactive: true }
}

async fn active(world: &World) -> Vec<String> {
    let filter = GoalFilter { include_inactive: false, ..all() };
    let goals = world.ledger.store().goals(&world.ann, &filter).await.unwrap();
    goals.into_iter().map(|goal| goal.id.as_str().to_owned()).collect()
}

async fn with(world: &World, ids: &[&str]) {
    for id in ids {
        world.ledger.store().create_goal(&world.ann, &new(id)).await.unwrap();
    }
}

fn activation() -> GoalChange {
    GoalChange { is_active: Some(true), ..GoalChange::default() }
}

#[tokio::test]
async fn fourth_goal_deactivates_the_users_oldest() {
    let world = World::new().await;
    for id in ["a", "b", "c"] {
        world.ledger.store().create_goal(&world.bob, &new(id)).await.unwrap();
    }
    with(&world, &["a", "b", "c"]).await;
    assert_eq!(active(&world).await, ["a", "b", "c"], "oldest first");
    with(&world, &["d"]).await;
    assert_eq!(active(&world).await, ["b", "c", "d"]);
    let goals = world.ledger.store().goals(&world.ann, &all()).await.unwrap();
    let ids: Vec<_> = goals.iter().map(|goal| goal.id.as_str()).collect();
    assert_eq!(ids, ["b", "c", "d", "a"], "active ones first");
    let page = GoalFilter { limit: 2, offset: 1, include_inactive: true };
    assert_eq!(world.ledger.store().goals(&world.ann, &page).await.unwrap()[1].id.as_str(), "d");
    let his = "select count(*) from goals where user_id = 'bob' and is_active and updated_at = created_at";
    assert_eq!(world.count(his).await, 3);
    assert_eq!(world.ledger.store().goal(&world.bob, &GoalId::new("d")).await.unwrap(), None);
}

#[tokio::test]
async fn activating_a_goal_deactivates_the_oldest_of_the_others() {
    let world = World::new().await;
    with(&world, &["a", "b", "c", "d"]).await;
    let a = world
        .ledger
        .store()
        .change_goal(&world.ann, &GoalId::new("a"), &activation())
        .await
        .unwrap()
        .unwrap();
    assert!(a.is_active);
    assert_eq!(active(&world).await, ["a", "c", "d"]);
    world.ledger.store().change_goal(&world.ann, &GoalId::new("a"), &activation()).await.unwrap().unwrap();
    assert_eq!(active(&world).await, ["a", "c", "d"], "activating an active one changes nothing");
    assert_eq!(
        world.ledger.store().change_goal(&world.ann, &GoalId::new("none"), &activation()).await.unwrap(),
        Err(GoalRefusal::NoGoal)
    );
    let by_another_user =
        world.ledger.store().change_goal(&world.bob, &GoalId::new("b"), &activation()).await.unwrap();
    assert_eq!(by_another_user, Err(GoalRefusal::NoGoal));
    assert_eq!(active(&world).await, ["a", "c", "d"], "an unknown goal deactivates none");
}

async fn create(ledger: Ledger, user: UserId, id: String) {
    ledger.store().create_goal(&user, &new(&id)).await.unwrap();
}

async fn activate(ledger: Ledger, user: UserId, id: String) {
    ledger.store().change_goal(&user, &GoalId::new(id), &activation()).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_creates_and_activations_leave_three_active_goals() {
    let world = World::new().await;
    with(&world, &["a", "b", "c", "old"]).await;
    let other = world.other_process();
    for round in 0..ROUNDS {
        let ann = || world.ann.clone();
        let inactive = world.ledger.store().goals(&world.ann, &all()).await.unwrap();
        let inactive = inactive.iter().find(|goal| !goal.is_active).unwrap().id.as_str().to_owned();
        let verbs: [BoxFuture<'static, ()>; 3] = [
            Box::pin(create(world.ledger.clone(), ann(), format!("one{round}"))),
            Box::pin(create(other.clone(), ann(), format!("other{round}"))),
            Box::pin(activate(other.clone(), ann(), inactive)),
        ];
        at_once(verbs).await;
        assert_eq!(active(&world).await.len(), 3, "round {round}");
    }
}

#[tokio::test]
async fn goal_history_has_the_last_value_of_each_day() {
    let world = World::new().await;
    with(&world, &["a", "b"]).await;
    world.ledger.store().create_goal(&world.bob, &new("a")).await.unwrap();
    let id = GoalId::new("a");
    for value in [1.0, 2.5] {
        let goal = world.ledger.store().set_goal_progress(&world.ann, &id, value).await.unwrap().unwrap();
        assert_eq!(goal.current_value, value);
    }
    world
        .run(
            "insert into goal_progress (user_id, goal_id, day, value, recorded_at) \
             select 'ann', 'a', (now() at time zone 'UTC')::date - n, n, now() - n * interval '1 day' \
             from unnest(array[1, 29, 30]) n; \
             insert into goal_progress (user_id, goal_id, day, value, recorded_at) \
             select user_id, goal_id, (now() at time zone 'UTC')::date, 99, now() from goals \
             where (user_id, goal_id) <> ('ann', 'a')",
        )
        .await;
    let values = async |days| {
        let points = world.ledger.store().goal_history(&world.ann, &id, days).await.unwrap().unwrap();
        points.iter().map(|point| point.value).collect::<Vec<_>>()
    };
    assert_eq!(values(30).await, [2.5, 1.0, 29.0], "newest first, 30 days with today");
    assert_eq!(values(1).await, [2.5]);
    let hers = GoalId::new("b");
    assert_eq!(world.ledger.store().goal_history(&world.bob, &hers, 30).await.unwrap(), None);
    let by_another_user = world.ledger.store().set_goal_progress(&world.bob, &hers, 9.0).await.unwrap();
    assert_eq!(by_another_user, Err(GoalRefusal::NoGoal));

    assert!(!world.ledger.store().delete_goal(&world.bob, &hers).await.unwrap());
    assert!(world.ledger.store().delete_goal(&world.ann, &id).await.unwrap());
    assert!(!world.ledger.store().delete_goal(&world.ann, &id).await.unwrap());
    assert_eq!(world.count("select count(*) from goal_progress").await, 2, "those of the others");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_progress_leaves_goal_and_history_equal() {
    let world = World::new().await;
    with(&world, &["a"]).await;
    let other = world.other_process();
    async fn set_progress(ledger: Ledger, user: UserId, value: f64) {
        ledger.store().set_goal_progress(&user, &GoalId::new("a"), value).await.unwrap().unwrap();
    }
    for round in 0..ROUNDS {
        let value = round as f64;
        let one = set_progress(world.ledger.clone(), world.ann.clone(), value);
        let another = set_progress(other.clone(), world.ann.clone(), value + 0.5);
        at_once([one, another]).await;
        let equal = "select count(*) from goals join goal_progress using (user_id, goal_id) \
                     where current_value = value";
        assert_eq!(world.count(equal).await, 1, "round {round}");
    }
}
