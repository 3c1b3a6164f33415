//! Executes a command through the ledger's public operations, and gives the answer that the decision calls for.

use job::{Command, Job, Refusal, State, Step};
use ledger::{Answer, Finished, Ledger, NamedClaim, Operation, Renewal, Results, StoredJob, Transition};

use crate::world::{REPLAY, completion, operate, parts};

/// Executes `command` on the job in `claimed`; returns the operation's answer as text.
pub(crate) async fn execute(ledger: &Ledger, claimed: &StoredJob, command: &Command) -> String {
    let id = &claimed.job.id;
    match command.clone() {
        Command::Claim { worker, keys: true, .. } => {
            match ledger.claim_with_keys(id, &worker).await.unwrap() {
                NamedClaim::Granted { retry, .. } => format!("claimed, retry {retry}"),
                NamedClaim::Leased(_) => "leased".to_owned(),
                NamedClaim::NotYet(_) => "paused".to_owned(),
                NamedClaim::GivenUp => "over, dead true".to_owned(),
                NamedClaim::Completed | NamedClaim::Over(_) => "over, dead false".to_owned(),
            }
        }
        Command::Claim { generation, worker, .. } => {
            let (answer, claimed) = parts(ledger.claim_delivery(id, generation, &worker).await.unwrap());
            assert_eq!(claimed.is_some(), answer == "claimed");
            answer.to_owned()
        }
        Command::Renew { .. } | Command::ProveAlive { .. } => {
            text(ledger.renew(&[claimed.lease_token()]).await.unwrap()[0])
        }
        Command::Release { delay, .. } => settle(ledger, claimed, Transition::Release { delay }).await,
        Command::Fail { code, retry_after, jitter_permille, .. } => {
            settle(ledger, claimed, Transition::Fail { code, retry_after, jitter_permille }).await
        }
        Command::Park { .. } => settle(ledger, claimed, Transition::Park).await,
        Command::Complete { outcome, .. } => {
            match ledger.complete(&completion(claimed, outcome, Results::default())).await.unwrap() {
                Finished::Completed { .. } => "Completed".to_owned(),
                Finished::Already => "Already".to_owned(),
                Finished::Refused(refusal) => text(refusal),
            }
        }
        Command::Reconcile { .. } => text(ledger.reconcile(id).await.unwrap()),
        Command::Replay { .. } => text(operate(ledger, id, REPLAY).await),
        Command::Discard => text(operate(ledger, id, Operation::Discard).await),
        Command::RunNow => text(operate(ledger, id, Operation::RunNow).await),
        Command::Cancel => text(operate(ledger, id, Operation::Cancel).await),
        Command::RequireKeys | Command::Withdraw | Command::Supersede => {
            panic!("a command on a conversation or a user, not on a job")
        }
    }
}

async fn settle(ledger: &Ledger, claimed: &StoredJob, transition: Transition) -> String {
    text(ledger.settle(&claimed.lease_token(), transition, None).await.unwrap())
}

/// The answer that the operation must give when `job::decide` decided so about `job`.
pub(crate) fn expected_answer(job: &Job, command: &Command, decided: &Result<Step, Refusal>) -> String {
    match (command, decided) {
        (Command::Claim { keys: true, .. }, Ok(step)) => match step.job.state {
            State::Leased(_) => format!("claimed, retry {}", step.effects.contains(&job::Effect::CountRetry)),
            _ => "over, dead true".to_owned(),
        },
        (Command::Claim { keys: true, .. }, Err(Refusal::LeaseHeld { .. })) => "leased".to_owned(),
        (Command::Claim { keys: true, .. }, Err(_)) => "over, dead false".to_owned(),
        (Command::Claim { .. }, Ok(step)) => match step.job.state {
            State::Leased(_) => "claimed".to_owned(),
            _ => "dead_letter".to_owned(),
        },
        (Command::Claim { .. }, Err(refusal)) => delivery_answer(job, *refusal).to_owned(),
        (Command::Renew { .. }, Ok(step)) => match &step.job.state {
            State::Leased(lease) => text(Renewal::Renewed { until: lease.expires_at }),
            other => panic!("renewed, and then {other:?}"),
        },
        (Command::Renew { .. }, Err(Refusal::RunLimit)) => text(Renewal::RunLimit),
        (Command::Renew { .. }, Err(_)) if job.has_applied(command) => text(Renewal::Done),
        (Command::Renew { .. }, Err(_)) | (Command::ProveAlive { .. }, _) => text(Renewal::Lost),
        (Command::Complete { .. }, Ok(_)) => "Completed".to_owned(),
        (Command::Complete { .. }, Err(_)) if job.has_applied(command) => "Already".to_owned(),
        (Command::Complete { .. }, Err(refusal)) => text(refusal),
        (Command::Replay { .. } | Command::Discard | Command::RunNow | Command::Cancel, decided) => {
            text(decided.as_ref().map(|step| &step.job))
        }
        (_, Ok(step)) => text(Answer::Granted {
            job: step.job.clone(),
            retry: step.effects.contains(&job::Effect::CountRetry),
            dead_letter: step.effects.contains(&job::Effect::CountDeadLetter),
        }),
        (_, Err(_)) if job.has_applied(command) => text(Answer::Granted {
            job: job.clone(),
            retry: matches!((command, &job.state), (Command::Fail { .. }, State::Queued { .. })),
            dead_letter: matches!(job.state, State::DeadLetter { .. }),
        }),
        (_, Err(refusal)) => text(Answer::Refused(*refusal)),
    }
}

/// The documented answers of a delivery (DECISIONS §4).
fn delivery_answer(job: &Job, refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::StaleGeneration => "stale_generation",
        Refusal::UnknownGeneration => "unknown_generation",
        Refusal::LeaseHeld { .. } => "leased",
        Refusal::Blocked => "blocked_byok",
        Refusal::NotYet { .. } => "not_yet",
        Refusal::AtRest => job.state.status(),
        other => panic!("a claim says {other:?}"),
    }
}

fn text(answer: impl std::fmt::Debug) -> String {
    format!("{answer:?}")
}
