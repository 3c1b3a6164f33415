//! A stretch of speech by one speaker.

/// A transcript segment as it is kept (spec, "Transcript segment").
#[derive(Clone, Debug, PartialEq, sqlx::FromRow)]
pub struct Segment {
    /// The client's id of it, when one was given.
    #[sqlx(rename = "segment_id")]
    pub id: Option<String>,
    /// What was said.
    #[sqlx(rename = "content")]
    pub text: String,
    /// The speaker's label as sent, for example `SPEAKER_00`.
    pub speaker: Option<String>,
    /// The speaker's number (DECISIONS §3, "speaker").
    pub speaker_id: Option<i32>,
    /// Said by the person whose conversation it is.
    pub is_user: bool,
    /// A person the user knows.
    pub person_id: Option<String>,
    /// Seconds from the start of the conversation.
    #[sqlx(rename = "start_seconds")]
    pub start: f64,
    /// Seconds from the start of the conversation; never before `start`.
    #[sqlx(rename = "end_seconds")]
    pub end: f64,
}
