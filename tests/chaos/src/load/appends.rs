//! Segments that are appended to a conversation before it is finalized.

use rand::RngExt;
use reqwest::Method;
use serde_json::json;

use super::{Life, TRIES};
use crate::journal::Added;

impl Life {
    /// Appends one segment, identified by a word of its own. Either the segment has an id or the request has a name:
    /// each makes a repeat harmless.
    pub(super) async fn append(&mut self, number: i64, id: &str) {
        self.words += 1;
        let word = format!("zq{number:06}x{:04}", self.words);
        let mut segment = json!({
            "text": format!("And remember the box {word} too."), "start": 30.0, "end": 34.0, "is_user": true,
            "speaker": "SPEAKER_00",
        });
        let is_named = self.chance.random_bool(0.5);
        if !is_named {
            segment["id"] = json!(word);
        }
        let body = json!({ "transcript_segments": [segment] });
        let path = format!("/v1/dev/user/conversations/{id}/segments");
        let name = is_named.then_some(word.as_str());
        let asked = self.until_answered(Method::POST, &path, name, Some(&body), TRIES).await;
        let status = asked.map_or(0, |(_, status, ..)| status);
        self.world.journal.added.note(Added {
            user: self.person.id.clone(),
            conversation: id.to_owned(),
            word,
            status,
        });
    }
}
