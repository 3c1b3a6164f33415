//! Ties the audio webhooks of `worker` to the port that `api` declares for them.

use records::UserId;

/// The audio webhooks of this process, as its live sessions reach them.
pub(crate) struct Audio(pub(crate) worker::AudioWebhooks);

struct Tap(worker::AudioTap);

impl api::AudioWebhooks for Audio {
    fn open(&self, user: &UserId, rate: u32) -> Box<dyn api::AudioTap> {
        Box::new(Tap(self.0.open(user, rate)))
    }
}

impl api::AudioTap for Tap {
    fn hear(&mut self, samples: &[i16]) {
        self.0.hear(samples);
    }
}
