//! Pages that go on by themselves: the part that changes is sent as it changes, over server-sent events, to a bounded
//! number of listeners, from one reader for all of them. Without scripts the same pages reload.

mod hub;
mod listener;

use std::sync::Arc;

use axum::{
    Router,
    extract::State,
    response::{IntoResponse, Response, Sse, sse::KeepAlive},
    routing::get,
};
use futures::FutureExt;
use ledger::Ledger;
use tokio_util::sync::CancellationToken;

use self::hub::Hub;
pub(super) use self::hub::{Lost, Seen, Views};
use super::{
    Console,
    asked::Asked,
    delivery, endpoint,
    fault::Fault,
    job, jobs, overview,
    page::{Frame, in_time},
    replays::{self, Place},
    sessions::{self, Of},
    typed::{Path, Query},
    visitor::Visitor,
    webhooks::{self, Which},
};

/// What can be listened to: a page of ours, as its address says it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Topic {
    Overview,
    Jobs(Asked),
    Job(String),
    Replays,
    Replay(String, i32),
    Webhooks(Which),
    Endpoint(Which),
    Delivery(Which),
    Sessions(Of),
}

/// Those who listen to pages.
#[derive(Clone)]
pub(super) struct Live {
    hub: Arc<Hub<Topic>>,
    stop: CancellationToken,
}

impl Live {
    /// Begins to look at what is listened to, until `stop`, which ends every stream.
    pub(super) fn start(ledger: Ledger, stop: CancellationToken) -> Self {
        let look = move |topic| {
            let ledger = ledger.clone();
            async move { seen(&ledger, read(&ledger, topic)).await }.boxed()
        };
        Self { hub: Hub::start(stop.clone(), look), stop }
    }
}

impl Console {
    fn listen(&self, visitor: &Visitor, topic: &Topic) -> Result<Response, Fault> {
        let seat = self.live.hub.join(topic).ok_or(Fault::Crowded)?;
        let signed_out = visitor.session.as_ref().map(|session| self.sessions.until_ended(session));
        let over = async move {
            match signed_out {
                Some(signed_out) => signed_out.await,
                None => std::future::pending().await,
            }
        };
        let events = listener::events(seat, visitor.may_act, over, self.live.stop.clone());
        // Proxies that buffer answers would keep this one for ever.
        let headers = [("x-accel-buffering", "no")];
        Ok((headers, Sse::new(events).keep_alive(KeepAlive::default())).into_response())
    }
}

/// What a look shows, or why it shows nothing. It ends: others wait for its place.
pub(super) async fn seen(ledger: &Ledger, page: impl Future<Output = Result<Views, Fault>>) -> Seen {
    in_time(ledger, page).await.map_err(lost)
}

fn lost(fault: Fault) -> Lost {
    match fault {
        Fault::Missing(_) | Fault::Unreadable(_) => Lost::Gone,
        _ => Lost::Away,
    }
}

async fn read(ledger: &Ledger, topic: Topic) -> Result<Views, Fault> {
    match topic {
        Topic::Overview => overview::page(ledger, Frame::watched()).await?.views(),
        Topic::Jobs(asked) => jobs::page(ledger, Frame::watched(), asked).await?.views(),
        Topic::Job(id) => job::page(ledger, Frame::watched(), id).await?.views(),
        Topic::Replays => replays::all(ledger, Frame::watched()).await?.views(),
        Topic::Replay(id, after) => replays::page(ledger, Frame::watched(), &id, after).await?.views(),
        Topic::Webhooks(which) => webhooks::page(ledger, Frame::watched(), which).await?.views(),
        Topic::Endpoint(which) => endpoint::page(ledger, Frame::watched(), which).await?.views(),
        Topic::Sessions(of) => sessions::page(ledger, Frame::watched(), of).await?.views(),
        Topic::Delivery(which) => delivery::page(ledger, Frame::watched(), which).await?.views(),
    }
}

/// Gives a template that has a frame and a block `live` its method `views`: its live part.
macro_rules! live_page {
    ($page:ty) => {
        impl $page {
            /// Its live part.
            pub(super) fn views(
                mut self,
            ) -> Result<$crate::console::live::Views, $crate::console::fault::Fault> {
                $crate::console::live::views(
                    &mut self,
                    |page| &mut page.frame,
                    |page| page.as_live().render(),
                )
            }
        }
    };
}
pub(super) use live_page;

/// Writes the live part of a page twice: for those who may read, and for those who may act.
///
/// # Errors
/// When it cannot be written.
pub(super) fn views<P>(
    page: &mut P,
    frame: impl Fn(&mut P) -> &mut Frame,
    write: impl Fn(&P) -> askama::Result<String>,
) -> Result<Views, Fault> {
    let mut written = |may_act| {
        frame(page).watch(may_act);
        Ok::<_, Fault>(Arc::from(write(page)?))
    };
    Ok(Views { reader: written(false)?, operator: written(true)? })
}

/// Everything below `/console/live`.
pub(super) fn routes() -> Router<Console> {
    type Answer = Result<Response, Fault>;
    type Desk = State<Console>;
    Router::new()
        .route(
            "/overview",
            get(async |visitor: Visitor, State(desk): Desk| -> Answer {
                desk.listen(&visitor, &Topic::Overview)
            }),
        )
        .route(
            "/jobs",
            get(async |visitor: Visitor, State(desk): Desk, Query(asked): Query<Asked>| -> Answer {
                desk.listen(&visitor, &Topic::Jobs(asked))
            }),
        )
        .route(
            "/jobs/{id}",
            get(async |visitor: Visitor, State(desk): Desk, Path(id): Path<String>| -> Answer {
                desk.listen(&visitor, &Topic::Job(id))
            }),
        )
        .route(
            "/replays",
            get(async |visitor: Visitor, State(desk): Desk| -> Answer {
                desk.listen(&visitor, &Topic::Replays)
            }),
        )
        .route(
            "/sessions",
            get(async |visitor: Visitor, State(desk): Desk, Query(whose): Query<Of>| -> Answer {
                desk.listen(&visitor, &Topic::Sessions(whose))
            }),
        )
        .route("/replays/{id}", get(replay))
        .route("/webhooks", get(async |v: Visitor, d: Desk, w: Query<Which>| of(v, d, w, Topic::Webhooks)))
        .route(
            "/webhooks/endpoint",
            get(async |v: Visitor, d: Desk, w: Query<Which>| of(v, d, w, Topic::Endpoint)),
        )
        .route(
            "/webhooks/delivery",
            get(async |v: Visitor, d: Desk, w: Query<Which>| of(v, d, w, Topic::Delivery)),
        )
}

async fn replay(
    visitor: Visitor,
    State(desk): State<Console>,
    Path(id): Path<String>,
    Query(place): Query<Place>,
) -> Result<Response, Fault> {
    desk.listen(&visitor, &Topic::Replay(id, place.after))
}

fn of(
    visitor: Visitor,
    State(desk): State<Console>,
    Query(which): Query<Which>,
    topic: fn(Which) -> Topic,
) -> Result<Response, Fault> {
    desk.listen(&visitor, &topic(which))
}
