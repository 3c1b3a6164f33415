//! Bulk replays, which outlive the command and the process that executes them.

use db::Error;
use job::{FailureCode, JobId, Outcome, Queue};
use ledger::{Answer, Ledger, Operation};
use operations::{JobFilter, Operations, ReplayChange, ReplayOrder, Stepped};
use records::UserId;
use uuid::Uuid;

use crate::{
    CrashOperation,
    job_operations::dead_letter,
    world::{World, action, completion, conversation, results, wanted},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BulkReplay {
    Start,
    Step,
    StepRefused,
    StepRest,
    StepDone,
    Pause,
    Resume,
    Cancel,
    Follow,
}

/// A user with a dead letter.
pub(crate) struct Setup {
    user: UserId,
}

/// Deletes the operations of earlier setups.
const OTHER_OPERATIONS: &str = "delete from replay_operations where operation_id <> $1";

impl CrashOperation for BulkReplay {
    type Setup = Setup;

    /// The step after a refusal is the last one.
    fn is_idempotent(self) -> bool {
        self != Self::StepRefused
    }

    async fn prepare(self, world: &World, user_id: &str) -> Setup {
        let user = world.user(user_id).await;
        let ledger = world.ledger();
        dead_letter(world, &ledger, &user).await;
        let setup = Setup { user };
        delete_other_operations(world, &setup).await;
        if self == Self::Start {
            return setup;
        }
        Self::Start.execute(&ledger, &setup).await.unwrap();
        match self {
            Self::Resume => Self::Pause.execute(&ledger, &setup).await.unwrap(),
            Self::StepRefused => {
                let job = job_of(&setup.user);
                let replay = Operation::Replay { from_scratch: false };
                let replayed = ledger.operate(&job, replay, &action(&setup.user)).await.unwrap();
                assert!(matches!(replayed, Answer::Granted { .. }), "{replayed:?}");
            }
            Self::StepRest => {
                step(&ledger, &setup).await;
                complete(world).await;
            }
            Self::Follow => {
                step(&ledger, &setup).await;
                Self::Cancel.execute(&ledger, &setup).await.unwrap();
                complete(world).await;
            }
            Self::StepDone => {
                step(&ledger, &setup).await;
                fail(world, &setup.user).await;
                // The first step records that the job is terminal; nothing is left, so it is the last one, too.
            }
            _ => {}
        }
        setup
    }

    async fn execute(self, ledger: &Ledger, setup: &Setup) -> Result<(), Error> {
        let (id, action) = (operation(&setup.user), action(&setup.user));
        let operations = Operations::new(ledger);
        let change = |change| operations.change_replay(&id, change, &action);
        match self {
            Self::Start => {
                let filter = JobFilter { user: Some(setup.user.clone()), ..JobFilter::default() };
                let order = ReplayOrder {
                    filter,
                    words: format!("user {}", setup.user),
                    from_scratch: false,
                    per_minute: 60_000,
                    in_flight: 10,
                };
                let started =
                    Operations::new(ledger).start_replay(uuid_of(&setup.user), &order, &action).await?;
                assert!(started.is_some_and(|view| view.items == 1));
                Ok(())
            }
            Self::Step | Self::StepRefused | Self::StepRest | Self::StepDone => {
                Operations::new(ledger).step_replay(&id, "first").await.map(drop)
            }
            Self::Pause => change(ReplayChange::Pause).await.map(drop),
            Self::Resume => change(ReplayChange::Resume).await.map(drop),
            Self::Cancel => change(ReplayChange::Cancel).await.map(drop),
            Self::Follow => Operations::new(ledger).follow_replays(false).await,
        }
    }

    /// Another process executes the rest: the item is replayed and recorded once.
    async fn check_after(self, world: &World, setup: &Setup, position: &str) {
        let ledger = world.ledger();
        if self == Self::Pause {
            Self::Resume.execute(&ledger, setup).await.unwrap();
        }
        if self == Self::Follow {
            // The next round.
            self.execute(&ledger, setup).await.unwrap();
        }
        let id = operation(&setup.user);
        for _ in 0..9 {
            match Operations::new(&ledger).step_replay(&id, "remaining").await.unwrap() {
                Stepped::Done | Stepped::Left => break,
                Stepped::Waits => complete(world).await,
                _ => {}
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
        .bind(&id)
        .bind(setup.user.as_str())
        .fetch_one(&world.pool)
        .await
        .unwrap();
        assert_eq!((operation.as_str(), item.as_str(), replays), wanted, "{position}");
    }
}

async fn delete_other_operations(world: &World, setup: &Setup) {
    sqlx::query(OTHER_OPERATIONS).bind(operation(&setup.user)).execute(&world.pool).await.unwrap();
}

async fn step(ledger: &Ledger, setup: &Setup) {
    let stepped = Operations::new(ledger).step_replay(&operation(&setup.user), "first").await.unwrap();
    assert_eq!(stepped, Stepped::Replayed);
}

/// Completes every queued job.
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
