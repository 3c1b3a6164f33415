//! What live sessions count. Labels are names of ours.

use live::CloseCode;
use prometheus::{Counter, IntCounter, IntCounterVec, IntGauge, Opts, Registry};

/// The kinds of frames that clients send.
pub(crate) const FRAMES: [&str; 9] = [
    "audio",
    "keep_alive",
    "suggested_transcript",
    "speaker_assigned",
    "image_chunk",
    "unknown",
    "malformed",
    "undecodable",
    "ignored",
];

/// The counters of live sessions; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct LiveMetrics {
    pub(crate) sessions: IntGauge,
    pub(crate) closed: IntCounterVec,
    pub(crate) frames: IntCounterVec,
    pub(crate) audio_seconds: Counter,
    pub(crate) segments: IntCounter,
    pub(crate) conversations: IntCounterVec,
}

impl LiveMetrics {
    pub(crate) fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let sessions = IntGauge::new("listen_live_sessions", "Live sockets that are open in this process.")?;
        let closed = IntCounterVec::new(
            Opts::new("listen_live_closed_total", "Live sockets that were closed, by reason."),
            &["reason"],
        )?;
        let frames = IntCounterVec::new(
            Opts::new("listen_live_frames_total", "Frames that clients of live sockets sent, by kind."),
            &["kind"],
        )?;
        let audio_seconds =
            Counter::new("listen_live_audio_seconds_total", "Seconds of audio that live sockets received.")?;
        let segments =
            IntCounter::new("listen_live_segments_total", "Segments that live sockets stored or let grow.")?;
        let conversations = IntCounterVec::new(
            Opts::new("listen_live_conversations_total", "Live conversations, by what became of them."),
            &["event"],
        )?;
        for code in CloseCode::ALL {
            closed.with_label_values(&[code.as_str()]).inc_by(0);
        }
        for kind in FRAMES {
            frames.with_label_values(&[kind]).inc_by(0);
        }
        for event in ["opened", "resumed", "ended"] {
            conversations.with_label_values(&[event]).inc_by(0);
        }
        registry.register(Box::new(sessions.clone()))?;
        registry.register(Box::new(closed.clone()))?;
        registry.register(Box::new(frames.clone()))?;
        registry.register(Box::new(audio_seconds.clone()))?;
        registry.register(Box::new(segments.clone()))?;
        registry.register(Box::new(conversations.clone()))?;
        Ok(Self { sessions, closed, frames, audio_seconds, segments, conversations })
    }

    pub(crate) fn frame(&self, kind: &'static str) {
        self.frames.with_label_values(&[kind]).inc();
    }
}
