//! The engines that settings stand for.

use std::sync::Arc;

use crate::client::Silent;
use crate::deepgram::Deepgram;
use crate::openai::OpenAi;
use crate::{BadSettings, Choice, Engine, Meter, Settings};

impl Settings {
    /// The process's engine. `chance` makes waits uneven; the caller draws it once per process.
    pub fn engine(&self, meter: Arc<dyn Meter>, chance: [u8; 32]) -> Result<Arc<dyn Engine>, BadSettings> {
        match self.choice() {
            Choice::Deepgram => Ok(Arc::new(Deepgram::new(self, meter, chance)?)),
            Choice::OpenAi => Ok(Arc::new(OpenAi::new(self, meter, chance)?)),
            Choice::None | Choice::Auto => Ok(Arc::new(Silent::none())),
        }
    }

    /// The engine of sessions whose client recognizes speech itself (`custom_stt=enabled`): it only watches for
    /// speech, so that the silence timer runs on audio where the client sends any.
    #[must_use]
    pub fn client_engine() -> Arc<dyn Engine> {
        Arc::new(Silent::client())
    }
}
