//! Trace context: kept with the job from its admission, through every transition, and passed on to its deliveries.

use job::{FailureCode, JobId, Outcome};
use ledger::{Results, StoredJob, WithKeys};
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use outbox::DeliveryPolicy;
use records::EventKind;
use trace::TraceContext;

use crate::world::{REPLAY, World, completion};

/// Requests are part of this trace until the guard is dropped.
fn traced(trace: u128) -> opentelemetry::ContextGuard {
    let (trace, span) = (TraceId::from(trace), SpanId::from(7_u64));
    let parent = SpanContext::new(trace, span, TraceFlags::SAMPLED, true, TraceState::NONE);
    opentelemetry::Context::new().with_remote_span_context(parent).attach()
}

fn of(trace: u128) -> Option<TraceContext> {
    Some(format!("00-{trace:032x}-{:016x}-01", 7).parse().unwrap())
}

async fn finalized(world: &World, id: &str) -> JobId {
    let conversation = world.deferred(id).await;
    world.ledger.finalize(&world.ann, &conversation, None, None).await.unwrap().unwrap().job.unwrap()
}

#[tokio::test]
async fn admission_keeps_the_trace_of_its_own_request() {
    let world = World::new().await;
    let (first, second) = (world.deferred("a").await, world.deferred("b").await);
    let ask = |conversation| world.ledger.finalize(&world.ann, conversation, None, None);
    // Admitted in one batch, which belongs to no request's task.
    let one = async {
        let guard = traced(1);
        let asking = ask(&first);
        let mut asking = std::pin::pin!(asking);
        let answered = futures::poll!(&mut asking);
        drop(guard);
        match answered {
            std::task::Poll::Ready(answer) => answer,
            std::task::Poll::Pending => asking.await,
        }
    };
    let (one, other) = futures::join!(one, ask(&second));
    assert_eq!(world.view(&one.unwrap().unwrap().job.unwrap()).await.trace, of(1));
    assert_eq!(world.view(&other.unwrap().unwrap().job.unwrap()).await.trace, None);
    let job = {
        let _guard = traced(2);
        world.admitted("c").await
    };
    assert_eq!(world.view(&job).await.trace, of(2));
    let conversation = world.deferred("d").await;
    let keyed = {
        let _guard = traced(3);
        let none_is_free = WithKeys { claimant: None };
        world.ledger.finalize(&world.ann, &conversation, None, Some(none_is_free)).await
    };
    assert_eq!(world.view(&keyed.unwrap().unwrap().job.unwrap()).await.trace, of(3));
}

#[tokio::test]
async fn trace_context_survives_every_transition_and_a_replay() {
    let world = World::new().await;
    let job = {
        let _guard = traced(3);
        finalized(&world, "c").await
    };
    let mut claimed = world.claim(&job).await;
    assert_eq!(claimed.trace, of(3));
    world.release(&claimed).await;
    claimed = world.claim(&job).await;
    world.fail(&claimed, FailureCode::InvalidJob).await;
    world.operate(&job, REPLAY).await.unwrap();
    assert_eq!(world.claim(&job).await.trace, of(3));
}

#[tokio::test]
async fn deliveries_continue_the_trace_of_their_completion() {
    let world = World::new().await;
    let events = [EventKind::ConversationCompleted, EventKind::ConversationFailed];
    world.endpoint(&world.ann, "e", &events).await;
    let claimed = {
        let _guard = traced(4);
        world.claimed("kept").await
    };
    let announcements = vec![EventKind::ConversationCompleted];
    let results = Results { announcements, ..Results::default() };
    let inside = StoredJob { trace: of(5), ..claimed };
    world.ledger.complete(&completion(&inside, Outcome::Kept, results)).await.unwrap();
    {
        let _guard = traced(6);
        world.dead("dead", FailureCode::ModelRejected).await;
    }
    let mut deliveries: Vec<_> = world
        .ledger
        .outbox()
        .claim_deliveries(10, &DeliveryPolicy::default(), None)
        .await
        .unwrap()
        .claimed
        .into_iter()
        .map(|delivery| (delivery.event, delivery.trace))
        .collect();
    deliveries.sort_by_key(|(event, _)| event.map(EventKind::as_str));
    let expected = [(EventKind::ConversationCompleted, of(5)), (EventKind::ConversationFailed, of(6))]
        .map(|(event, trace)| (Some(event), trace));
    assert_eq!(deliveries, expected);
}

#[tokio::test]
async fn invalid_trace_context_cannot_be_stored() {
    let world = World::new().await;
    world.admitted("c").await;
    for table in ["finalization_jobs", "webhook_deliveries"] {
        let insert = format!(
            "select count(*) from pg_constraint where conname = 'trace_context_is_one' and conrelid = '{table}'::regclass"
        );
        let there: i64 =
            sqlx::query_scalar(sqlx::AssertSqlSafe(insert)).fetch_one(&world.pool).await.unwrap();
        assert_eq!(there, 1, "{table}");
    }
    let refused = sqlx::query("update finalization_jobs set trace_context = 'zwitscherling'");
    assert!(refused.execute(&world.pool).await.is_err());
}
