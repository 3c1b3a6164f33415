//! What comes in: frames of the client, and events of the recognizer.

use std::sync::Arc;

use axum::extract::ws::Message;
use futures::future::BoxFuture;
use live::{
    Action, ClientFrame, CloseCode, Event, Interim, ServerFrame, ServiceStatus, StatusFrame, Utterance,
};
use records::ConversationId;
use speech::{Draft, Reason, Status, Undecodable};
use store::{AssignedSpeaker, LiveLost, PhotoRefusal};
use tokio::time::{Duration, Instant};

use super::{
    super::{
        LARGEST_FRAME,
        ear::Ear,
        operate::{Current, Operator},
        pictures::Whole,
    },
    Actor, BUSY,
};

/// Binary frames up to this size only keep the socket open.
const KEEP_ALIVE: usize = 2;
/// A client that sends no audio for this long in the middle of speech has stopped: a button was let go, or it sends no silence.
const STOPPED: Duration = Duration::from_millis(1_500);
/// Who said what was assigned to this is the user of the session.
const THE_USER: &str = "user";
/// Speakers whose names are given to what the engine recognizes later.
const MOST_NAMED: usize = 1_000;

/// What came of it.
pub(super) enum Done {
    /// A picture was stored in this conversation.
    Pictured(String),
    /// This conversation has ended: it is to be done in the next one.
    Again(Todo, ConversationId),
    /// Who a speaker of this conversation is was stored: the speaker's number, and the person.
    Assigned(ConversationId, i32, Option<String>),
    /// Nothing that the machine has to know.
    Nothing,
}

/// Work outside of the machine's operations, one after the other.
pub(crate) enum Todo {
    /// Store a picture.
    Picture(Arc<Whole>),
    /// Note who a speaker is.
    Assign(AssignedSpeaker),
}

impl Actor {
    /// Takes a frame of the client.
    pub(super) fn take(&mut self, message: Message) -> Vec<Action> {
        match message {
            Message::Binary(frame) if frame.len() > LARGEST_FRAME => self.too_big(),
            Message::Text(text) if text.len() > LARGEST_FRAME => self.too_big(),
            Message::Binary(frame) if frame.len() <= KEEP_ALIVE => {
                self.state.metrics.live.frame("keep_alive");
                Vec::new()
            }
            Message::Binary(frame) => self.take_audio(&frame),
            Message::Text(text) => match ClientFrame::parse(&text) {
                Ok(frame) => self.take_frame(frame),
                Err(live::Malformed) => {
                    self.state.metrics.live.frame("malformed");
                    Vec::new()
                }
            },
            Message::Ping(_) | Message::Pong(_) | Message::Close(_) => Vec::new(),
        }
    }

    fn too_big(&mut self) -> Vec<Action> {
        self.leave(CloseCode::TooBig);
        Vec::new()
    }

    fn take_audio(&mut self, frame: &[u8]) -> Vec<Action> {
        if self.audio_refused {
            self.status(StatusFrame {
                retryable: Some(false),
                reason: Some("own_key_required"),
                ..StatusFrame::of(ServiceStatus::SttFailed)
            });
            self.leave(CloseCode::OwnKey);
            return Vec::new();
        }
        let now = self.since_beginning();
        let Some(ear) = &mut self.ear else { return Vec::new() };
        let heard = match ear.hear(frame, now) {
            Ok(heard) => heard,
            Err(undecodable) => {
                self.state.metrics.live.frame("undecodable");
                if undecodable == Undecodable::Stream {
                    self.leave(CloseCode::Undecodable);
                }
                return Vec::new();
            }
        };
        self.state.metrics.live.frame("audio");
        self.state.metrics.live.audio_seconds.inc_by(heard.until - heard.from);
        self.paused_until = Instant::now() + heard.wait;
        self.stops_at = heard.speaking.then(|| self.paused_until + STOPPED);
        let mut actions = self.on(Event::Audio(heard.from, heard.until));
        if heard.speech {
            actions.extend(self.on(Event::Speech));
        }
        actions
    }

    fn take_frame(&mut self, frame: ClientFrame) -> Vec<Action> {
        let count = |kind| self.state.metrics.live.frame(kind);
        match frame {
            ClientFrame::SuggestedTranscript { .. } if !self.client_stt && self.recognizes_audio => {
                count("ignored")
            }
            ClientFrame::SuggestedTranscript { mut segments, unusable } => {
                count("suggested_transcript");
                if unusable > 0 {
                    count("malformed");
                }
                for said in segments.iter_mut().filter(|said| !said.own_id) {
                    said.id = self.fresh_id();
                }
                return self.on(Event::Said { utterances: segments, by_client: true });
            }
            ClientFrame::SpeakerAssigned { speaker_id, person_id, segment_ids } => {
                count("speaker_assigned");
                let person_id = Some(person_id).filter(|person| person != THE_USER);
                self.todo.push_back(Todo::Assign(AssignedSpeaker { speaker_id, person_id, segment_ids }));
            }
            ClientFrame::ImageChunk { id, index, total, data } => {
                count("image_chunk");
                let now = Instant::now().into_std();
                match self.pictures.take((id, index, total), data, now) {
                    Ok(Some(whole)) => {
                        self.send(&ServerFrame::PhotoProcessing { photo_id: &whole.id });
                        self.todo.push_back(Todo::Picture(Arc::new(whole)));
                    }
                    Ok(None) => {}
                    Err(_) => self.state.metrics.live.frame("malformed"),
                }
            }
            ClientFrame::Auth { .. } => count("ignored"),
            ClientFrame::Unknown => count("unknown"),
        }
        Vec::new()
    }

    /// Takes an event of the recognizer.
    pub(super) fn heard(&mut self, event: speech::Event) -> Vec<Action> {
        match event {
            speech::Event::Status(status) => self.engine_is(status),
            speech::Event::Final(drafts) => {
                let utterances = drafts.into_iter().map(|draft| self.of_engine(draft)).collect();
                return self.on(Event::Said { utterances, by_client: false });
            }
            speech::Event::Flushed => {
                // A request may have asked for it before the end did.
                return match self.ear.as_mut().is_none_or(Ear::flushed) {
                    true => self.finished(),
                    false => self.flushed(),
                };
            }
            speech::Event::Interim(drafts) => self.show_interim(drafts),
            // The engine's meter has counted it.
            speech::Event::Gap(gap) => {
                let (seconds, reason) = ((gap.end - gap.start).max(0.0), gap.reason.as_str());
                self.send(&ServerFrame::SpeechGap { seconds, reason });
            }
        }
        Vec::new()
    }

    /// Shows words that may still change, unless the client is behind: the next ones replace them.
    fn show_interim(&mut self, drafts: Vec<Draft>) {
        if self.outbox.len() < BUSY {
            let interim = |draft: Draft| Interim { text: draft.text, speaker: label(draft.speaker) };
            let segments: Vec<Interim> = drafts.into_iter().map(interim).collect();
            self.send(&ServerFrame::InterimTranscript { segments: &segments });
        }
    }

    fn of_engine(&self, draft: Draft) -> Utterance {
        let assigned = self.speakers.get(&i32::from(draft.speaker));
        Utterance {
            id: self.fresh_id(),
            own_id: false,
            text: draft.text.replace('\0', ""),
            speaker: label(draft.speaker),
            is_user: assigned.is_some_and(Option::is_none),
            person_id: assigned.cloned().flatten(),
            start: draft.start,
            end: draft.end,
            provider: Some(self.engine_name.to_owned()),
        }
    }

    fn engine_is(&mut self, status: Status) {
        let of = |status, retryable, reason: Option<Reason>| StatusFrame {
            retryable,
            reason: reason.map(Reason::as_str),
            ..StatusFrame::of(status)
        };
        let frame = match status {
            Status::Connecting => of(ServiceStatus::SttInitiating, None, None),
            Status::Ready => of(ServiceStatus::Ready, None, None),
            Status::Failing(reason) => of(ServiceStatus::SttFailed, Some(true), Some(reason)),
            Status::Failed(reason) => of(ServiceStatus::SttFailed, Some(false), Some(reason)),
        };
        self.status(StatusFrame { provider: Some(self.engine_name.to_owned()), ..frame });
        match status {
            // The client may send transcripts of its own.
            Status::Failed(Reason::NoSpeechEngine) => self.status(StatusFrame::of(ServiceStatus::Ready)),
            Status::Failed(Reason::OwnKeyRejected) => self.leave(CloseCode::OwnKey),
            Status::Failed(_) => self.leave(CloseCode::Failed),
            Status::Connecting | Status::Ready | Status::Failing(_) => {}
        }
    }

    fn fresh_id(&self) -> String {
        self.state.ids.fresh().to_string()
    }

    /// Begins what is to be done next beside the machine's operations; it may have to be done again in another
    /// conversation.
    pub(super) fn next_todo(&mut self) -> Option<BoxFuture<'static, Done>> {
        let current = self.current.clone()?;
        let todo = self.todo.pop_front()?;
        let operator = Arc::clone(&self.operator);
        Some(Box::pin(async move { todo.carry(operator, current).await }))
    }

    /// Something beside the machine's operations is done, or is to be done again: then the conversation has ended.
    pub(super) fn done(&mut self, done: Done) -> Vec<Action> {
        let (again, ended) = match done {
            Done::Nothing => return Vec::new(),
            Done::Pictured(id) => return self.on(Event::Pictured(id)),
            Done::Assigned(id, speaker_id, person_id) => {
                self.remember_speaker(&id, speaker_id, person_id);
                return Vec::new();
            }
            Done::Again(again, ended) => (again, ended),
        };
        self.todo.push_front(again);
        // The machine may have opened another one meanwhile.
        match self.current.take_if(|current| current.id == ended) {
            Some(ended) => {
                self.note_taken(ended.clone());
                self.on(Event::AdmittedElsewhere(ended.id.as_str().to_owned()))
            }
            None => Vec::new(),
        }
    }

    /// What this speaker says from now on in this conversation is that person's.
    fn remember_speaker(
        &mut self,
        conversation: &ConversationId,
        speaker_id: i32,
        person_id: Option<String>,
    ) {
        let is_current = self.current.as_ref().is_some_and(|current| current.id == *conversation);
        let has_room = self.speakers.len() < MOST_NAMED || self.speakers.contains_key(&speaker_id);
        if is_current && has_room {
            self.speakers.insert(speaker_id, person_id);
        }
    }
}

fn label(speaker: u16) -> String {
    format!("SPEAKER_{speaker:02}")
}

impl Todo {
    async fn carry(self, operator: Arc<Operator>, current: Current) -> Done {
        match self {
            Self::Picture(whole) => {
                let conversation = current.id.clone();
                match operator.picture(current, Arc::clone(&whole)).await {
                    Some(Ok(())) => Done::Pictured(conversation.as_str().to_owned()),
                    Some(Err(PhotoRefusal::Lost(LiveLost::Ended))) => {
                        Done::Again(Self::Picture(whole), conversation)
                    }
                    Some(Err(_)) | None => Done::Nothing,
                }
            }
            // Speakers of another conversation are others.
            Self::Assign(assigned) => {
                let (conversation, speaker_id) = (current.id.clone(), assigned.speaker_id);
                let person_id = assigned.person_id.clone();
                match operator.assign(current, assigned).await {
                    Some(Ok(true)) => Done::Assigned(conversation, speaker_id, person_id),
                    // A person whom the user does not know, or a conversation that is over.
                    Some(Ok(false) | Err(_)) | None => Done::Nothing,
                }
            }
        }
    }
}

/// Why a socket cannot be read any more: a frame over the limit, an invalid one, or the client is gone.
pub(super) fn broken(error: axum::Error) -> CloseCode {
    use tungstenite::{Error, error::ProtocolError};
    match error.into_inner().downcast_ref::<Error>() {
        Some(Error::Capacity(_)) => CloseCode::TooBig,
        Some(Error::Protocol(ProtocolError::ResetWithoutClosingHandshake)) => CloseCode::ByClient,
        Some(Error::Utf8(_) | Error::Protocol(_)) => CloseCode::Unreadable,
        _ => CloseCode::ByClient,
    }
}
