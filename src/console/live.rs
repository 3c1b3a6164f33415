//! Pages that go on by themselves: the script of a page asks for its live part again and again, and a part is read at most
//! once a second, however many windows show it. Without scripts the same pages reload.

use std::{collections::HashMap, sync::Arc, time::Duration};

use axum::{
    http::{StatusCode, header},
    response::{Html, IntoResponse, Response},
};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::{
    Console,
    error::{Fault, Shown},
    page::{Frame, render},
};
use crate::hex::hex;

/// For so long a part is shown to others as it was read.
const FRESH: Duration = Duration::from_secs(1);
/// Parts that are kept at once.
const MOST: usize = 256;

/// The parts that were read within the last second, by their address and whether their reader may act.
#[derive(Clone, Default)]
pub(super) struct Parts(Arc<Mutex<HashMap<Key, Part>>>);

/// When a part was read, and what it was.
type Part = (Instant, Arc<str>);

/// A page's address, and whether its reader may act.
type Key = (String, bool);

/// A page with a live part.
pub(super) trait LivePage: askama::Template {
    /// Writes that part alone.
    fn part(&self) -> askama::Result<String>;
}

/// Names the block `live` of a template as its live part.
macro_rules! live_page {
    ($page:ty) => {
        impl $crate::console::live::LivePage for $page {
            fn part(&self) -> askama::Result<String> {
                self.as_live().render()
            }
        }
    };
}
pub(super) use live_page;

impl Console {
    /// Sends a page, or its live part alone to a script that asks for it.
    pub(super) async fn show<P: LivePage, F>(&self, frame: Frame, make: impl FnOnce(Frame) -> F) -> Shown
    where
        F: Future<Output = Result<P, Fault>>,
    {
        let Some(request) = frame.part_request() else {
            return Ok(render(&make(frame).await?));
        };
        let key = (request.address, frame.may_act());
        let part = match self.parts.fresh(&key) {
            Some(part) => part,
            None => {
                let part: Arc<str> = make(frame).await?.part()?.into();
                self.parts.keep(key, part.clone());
                part
            }
        };
        Ok(answer(&part, request.shown.as_deref()))
    }
}

impl Parts {
    fn fresh(&self, key: &Key) -> Option<Arc<str>> {
        let parts = self.0.lock();
        parts.get(key).filter(|(read, _)| read.elapsed() < FRESH).map(|(_, part)| part.clone())
    }

    fn keep(&self, key: Key, part: Arc<str>) {
        let mut parts = self.0.lock();
        parts.retain(|_, (read, _)| read.elapsed() < FRESH);
        if parts.len() < MOST {
            parts.insert(key, (Instant::now(), part));
        }
    }
}

/// The part, or that it is what the window shows already.
fn answer(part: &str, shown: Option<&str>) -> Response {
    let digest = format!("\"{}\"", hex(&Sha256::digest(part.as_bytes())[..12]));
    match shown == Some(digest.as_str()) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => ([(header::ETAG, digest)], Html(part.to_owned())).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn live_part_is_cached_for_a_second_per_role() {
        let parts = Parts::default();
        let key = |may_act| ("/console".to_owned(), may_act);
        parts.keep(key(true), "<p>".into());
        assert_eq!(parts.fresh(&key(true)).as_deref(), Some("<p>"));
        assert_eq!(parts.fresh(&key(false)), None);
        tokio::time::advance(FRESH).await;
        assert_eq!(parts.fresh(&key(true)), None);
        for number in 0..2 * MOST {
            parts.keep((number.to_string(), true), "".into());
        }
        assert_eq!(parts.0.lock().len(), MOST);
    }
}
