//! Beginning a turn, and following it.

use std::sync::Arc;

use assistant::{AppTools, Context, Converse, Event, Limits, Listener, Past, Ports, Speaker, Turn};
use chrono_tz::Tz;
use db::TurnLease;
use records::{Timestamp, UserId};
use secrecy::SecretString;
use serde_json::Value;
use store::{BegunTurn, ChatMessage, NewTurn};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tracing::Instrument;

use super::{
    journal::{LEASE, TurnRow},
    toolbox::UserData,
};
use crate::{AppState, Caller, Code, Error, UserApps, shapes, state::Reservation};

/// Earlier messages that an engine is shown.
const HISTORY: i64 = 20;
/// Their characters, about 8,000 tokens.
const HISTORY_LENGTH: usize = 32_000;
/// The characters of a transcript that an engine is shown.
const TRANSCRIPT: usize = 15_000;

/// The tools of apps take at most this part of what a user may hold in memory, for one turn.
const TOOLS_PART: usize = 4;

/// A message to be answered.
pub(crate) struct Message {
    pub(crate) text: String,
    /// The client's own id of it.
    pub(crate) id: Option<String>,
    pub(crate) app_id: Option<String>,
    /// The user's own model key.
    pub(crate) key: Option<SecretString>,
}

/// What came of a message.
pub(crate) enum Begun {
    /// A turn runs: its events, and the reply's id. The last event is that it is over.
    Runs(UnboundedReceiver<Event>, Reply),
    /// It was sent before: what came of it, as far as that is known.
    Known(Box<shapes::Message>),
}

/// The reply of a turn that runs.
pub(crate) struct Reply {
    pub(crate) id: String,
    pub(crate) created_at: Timestamp,
    pub(crate) app_id: Option<String>,
    pub(crate) app_name: Option<String>,
}

/// The chat of an app, or the main one.
pub(crate) fn thread(app_id: Option<&str>) -> &str {
    app_id.unwrap_or("main")
}

/// Stores a message and begins the turn that answers it. The turn belongs to the process: it goes on when no client
/// follows it.
pub(crate) async fn begin(state: &AppState, caller: &Caller, message: Message) -> Result<Begun, Error> {
    let settings = &state.settings.chat;
    // The user is read first: apps that cannot be read count as none, and without the database the answer is 503, not 404.
    let user =
        state.ledger.store().user(&caller.user).await?.ok_or(Error::Refused(Code::NotAuthenticated))?;
    let room = caller.account.most() / TOOLS_PART;
    let apps = settings.apps.installed(&caller.user, message.app_id.as_deref(), room).await;
    let UserApps { names, tools, bytes } = apps;
    let held = caller.account.hold(bytes)?;
    let app_name = match &message.app_id {
        Some(app) => Some(names.get(app).cloned().ok_or(Error::NotFound("App"))?),
        None => None,
    };
    let engine: Arc<dyn Converse> = match &message.key {
        Some(key) => (settings.with_key)(key).unwrap_or_else(|| Arc::clone(&settings.embedded)),
        None if user.requires_byok => Arc::clone(&settings.embedded),
        None => Arc::clone(&settings.engine),
    };
    let place = settings.chat.enter(&caller.user, settings.most).ok_or(Error::Refused(Code::NoTurnFree))?;
    let thread = thread(message.app_id.as_deref()).to_owned();
    let new = NewTurn {
        thread: thread.clone(),
        app_id: message.app_id.clone(),
        request_id: message.id,
        question_id: state.ids.fresh().to_string(),
        reply_id: state.ids.fresh().to_string(),
        text: message.text,
        lease: LEASE,
    };
    let now = match state.ledger.store().begin_turn(&caller.user, &new).await? {
        BegunTurn::Begun(now) => now,
        BegunTurn::Repeated(reply) => return Ok(Begun::Known(Box::new(shapes::message(&reply, &names)))),
        BegunTurn::Busy(seconds) => return Err(Error::Later(Code::TurnRunning, seconds.min(5))),
    };
    let (events, followed) = unbounded_channel();
    let reply = Reply {
        id: new.reply_id.clone(),
        created_at: now + chrono::TimeDelta::microseconds(1),
        app_id: message.app_id.clone(),
        app_name,
    };
    let work = Work {
        state: state.clone(),
        user: caller.user.clone(),
        zone: user.time_zone.parse().unwrap_or(Tz::UTC),
        user_name: user.name,
        data: UserData::of(state, caller, user.language, TRANSCRIPT),
        engine,
        apps: tools,
        _held: held,
        thread,
        new,
        now,
        events,
    };
    let stop = place.stop();
    tokio::spawn(
        async move {
            work.run(stop.cancelled()).await;
            drop(place);
        }
        .in_current_span(),
    );
    Ok(Begun::Runs(followed, reply))
}

/// A turn in progress.
struct Work {
    state: AppState,
    user: UserId,
    zone: Tz,
    user_name: Option<String>,
    data: UserData,
    engine: Arc<dyn Converse>,
    apps: Arc<dyn AppTools>,
    /// The memory of the apps' tools.
    _held: Option<Reservation>,
    thread: String,
    new: NewTurn,
    now: Timestamp,
    events: UnboundedSender<Event>,
}

impl Work {
    async fn run(self, stop: impl Future<Output = ()>) {
        let history = self.history().await;
        let lease = TurnLease { user: self.user, reply_id: self.new.reply_id, lease: self.new.lease };
        let turn = Turn {
            context: Context {
                now: self.now,
                zone: self.zone,
                user_name: self.user_name,
                is_first: !history.iter().any(|past| past.speaker == Speaker::Assistant),
            },
            history,
            question: self.new.text,
            ports: Ports {
                engine: self.engine,
                toolbox: Arc::new(self.data.in_turn(lease.clone())),
                apps: self.apps,
                journal: Arc::new(TurnRow { ledger: self.state.ledger, turn: lease }),
                listener: Arc::new(Follower(self.events)),
            },
            limits: Limits::default(),
        };
        turn.run(stop).await;
    }

    /// The thread before this message, oldest first. Where it cannot be read, the turn does without.
    async fn history(&self) -> Vec<Past> {
        let question = Some(self.new.question_id.as_str());
        let ledger = &self.state.ledger;
        let read = ledger.store().chat_messages(&self.user, &self.thread, question, HISTORY);
        // No request's deadline bounds what a turn reads: without one a dead connection keeps the user's place.
        let newest = match ledger.db().in_time(read).await {
            Ok(newest) => newest,
            Err(error) => {
                tracing::warn!(%error, "a turn goes on without its history");
                return Vec::new();
            }
        };
        let mut left = HISTORY_LENGTH;
        let mut history: Vec<Past> = newest
            .into_iter()
            .filter(|message| !message.text.is_empty())
            .map_while(|message| {
                left = left.checked_sub(message.text.chars().count())?;
                let speaker = match message.sender.as_str() {
                    "human" => Speaker::Human,
                    "ai" => Speaker::Assistant,
                    _ => Speaker::App,
                };
                Some(Past { speaker, apps: apps_in(&message), text: message.text })
            })
            .collect();
        history.reverse();
        history
    }
}

/// The apps whose words are in a message: of its own, or of the tools that were called for it.
fn apps_in(message: &ChatMessage) -> Vec<String> {
    if message.sender == "app" {
        return message.app_id.clone().into_iter().collect();
    }
    let tools = message.tools.as_ref().and_then(Value::as_array).into_iter().flatten();
    tools.filter_map(|tool| Some(tool.get("app_id")?.as_str()?.to_owned())).collect()
}

/// A client that may be gone: the turn does not mind.
struct Follower(UnboundedSender<Event>);

impl Listener for Follower {
    fn hear(&self, event: Event) {
        let _ = self.0.send(event);
    }
}

/// A reply that has just ended, as it is shown.
pub(crate) fn ended(reply: &Reply, ended: &assistant::Reply) -> shapes::Message {
    let app = (reply.app_id.clone(), reply.app_name.clone());
    shapes::ended(&reply.id, reply.created_at, app, ended)
}
