//! The rule of three and the history of progress, of two people whose goals have the very same ids.

use records::{GoalId, GoalType, UserId};
use store::{GoalFilter, NewGoal};

use crate::world::World;

/// Ann and Bob have the active goals `a`, `b` and `c`, the oldest first, and the inactive ones `p` and `q`, newer than
/// these.
async fn with_goals() -> World {
    let world = World::new().await;
    world
        .run(
            "insert into goals (user_id, goal_id, title, target_value, is_active, created_at, updated_at) \
             select u, g, g, 9, g < 'p', now() - interval '1 hour' + make_interval(mins => n::integer), \
                 now() - interval '1 hour' \
             from unnest(array['ann', 'bob']) u, unnest(array['a', 'b', 'c', 'p', 'q']) with ordinality t (g, n)",
        )
        .await;
    world
}

async fn active(world: &World, user: &UserId) -> Vec<String> {
    let filter = GoalFilter { limit: 9, ..GoalFilter::default() };
    world
        .ledger
        .store()
        .goals(user, &filter)
        .await
        .unwrap()
        .into_iter()
        .map(|goal| goal.id.to_string())
        .collect()
}

#[tokio::test]
async fn a_fourth_goal_takes_the_place_of_the_oldest_active_one_of_its_own_person() {
    let world = with_goals().await;
    let fourth = NewGoal {
        id: GoalId::new("d"),
        title: "Fourth".into(),
        goal_type: GoalType::Numeric,
        target_value: 9.0,
        current_value: 0.0,
        min_value: 0.0,
        max_value: 9.0,
        unit: None,
    };
    world.ledger.store().create_goal(&world.ann, &fourth).await.unwrap();
    assert_eq!(active(&world, &world.ann).await, ["b", "c", "d"]);
    assert_eq!(active(&world, &world.bob).await, ["a", "b", "c"]);
    let touched: Vec<String> = sqlx::query_scalar(
        "select user_id || ' ' || goal_id from goals where updated_at > now() - interval '30 minutes' order by 1",
    )
    .fetch_all(&world.pool)
    .await
    .unwrap();
    assert_eq!(touched, ["ann a", "ann d"]);
}

#[tokio::test]
async fn the_history_of_a_goal_is_its_own_and_as_long_as_it_was_asked_for() {
    let world = with_goals().await;
    world
        .run(
            "insert into goal_progress (user_id, goal_id, day, value, recorded_at) \
             select user_id, goal_id, (now() at time zone 'UTC')::date - ago, \
                 ago + case goal_id when 'a' then 10 else 20 end + case user_id when 'ann' then 100 else 200 end, now() \
             from goals, unnest(array[0, 3]) ago where goal_id in ('a', 'b')",
        )
        .await;
    let history = async |user, goal: &str, days| -> Vec<f64> {
        let history =
            world.ledger.store().goal_history(user, &GoalId::new(goal), days).await.unwrap().unwrap();
        history.into_iter().map(|point| point.value).collect()
    };
    assert_eq!(history(&world.ann, "a", 9).await, [110.0, 113.0]);
    assert_eq!(history(&world.ann, "b", 9).await, [120.0, 123.0]);
    assert_eq!(history(&world.bob, "a", 9).await, [210.0, 213.0]);
    assert_eq!(history(&world.ann, "a", 3).await, [110.0], "today and the two days before");
    assert_eq!(history(&world.ann, "a", 4).await, [110.0, 113.0]);
}
