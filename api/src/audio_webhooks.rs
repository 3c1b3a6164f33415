//! The port to users' servers that take raw audio: sessions hand it over here; who sends it, this crate cannot name. Tied to
//! `worker` in `src/audio.rs`.

use records::UserId;

/// Takes the raw audio of live sessions.
pub trait AudioWebhooks: Send + Sync {
    /// Begins to take the audio of a session of `user`, whose mono samples come at `rate` a second.
    fn open(&self, user: &UserId, rate: u32) -> Box<dyn AudioTap>;
}

/// Takes the audio of one session; dropping it is the end of the audio.
pub trait AudioTap: Send {
    /// Takes the next samples. Never waits.
    fn hear(&mut self, samples: &[i16]);
}

/// A process that sends no audio anywhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAudioWebhooks;

impl AudioWebhooks for NoAudioWebhooks {
    fn open(&self, _: &UserId, _: u32) -> Box<dyn AudioTap> {
        Box::new(Self)
    }
}

impl AudioTap for NoAudioWebhooks {
    fn hear(&mut self, _: &[i16]) {}
}
