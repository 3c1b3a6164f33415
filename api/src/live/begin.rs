//! How a session begins.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use live::{Action, CloseCode, Session, Timing};
use records::ConversationId;
use secrecy::SecretString;
use speech::{Decoder, Events};
use store::NewLive;
use tokio::{sync::mpsc, task::JoinSet, time::Instant};

use super::{
    Asks,
    actor::{Actor, PING},
    ear::Ear,
    operate::Operator,
    pictures::Pictures,
    usage::Taken,
};
use crate::{caller::Caller, registry::Seat, state::AppState};

/// Segments are stored and shown at most so often, in seconds.
const APART: f64 = 0.6;
/// How often a conversation is renewed while speech goes on, in seconds.
const RENEW: f64 = 10.0;
/// The longest conversation, in seconds.
const LONGEST: f64 = 14_400.0;

/// What a session begins with: the caller is known, and the place is taken.
pub(crate) struct Start {
    pub(crate) state: AppState,
    pub(crate) caller: Caller,
    /// The look-up hash of the key.
    pub(crate) key: [u8; 32],
    pub(crate) asks: Asks,
    pub(crate) own_key: Option<SecretString>,
    /// The user's jobs run with the user's own keys only.
    pub(crate) requires_own_key: bool,
    /// Names that are likely to be said.
    pub(crate) vocabulary: Vec<String>,
    pub(crate) seat: Seat,
}

impl Actor {
    /// Begins the session: its recognizer is opened, and its first operation is asked for.
    pub(crate) fn begin(start: Start) -> (Self, Option<Events>, Vec<Action>) {
        let Start { state, caller, key, asks, own_key, requires_own_key, vocabulary, seat } = start;
        let stop = seat.stop();
        let timing = Timing {
            silence: f64::from(asks.silence),
            longest: LONGEST,
            apart: APART,
            renew: RENEW.min(f64::from(asks.silence) / 2.0),
        };
        let (session, actions) = Session::begin(timing);
        let engine = match asks.client_stt {
            true => speech::Settings::client_engine(),
            false => Arc::clone(&state.settings.live.engine),
        };
        let can = engine.capabilities();
        let uses_own_key = own_key.is_some() && can.own_key && can.audio;
        let audio_refused = can.audio && requires_own_key && !uses_own_key;
        let opened = match audio_refused {
            true => None,
            false => Some(engine.open(speech::Session {
                language: asks.language,
                channels: asks.format.channels(),
                vocabulary,
                own_key: own_key.clone().filter(|_| uses_own_key),
            })),
        };
        let taken = Taken::new(engine.name(), uses_own_key, state.settings.live.speech_price);
        let now = Instant::now();
        let key_checked_every = state.settings.live.key_checked_every;
        let opens = NewLive {
            fresh_id: ConversationId::new(""),
            wanted_id: asks.wanted_id,
            device_id: asks.device_id,
            platform: asks.platform,
            language: asks.language_tag,
            source: asks.source,
            timeout: asks.silence,
            process: state.settings.live.process.clone(),
            is_ending: Arc::default(),
        };
        let operator = Operator {
            ledger: state.ledger.clone(),
            user: caller.user.clone(),
            ids: Arc::clone(&state.ids),
            keyed: Arc::clone(&state.settings.keyed),
            own_key,
            opens,
        };
        let pictures = Pictures::new(&state.budget, &caller.user);
        let mut actor = Self {
            state,
            account: caller.account,
            operator: Arc::new(operator),
            key,
            client_stt: asks.client_stt,
            audio_refused,
            under_service_key: can.audio && !uses_own_key,
            seat,
            stop,
            session,
            began: now,
            current: None,
            ear: None,
            taken,
            recognizes_audio: can.audio && !audio_refused,
            engine_name: engine.name(),
            pictures,
            speakers: HashMap::new(),
            todo: VecDeque::new(),
            outbox: VecDeque::new(),
            close: None,
            close_sent: false,
            is_over: false,
            is_stopping: false,
            paused_until: now,
            stops_at: None,
            last_frame: now,
            next_ping: now + PING,
            next_key: now + key_checked_every,
            next_parked: now,
            flushes: Vec::new(),
            flush_until: None,
            ending: None,
            commands: mpsc::channel(8),
            followed: mpsc::channel(8),
            followers: JoinSet::new(),
            tried: Vec::new(),
        };
        let events = match opened {
            Some(Ok((recognizer, events))) => {
                let decoder = Decoder::new(asks.format);
                let audio = &actor.state.settings.live.audio;
                let tap = audio.open(&actor.operator.user, decoder.source_rate());
                actor.ear = Some(Ear::new(decoder, tap, recognizer));
                Some(events)
            }
            Some(Err(speech::BadKey)) => {
                actor.leave(CloseCode::OwnKey);
                None
            }
            None => None,
        };
        (actor, events, actions)
    }
}
