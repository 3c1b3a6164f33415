//! The text frames of a live socket (`docs/live.md`).

use names::whole_characters;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Utterance;

/// A speaker may be named for so many segments in one frame.
const MOST_ASSIGNED: usize = 500;
/// The numbers of speakers that can be named.
const SPEAKERS: std::ops::RangeInclusive<i32> = 0..=65_535;
/// Characters of a label, an id or a name.
const LONGEST_LABEL: usize = 128;
/// Later than any talk ends, also for clients that count from the unix epoch.
const LATEST_SECOND: f64 = 1e10;

/// A text frame that a client sent.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientFrame {
    /// `suggested_transcript`: the client recognizes speech itself.
    SuggestedTranscript {
        /// Checked: with words, and with times on the client's clock that can be times. The id of one that has none of its own is empty.
        segments: Vec<Utterance>,
        /// How many segments of the frame had neither.
        unusable: usize,
    },
    /// `speaker_assigned`: who a speaker is.
    SpeakerAssigned {
        /// The speaker's number.
        speaker_id: i32,
        /// One of the user's people, or `user` for the user of the session.
        person_id: String,
        /// Segments that were that speaker's.
        segment_ids: Vec<String>,
    },
    /// `image_chunk`: a part of a picture, base64.
    ImageChunk {
        /// Which picture.
        id: String,
        /// Which part, from 0.
        index: usize,
        /// How many parts there are.
        total: usize,
        /// The part.
        data: String,
    },
    /// `auth`: the key of a browser's session, in the first frame.
    Auth {
        /// The developer key.
        token: String,
        /// The user's own key for the model provider.
        openai: Option<String>,
    },
    /// Of a type that is not known here.
    Unknown,
}

/// A text frame that is no JSON object, or that lacks what its type needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

#[derive(Deserialize)]
struct Typed {
    r#type: String,
}

#[derive(Deserialize)]
struct Suggested {
    segments: Vec<Value>,
    #[serde(default)]
    stt_provider: Value,
}

#[derive(Deserialize)]
struct Assigned {
    speaker_id: i32,
    person_id: String,
    #[serde(default)]
    segment_ids: Vec<String>,
}

#[derive(Deserialize)]
struct Chunk {
    id: String,
    index: usize,
    total: usize,
    data: String,
}

#[derive(Deserialize)]
struct Auth {
    token: String,
    byok: Option<Byok>,
}

#[derive(Deserialize)]
struct Byok {
    openai: Option<String>,
}

impl ClientFrame {
    /// Reads a text frame.
    ///
    /// # Errors
    /// [`Malformed`]; the frame's content is not in it.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        Self::read(text).or_else(|Malformed| Self::read(&whole_characters(text)))
    }

    fn read(text: &str) -> Result<Self, Malformed> {
        let Typed { r#type } = read(text)?;
        Ok(match r#type.as_str() {
            "suggested_transcript" => {
                let Suggested { segments, stt_provider } = read(text)?;
                let sent = segments.len();
                let provider = stt_provider.as_str().filter(|name| is_label(name)).unwrap_or("client");
                let segments: Vec<_> = segments.iter().filter_map(|said| usable(said, provider)).collect();
                Self::SuggestedTranscript { unusable: sent - segments.len(), segments }
            }
            "speaker_assigned" => {
                let Assigned { speaker_id, person_id, segment_ids } = read(text)?;
                let are_ids = segment_ids.len() <= MOST_ASSIGNED && segment_ids.iter().all(|id| is_label(id));
                if !SPEAKERS.contains(&speaker_id) || !is_label(&person_id) || !are_ids {
                    return Err(Malformed);
                }
                Self::SpeakerAssigned { speaker_id, person_id, segment_ids }
            }
            "image_chunk" => {
                let Chunk { id, index, total, data } = read(text)?;
                if !is_label(&id) || index >= total {
                    return Err(Malformed);
                }
                Self::ImageChunk { id, index, total, data }
            }
            "auth" => {
                let Auth { token, byok } = read(text)?;
                Self::Auth { token, openai: byok.and_then(|keys| keys.openai) }
            }
            _ => Self::Unknown,
        })
    }
}

fn read<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, Malformed> {
    serde_json::from_str(text).map_err(|_| Malformed)
}

/// A segment with words and with times that can be times; `None` for any other. Words are not lost for their labels: a long
/// speaker's is cut, and one that cannot be one, or is null, counts as none.
fn usable(said: &Value, provider: &str) -> Option<Utterance> {
    // PostgreSQL's text holds no zero byte.
    let text = said.get("text")?.as_str()?.replace('\0', "");
    let text = text.trim();
    let (start, end) = (said.get("start")?.as_f64()?, said.get("end")?.as_f64()?);
    let label = |name: &str| said.get(name).and_then(Value::as_str);
    let id = |name: &str| label(name).filter(|id| is_label(id)).map(str::to_owned);
    let cut = |label: &str| label.replace('\0', "").chars().take(LONGEST_LABEL).collect::<String>();
    let speaker = label("speaker").map(cut).filter(|label| !label.is_empty());
    let number = said.get("speaker_id").and_then(Value::as_i64).unwrap_or_default();
    let times = [start, end].iter().all(|second| (0.0..=LATEST_SECOND).contains(second));
    let is_usable = times && end >= start && !text.is_empty();
    let own = id("id");
    is_usable.then(|| Utterance {
        own_id: own.is_some(),
        id: own.unwrap_or_default(),
        text: text.to_owned(),
        speaker: speaker.unwrap_or_else(|| format!("SPEAKER_{number:02}")),
        is_user: said.get("is_user").and_then(Value::as_bool).unwrap_or(false),
        person_id: id("person_id"),
        start,
        end,
        provider: Some(provider.to_owned()),
    })
}

fn is_label(text: &str) -> bool {
    (1..=LONGEST_LABEL).contains(&text.chars().count()) && !text.contains('\0')
}

/// A frame that the service sends.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs, reason = "where a name says it all")]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ServerFrame<'f> {
    /// Text `ping`.
    #[serde(skip)]
    Ping,
    /// A JSON array of segments; one that grew comes again under its id.
    #[serde(skip)]
    Segments(&'f [Shown]),
    /// Words that may still change, which replace the ones before.
    InterimTranscript { segments: &'f [Interim] },
    /// So many seconds of speech were given up, and why.
    SpeechGap { seconds: f64, reason: &'static str },
    /// What the service is about.
    ServiceStatus(&'f StatusFrame),
    /// The conversation that the session fills from now on.
    ConversationSession { conversation_id: &'f str, status: &'static str },
    /// With the conversation as the developer interface shows it.
    MemoryProcessingStarted { memory: &'f Value },
    /// With the conversation as the developer interface shows it.
    MemoryCreated { memory: &'f Value, messages: [(); 0] },
    /// The user's newest completed conversation.
    LastMemory { memory_id: &'f str },
    /// Of a browser's session that was let in.
    AuthResponse { success: bool },
    /// All parts of a picture came.
    PhotoProcessing { photo_id: &'f str },
    /// The picture's id, as the client sent it, and what is on it; before the `memory_created` of its conversation.
    PhotoDescribed { photo_id: &'f str, description: &'f str },
}

/// A segment in a frame.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shown {
    /// Its id in the conversation.
    pub id: String,
    /// What was said.
    pub text: String,
    /// The speaker's label.
    pub speaker: String,
    /// The speaker's number in the conversation.
    pub speaker_id: Option<i32>,
    /// Said by the user of the session.
    pub is_user: bool,
    /// One of the user's people.
    pub person_id: Option<String>,
    /// Seconds since the conversation began.
    pub start: f64,
    /// Seconds since the conversation began.
    pub end: f64,
    /// Who recognized it.
    pub stt_provider: Option<String>,
}

/// Words that may still change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Interim {
    /// What is understood so far.
    pub text: String,
    /// The speaker's label.
    pub speaker: String,
}

/// What `service_status` says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StatusFrame {
    /// The state.
    pub status: ServiceStatus,
    /// The same in words.
    pub status_text: &'static str,
    /// Which speech engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Whether it is tried again by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    /// Why, from a closed list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
}

/// The states of a session's service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ServiceStatus {
    /// The session was let in.
    Initiating,
    /// Its conversation is looked for.
    InProgressConversationsProcessing,
    /// The speech engine is being set up.
    SttInitiating,
    /// Speech and transcripts are taken.
    Ready,
    /// The speech engine failed.
    SttFailed,
    /// The process is being replaced: connect again.
    Restarting,
}

impl ServiceStatus {
    const fn text(self) -> &'static str {
        match self {
            Self::Initiating => "Service Starting",
            Self::InProgressConversationsProcessing => "Looking for the Conversation in Progress",
            Self::SttInitiating => "STT Service Starting",
            Self::Ready => "Ready",
            Self::SttFailed => "STT Service Failed",
            Self::Restarting => "Service Restarting",
        }
    }
}

impl StatusFrame {
    /// A state with nothing else to be said.
    pub const fn of(status: ServiceStatus) -> Self {
        Self { status, status_text: status.text(), provider: None, retryable: None, reason: None }
    }
}

impl ServerFrame<'_> {
    /// The text of the frame.
    pub fn text(&self) -> String {
        let text = match self {
            Self::Ping => return "ping".to_owned(),
            Self::Segments(segments) => serde_json::to_string(segments),
            event => serde_json::to_string(event),
        };
        text.unwrap_or_default()
    }
}

names::named! {
    /// Why the service closes a socket: the reason in the close frame, and the label of the metric.
    CloseCode {
        /// 1000: the client closed it.
        ByClient = "client",
        /// 1001: no frame for 90 s.
        Idle = "idle",
        /// 1001: another socket took the conversation over.
        Superseded = "superseded",
        /// 1002: an invalid frame (RFC 6455), or text that is not UTF-8.
        Unreadable = "invalid_frame",
        /// 1003: audio that cannot be decoded.
        Undecodable = "undecodable_audio",
        /// 1008: the key, the user or the language.
        Refused = "refused",
        /// 1008: the user's budget is used up (`listen users set --limits`).
        OverBudget = "over_budget",
        /// 1009: a frame over the limit.
        TooBig = "frame_too_big",
        /// 1011: the speech engine failed for good, or the service broke.
        Failed = "failed",
        /// 1012: the process is being replaced.
        Restarting = "restarting",
        /// 1013: too many sessions.
        Busy = "busy",
        /// 4003: the user's own key was refused, or is missing.
        OwnKey = "own_key",
    }
}

impl CloseCode {
    /// The number in the close frame.
    pub const fn number(self) -> u16 {
        match self {
            Self::ByClient => 1000,
            Self::Idle | Self::Superseded => 1001,
            Self::Unreadable => 1002,
            Self::Undecodable => 1003,
            Self::Refused | Self::OverBudget => 1008,
            Self::TooBig => 1009,
            Self::Failed => 1011,
            Self::Restarting => 1012,
            Self::Busy => 1013,
            Self::OwnKey => 4003,
        }
    }
}
