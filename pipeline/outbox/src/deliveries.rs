//! Deliveries: pending { next_at } | sending { until, epoch } | delivered | exhausted | cancelled (DESIGN §6).

use std::time::Duration;

use bytes::Bytes;
use db::{After, sql};
use records::{ConversationId, EventKind, Timestamp, UserId, WebhookFormat};
use secrecy::SecretString;
use sqlx::PgConnection;
use trace::TraceContext;

mod claim;
mod finish;
mod gates;
mod history;
mod read;
pub mod recover;
pub mod waiting;

use history::History;
pub use history::{DeliveryTry, TRIES_KEPT};
pub use read::{Redelivery, TestRefusal, make_due, share_endpoint};

/// The event of a test delivery: no endpoint has to ask for it.
const TEST_EVENT: &str = "webhook.test";

/// The numbers of a delivery's life (DECISIONS §6).
#[derive(Clone, Debug)]
pub struct DeliveryPolicy {
    /// Waits after the 1st, 2nd, … failed try; after the last the delivery is exhausted.
    pub schedule: Vec<Duration>,
    /// How long a try may be under way before another process may take it: longer than a try's own limit.
    pub sending: Duration,
    /// Tries under way at once per endpoint, across processes.
    pub per_endpoint: i64,
    /// Consecutive failures that open the breaker.
    pub breaker_after: i32,
    /// How long the breaker stays open.
    pub breaker_open: Duration,
    /// Nothing but failures for this long, and as many as open the breaker, disable the endpoint; fewer are forgotten.
    pub disable_after: Duration,
}

impl Default for DeliveryPolicy {
    fn default() -> Self {
        let seconds = [5, 30, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
        Self {
            schedule: seconds.into_iter().map(Duration::from_secs).collect(),
            sending: Duration::from_secs(30),
            per_endpoint: 4,
            breaker_after: 5,
            breaker_open: Duration::from_secs(60),
            disable_after: Duration::from_secs(5 * 86_400),
        }
    }
}

#[derive(Clone, Debug)]
pub struct ClaimedDelivery {
    pub user_id: UserId,
    pub endpoint_id: String,
    /// The `webhook-id`: the same on every try. UUID v5 of (endpoint, conversation or subject, event, revision).
    pub delivery_id: String,
    /// The claim: every write of this try names it.
    pub epoch: i64,
    /// Which try this is, from 1.
    pub try_number: i32,
    pub url: String,
    pub secret: SecretString,
    /// Signs it, too, for a while after its owner had the secret replaced.
    pub previous_secret: Option<SecretString>,
    /// Its endpoint belongs to an installed app, and not to the user alone.
    pub for_app: bool,
    /// Full or thin.
    pub format: WebhookFormat,
    /// What happened. `None` for a test event (`webhook.test`).
    pub event: Option<EventKind>,
    pub occurred_at: Timestamp,
    pub conversation_id: Option<ConversationId>,
    /// The action item or memory it is about.
    pub subject_id: Option<String>,
    /// Rendered at an earlier try. Cheap to clone: it may be megabytes.
    pub body: Option<Bytes>,
    /// The database's clock at the claim.
    pub now: Timestamp,
    /// The trace that its event continues. It is not sent to receivers.
    pub trace: Option<TraceContext>,
}

/// What a look for due deliveries, or pushes, did.
#[derive(Clone, Debug)]
pub struct Claims<T> {
    pub claimed: Vec<T>,
    /// Those whose sender died in their last try: they were given up.
    pub given_up: u64,
}

/// A delivery as its owner and operators see it: never its body.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct DeliveryView {
    /// The `webhook-id`.
    #[sqlx(rename = "delivery_id")]
    pub id: String,
    pub event: String,
    pub conversation_id: Option<String>,
    pub revision: Option<i64>,
    /// pending, sending, delivered, exhausted or cancelled.
    pub status: String,
    /// Tries of this round.
    pub tries: i32,
    /// Claims of all rounds.
    pub epoch: i64,
    pub last_status: Option<i32>,
    pub last_error: Option<String>,
    /// The next try; `None` also while it waits for its endpoint to be enabled.
    pub next_at: Option<Timestamp>,
    /// It waits for its endpoint to be enabled.
    pub parked: bool,
    /// What it tells of happened then.
    pub occurred_at: Timestamp,
    pub created_at: Timestamp,
    pub finished_at: Option<Timestamp>,
    /// The newest tries, oldest first; at most [`TRIES_KEPT`]. A delivery that was older than its column has none of before.
    #[sqlx(try_from = "History")]
    pub history: Vec<DeliveryTry>,
}

/// Which of an endpoint's deliveries to list.
#[derive(Clone, Debug, Default)]
pub struct DeliveryPage {
    /// Of this status; `None` is all.
    pub status: Option<&'static str>,
    pub limit: i64,
    pub offset: i64,
    /// Go on after this row, and skip none.
    pub after: Option<After>,
}

impl DeliveryPage {
    /// The newest deliveries, whatever became of them.
    pub fn first(limit: i64) -> Self {
        Self { limit, ..Self::default() }
    }
}

/// Forgets deleted objects of one conversation, or of none: their undelivered events are cancelled, and of those that were
/// delivered the words are erased. Events about the conversation itself stay.
pub async fn forget_objects(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: Option<&str>,
    ids: &[&str],
) -> Result<(), sqlx::Error> {
    if ids.is_empty() {
        return Ok(());
    }
    // Two statements each: an index serves `conversation_id = $3` and another one `is null`, and neither serves both.
    let (cancel, erase) = match conversation {
        Some(_) => {
            (sql!("deliveries/cancel_of_conversation.sql"), sql!("deliveries/erase_of_conversation.sql"))
        }
        None => (
            sql!("deliveries/cancel_of_no_conversation.sql"),
            sql!("deliveries/erase_of_no_conversation.sql"),
        ),
    };
    for statement in [cancel, erase] {
        sqlx::query(statement)
            .bind(user.as_str())
            .bind(ids)
            .bind(conversation)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}
