//! Which database errors are retryable: those of its present state, not those caused by the request.

use std::time::Duration;

use job::{FailureCode, Queue};
use ledger::{Ledger, Settings};
use store::UserChange;

use crate::world::{World, fail, wanted};

/// Whether `settle` calls an error with each of these SQLSTATE codes retryable.
async fn are_retryable<const N: usize>(codes: [&str; N]) -> [bool; N] {
    let world = World::new().await;
    let token = world.claimed("c").await.lease_token();
    world
        .run(
            "create function refuse() returns trigger language plpgsql as $$begin end$$; \
             create trigger refuse before update on finalization_jobs for each row execute function refuse()",
        )
        .await;
    let mut pass = [false; N];
    for (code, pass) in codes.iter().zip(&mut pass) {
        let refuse = format!(
            "create or replace function refuse() returns trigger language plpgsql as \
                 $$begin raise exception 'no' using errcode = '{code}'; end$$"
        );
        world.database.run(&refuse).await;
        let transition = fail(FailureCode::InvalidJob);
        let error = world.ledger.settle(&token, transition, None).await.unwrap_err();
        assert!(error.to_string().ends_with(&format!(", SQLSTATE {code})")), "the log says why: {error}");
        assert_eq!(error.refusal(), Some(format!("no (SQLSTATE {code})")));
        *pass = error.is_passing();
    }
    pass
}

#[tokio::test]
async fn errors_of_the_servers_state_are_retryable() {
    // Connection lost, conflict, deadlock, disk full, lock timeout, cancelled, I/O error, idle transaction, read-only
    // server.
    let codes = ["08006", "40001", "40P01", "53100", "55P03", "57014", "58030", "25P03", "25006"];
    assert_eq!(are_retryable(codes).await, [true; 9], "{codes:?}");
}

#[tokio::test]
async fn errors_of_the_request_are_not_retryable() {
    // A constraint, a privilege, an object in use, and not supported, which also stands for an outdated plan.
    let codes = ["23514", "42501", "55006", "0A000"];
    assert_eq!(are_retryable(codes).await, [false; 4], "{codes:?}");
}

#[tokio::test]
async fn connections_to_a_read_only_server_are_replaced() {
    let world = World::new().await;
    let job = world.admitted("c").await;
    // As in a session that was opened after a failover to the former primary.
    let name = world.database.name();
    let reads = async |on: &str| {
        let statement = format!(
            "begin read write; alter database {name} set default_transaction_read_only = {on}; commit"
        );
        world.database.run(&statement).await;
    };
    reads("on").await;
    let ledger = Ledger::new(world.database.options(), Settings { connections: 1, ..Settings::default() });
    ledger.db().now().await.unwrap();
    let claim = async || ledger.db().in_time(ledger.claim(&wanted(Queue::Creation, 1))).await;
    assert!(claim().await.is_err_and(|error| error.is_passing()));
    reads("off").await;
    // The sessions that were opened meanwhile are replaced in turn.
    let claims = async {
        loop {
            if let Ok(claims) = claim().await {
                break claims;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let claims = tokio::time::timeout(Duration::from_secs(20), claims).await.expect("a new session writes");
    assert_eq!(claims.claims[0].job.id, job, "it was not deferred");
    let change = UserChange::default();
    ledger.db().in_time(ledger.change_user(&world.ann, &change)).await.unwrap().unwrap();
}
