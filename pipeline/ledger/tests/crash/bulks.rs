//! Replays of many dead letters, which outlive the command that started them and the process that works them off.

use db::Error;
use job::{FailureCode, JobId, Outcome, Queue};
use ledger::{Ledger, Operation};
use operations::{JobFilter, Operations, ReplayChange, ReplayOrder, ReplayTurn, Started, Stepped};
use records::UserId;
use uuid::Uuid;

use crate::{
    Said,
    verbs::dead_letter,
    world::{World, action, completion, conversation, results, wanted},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bulk {
    Start,
    Take,
    TakeOver,
    Step,
    StepRefused,
    StepRest,
    StepDone,
    Pause,
    Resume,
    Cancel,
    Follow,
}

/// A person with a dead letter, and who works off the operation that holds it.
pub(crate) struct Scene {
    user: UserId,
    turn: Option<ReplayTurn>,
}

/// Of the scenes before; one operation is looked at.
const ALONE: &str = "delete from replay_operations where operation_id <> $1";
/// A process that said nothing for as long as its turn lasts.
const TURN_IS_OVER: &str =
    "update replay_operations set lease_until = clock_timestamp() where operation_id = $1";

impl Said for Bulk {
    type Scene = Scene;

    /// The step after a refusal is the last one.
    fn is_harmless_twice(self) -> bool {
        self != Self::StepRefused
    }

    async fn prepare(self, world: &World, person: &str) -> Scene {
        let user = world.person(person).await;
        let ledger = world.ledger();
        dead_letter(world, &ledger, &user).await;
        let mut scene = Scene { user, turn: None };
        alone(world, &scene).await;
        if self == Self::Start {
            return scene;
        }
        Self::Start.say(&ledger, &scene).await.unwrap();
        if matches!(self, Self::Take | Self::Pause | Self::Cancel) {
            return scene;
        }
        if self == Self::Resume {
            Self::Pause.say(&ledger, &scene).await.unwrap();
            return scene;
        }
        scene.turn = Operations::new(&ledger).take_replay("first").await.unwrap();
        match self {
            Self::TakeOver => world.now_due(&scene).await,
            Self::StepRefused => {
                let job = job_of(&scene.user);
                ledger
                    .operate(&job, Operation::Replay { from_scratch: false }, &action(&scene.user), None)
                    .await
                    .unwrap()
                    .unwrap()
                    .unwrap();
            }
            Self::StepRest => {
                step(&ledger, &scene).await;
                complete(world).await;
            }
            Self::Follow => {
                step(&ledger, &scene).await;
                Self::Cancel.say(&ledger, &scene).await.unwrap();
                complete(world).await;
            }
            Self::StepDone => {
                step(&ledger, &scene).await;
                fail(world, &scene.user).await;
                // The first look notes that the job has come to rest; nothing is left, so it is the last one, too.
            }
            _ => {}
        }
        scene
    }

    async fn say(self, ledger: &Ledger, scene: &Scene) -> Result<(), Error> {
        let (id, action) = (operation(&scene.user), action(&scene.user));
        let operations = Operations::new(ledger);
        let change = |change| operations.change_replay(&id, change, &action);
        match self {
            Self::Start => {
                let filter = JobFilter { user: Some(scene.user.clone()), ..JobFilter::default() };
                let order = ReplayOrder {
                    filter,
                    words: format!("user {}", scene.user),
                    from_scratch: false,
                    per_minute: 60_000,
                    in_flight: 10,
                };
                let started =
                    Operations::new(ledger).start_replay(uuid_of(&scene.user), &order, &action).await?;
                assert!(matches!(started, Started::Running(view) if view.items == 1));
                Ok(())
            }
            Self::Take | Self::TakeOver => Operations::new(ledger).take_replay("second").await.map(drop),
            Self::Step | Self::StepRefused | Self::StepRest | Self::StepDone => Operations::new(ledger)
                .step_replay(scene.turn.as_ref().expect("it was taken"))
                .await
                .map(drop),
            Self::Pause => change(ReplayChange::Pause).await.map(drop),
            Self::Resume => change(ReplayChange::Resume).await.map(drop),
            Self::Cancel => change(ReplayChange::Cancel).await.map(drop),
            Self::Follow => Operations::new(ledger).follow_replays(false).await,
        }
    }

    /// Another process takes it over, and works it off: the item was replayed once, and that is recorded once. The turn
    /// that was lost moves nothing any more.
    async fn afterwards(self, world: &World, scene: &Scene, position: &str) {
        let ledger = world.ledger();
        if self == Self::Pause {
            Self::Resume.say(&ledger, scene).await.unwrap();
        }
        if self == Self::Follow {
            // The next time.
            self.say(&ledger, scene).await.unwrap();
        }
        world.now_due(scene).await;
        let turn = Operations::new(&ledger).take_replay("remaining").await.unwrap();
        let is_over = matches!(self, Self::StepRest | Self::StepDone | Self::Cancel | Self::Follow);
        assert_eq!(turn.is_none(), is_over, "{position}");
        if let Some(lost) = &scene.turn {
            assert_eq!(
                Operations::new(&ledger).step_replay(lost).await.unwrap(),
                Stepped::Lost,
                "{position}"
            );
        }
        if let Some(turn) = turn {
            for _ in 0..9 {
                match Operations::new(&ledger).step_replay(&turn).await.unwrap() {
                    Stepped::Done => break,
                    Stepped::Wait(_) => complete(world).await,
                    _ => {}
                }
            }
        }
        complete(world).await;
        let wanted = match self {
            Self::StepRefused => ("done", "refused", 1),
            Self::StepDone => ("done", "died_again", 1),
            Self::Cancel => ("cancelled", "waiting", 0),
            Self::Follow => ("cancelled", "completed", 1),
            _ => ("done", "completed", 1),
        };
        let (operation, item, replays): (String, String, i64) = sqlx::query_as(
            "select o.status, i.status, (select count(*) from operator_actions a where a.user_id = $2 \
                 and a.action = 'replay') \
             from replay_operations o join replay_items i using (operation_id) where operation_id = $1",
        )
        .bind(operation(&scene.user))
        .bind(scene.user.as_str())
        .fetch_one(&world.pool)
        .await
        .unwrap();
        assert_eq!((operation.as_str(), item.as_str(), replays), wanted, "{position}");
    }
}

impl World {
    async fn now_due(&self, scene: &Scene) {
        sqlx::query(TURN_IS_OVER).bind(operation(&scene.user)).execute(&self.pool).await.unwrap();
    }
}

async fn alone(world: &World, scene: &Scene) {
    sqlx::query(ALONE).bind(operation(&scene.user)).execute(&world.pool).await.unwrap();
}

async fn step(ledger: &Ledger, scene: &Scene) {
    let turn = scene.turn.as_ref().expect("it was taken");
    assert_eq!(Operations::new(ledger).step_replay(turn).await.unwrap(), Stepped::Replayed);
}

/// Completes every job that waits.
async fn complete(world: &World) {
    let ledger = world.ledger();
    for queue in [Queue::Creation, Queue::Finalization] {
        for claimed in ledger.claim(&wanted(queue, 50)).await.unwrap().claims {
            ledger.complete(&completion(&claimed, Outcome::Kept, results())).await.unwrap();
        }
    }
}

async fn fail(world: &World, user: &UserId) {
    let claimed = world.claimed_again(user).await;
    let transition =
        ledger::Transition::Fail { code: FailureCode::NoContent, retry_after: None, jitter_permille: 0 };
    world.ledger().settle(&claimed.lease_token(), transition, None).await.unwrap();
}

fn job_of(user: &UserId) -> JobId {
    JobId::derive(user.as_str(), conversation(user).as_str(), 1)
}

fn uuid_of(user: &UserId) -> Uuid {
    Uuid::new_v5(&Uuid::NAMESPACE_OID, user.as_str().as_bytes())
}

fn operation(user: &UserId) -> String {
    uuid_of(user).to_string()
}
