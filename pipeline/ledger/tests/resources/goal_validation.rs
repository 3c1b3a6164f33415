//! Validation of a goal's numbers against the stored row.

use ledger::Ledger;
use records::{Goal, GoalFault, GoalId, GoalType, UserId};
use store::{GoalChange, GoalRefusal, NewGoal};
use testbed::both_at_once;

use crate::world::World;

const ROUNDS: usize = 8;

async fn created(world: &World, id: &str, goal_type: GoalType, max_value: f64) -> GoalId {
    let new = NewGoal {
        id: GoalId::new(id),
        title: "Reach it".into(),
        goal_type,
        target_value: 1.0,
        current_value: 0.0,
        min_value: 0.0,
        max_value,
        unit: None,
    };
    world.ledger.store().create_goal(&world.ann, &new).await.unwrap().id
}

async fn stored(world: &World, id: &GoalId) -> Goal {
    world.ledger.store().goal(&world.ann, id).await.unwrap().unwrap()
}

async fn change(world: &World, id: &GoalId, change: GoalChange) -> Result<Goal, GoalRefusal> {
    world.ledger.store().change_goal(&world.ann, id, &change).await.unwrap()
}

fn boolean() -> GoalChange {
    GoalChange { goal_type: Some(GoalType::Boolean), ..GoalChange::default() }
}

#[tokio::test]
async fn change_goal_refuses_min_above_max() {
    let world = World::new().await;
    let id = created(&world, "a", GoalType::Scale, 10.0).await;
    let before = stored(&world, &id).await;
    for crossing in [
        GoalChange { min_value: Some(10.5), title: Some("Lost".into()), ..GoalChange::default() },
        GoalChange { max_value: Some(-1.0), ..GoalChange::default() },
        GoalChange { min_value: Some(5.0), max_value: Some(4.0), ..GoalChange::default() },
    ] {
        assert_eq!(change(&world, &id, crossing).await, Err(GoalRefusal::Wrong(vec![GoalFault::Ends])));
    }
    assert_eq!(stored(&world, &id).await, before);
    let moved = GoalChange { min_value: Some(20.0), max_value: Some(30.0), ..GoalChange::default() };
    let moved = change(&world, &id, moved).await.unwrap();
    assert_eq!((moved.min_value, moved.max_value), (20.0, 30.0));
}

#[tokio::test]
async fn change_goal_to_boolean_sets_min_0_and_max_1() {
    let world = World::new().await;
    let id = created(&world, "a", GoalType::Scale, 10.0).await;
    world.ledger.store().set_goal_progress(&world.ann, &id, 4.0).await.unwrap().unwrap();
    let far = GoalChange { target_value: Some(8.0), max_value: Some(8.0), ..boolean() };
    let all = vec![GoalFault::Target, GoalFault::Current, GoalFault::Max];
    assert_eq!(change(&world, &id, far).await, Err(GoalRefusal::Wrong(all)));
    world.ledger.store().set_goal_progress(&world.ann, &id, 1.0).await.unwrap().unwrap();
    let goal = change(&world, &id, boolean()).await.unwrap();
    assert_eq!((goal.goal_type, goal.min_value, goal.max_value), (GoalType::Boolean, 0.0, 1.0));
    let aimed = GoalChange { target_value: Some(2.0), ..GoalChange::default() };
    assert_eq!(change(&world, &id, aimed).await, Err(GoalRefusal::Wrong(vec![GoalFault::Target])));
    let progress = world.ledger.store().set_goal_progress(&world.ann, &id, 0.5).await.unwrap();
    assert_eq!(progress, Err(GoalRefusal::Wrong(vec![GoalFault::Current])));
    assert_eq!(stored(&world, &id).await.current_value, 1.0);
    assert_eq!(world.ledger.store().goal_history(&world.ann, &id, 1).await.unwrap().unwrap()[0].value, 1.0);
    assert_eq!(
        world.ledger.store().set_goal_progress(&world.ann, &id, 0.0).await.unwrap().unwrap().current_value,
        0.0
    );
    let counted =
        GoalChange { goal_type: Some(GoalType::Numeric), max_value: Some(9.0), ..GoalChange::default() };
    assert_eq!(change(&world, &id, counted).await.unwrap().max_value, 9.0);
}

#[tokio::test]
async fn change_goal_refuses_min_and_max_of_a_boolean_goal_separately() {
    let world = World::new().await;
    let vote = created(&world, "vote", GoalType::Boolean, 1.0).await;
    let before = stored(&world, &vote).await;
    for (moved, fault) in [
        (GoalChange { min_value: Some(0.5), ..GoalChange::default() }, GoalFault::Min),
        (GoalChange { max_value: Some(2.0), ..GoalChange::default() }, GoalFault::Max),
    ] {
        assert_eq!(change(&world, &vote, moved).await, Err(GoalRefusal::Wrong(vec![fault])));
    }
    assert_eq!(stored(&world, &vote).await, before);
    let scale = created(&world, "scale", GoalType::Scale, 10.0).await;
    let moved = GoalChange { min_value: Some(1.0), ..GoalChange::default() };
    assert_eq!(change(&world, &scale, moved).await.unwrap().max_value, 10.0);
    let renamed = GoalChange { title: Some("Run".into()), ..GoalChange::default() };
    let renamed = change(&world, &scale, renamed).await.unwrap();
    assert_eq!((renamed.min_value, renamed.max_value), (1.0, 10.0));
}

#[tokio::test]
async fn goal_that_is_already_invalid_can_be_renamed_and_corrected() {
    let world = World::new().await;
    let id = created(&world, "a", GoalType::Boolean, 7.0).await;
    world.run("update goals set target_value = 5, current_value = 3, min_value = 9").await;
    let renamed = GoalChange { title: Some("Vote".into()), is_active: Some(true), ..GoalChange::default() };
    assert_eq!(change(&world, &id, renamed).await.unwrap().title, "Vote");
    for corrected in [
        GoalChange { target_value: Some(1.0), ..GoalChange::default() },
        GoalChange { min_value: Some(0.0), max_value: Some(1.0), ..GoalChange::default() },
    ] {
        change(&world, &id, corrected).await.unwrap();
    }
    world.ledger.store().set_goal_progress(&world.ann, &id, 1.0).await.unwrap().unwrap();
    change(&world, &id, boolean()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_change_to_boolean_and_progress_leave_a_valid_goal() {
    let world = World::new().await;
    let other = world.other_process();
    async fn become_boolean(ledger: Ledger, user: UserId, id: GoalId) {
        let _either_way = ledger.store().change_goal(&user, &id, &boolean()).await.unwrap();
    }
    async fn set_progress(ledger: Ledger, user: UserId, id: GoalId) {
        let _either_way = ledger.store().set_goal_progress(&user, &id, 5.0).await.unwrap();
    }
    for round in 0..ROUNDS {
        let id = created(&world, &format!("g{round}"), GoalType::Scale, 10.0).await;
        let becoming = become_boolean(world.ledger.clone(), world.ann.clone(), id.clone());
        let setting_progress = set_progress(other.clone(), world.ann.clone(), id.clone());
        both_at_once(becoming, setting_progress).await;
        let goal = stored(&world, &id).await;
        let is_one = (GoalType::Boolean, 0.0);
        let is_other = (GoalType::Scale, 5.0);
        let found = (goal.goal_type, goal.current_value);
        assert!(found == is_one || found == is_other, "round {round}: {found:?}");
    }
}

#[tokio::test]
async fn change_goal_and_progress_are_validated_under_lock() {
    let world = World::new().await;
    let id = created(&world, "a", GoalType::Scale, 10.0).await;
    let lowered = "update goals set max_value = 5";
    let raised = GoalChange { min_value: Some(7.0), ..GoalChange::default() };
    let refused = world.database.overtaken_by(lowered, change(&world, &id, raised)).await;
    assert_eq!(refused, Err(GoalRefusal::Wrong(vec![GoalFault::Ends])));
    let became = "update goals set goal_type = 'boolean', max_value = 1";
    let progress = async { world.ledger.store().set_goal_progress(&world.ann, &id, 3.0).await.unwrap() };
    assert!(
        world.database.overtaken_by(became, progress).await.is_err(),
        "a boolean goal stands at 0 or at 1"
    );
}
