//! The audio webhook: its settings, and the audio that a live session passes on.

use std::sync::{Arc, Mutex};

use api::{AudioTap, AudioWebhooks, LiveSettings, Settings};
use records::UserId;
use serde_json::{Value, json};

use super::client::Setup;
use crate::bench::{Bench, quick};

const PATH: &str = "/v1/users/developer/webhook/audio_bytes";

#[tokio::test]
async fn audio_webhook_is_set_switched_read_and_shows_a_new_secret_once() {
    let bench = Bench::new().await;
    assert_eq!(bench.get(PATH).await.body, json!({ "detail": "Audio webhook not found" }));
    let missing = bench.post(&format!("{PATH}/enable"), Value::Null).await;
    assert_eq!(missing.status, 404);
    let set = bench.post(PATH, json!({ "url": "https://a.example/audio" })).await;
    assert!(set.body["secret"].as_str().unwrap().starts_with("whsec_"), "{set:?}");
    assert_eq!((&set.body["status"], &set.body["seconds"]), (&json!("ok"), &json!(5)));
    let again = bench.post(PATH, json!({ "url": "https://a.example/audio,10" })).await;
    assert_eq!((again.body.get("secret"), &again.body["seconds"]), (None, &json!(10)));
    assert_eq!(again.body["url"], "https://a.example/audio", "as the apps of the original write it");
    let fresh = bench.post(PATH, json!({ "url": "https://a.example/audio", "new_secret": true })).await;
    assert!(fresh.body["secret"].is_string() && fresh.body["secret"] != set.body["secret"]);
    let off = bench.post(&format!("{PATH}/disable"), Value::Null).await;
    assert_eq!((&off.body["enabled"], &off.body["disabled_reason"]), (&json!(false), &json!("by_owner")));
    let on = bench.post(&format!("{PATH}/enable"), Value::Null).await;
    assert_eq!((&on.body["enabled"], &on.body["disabled_reason"]), (&json!(true), &Value::Null));
    let empty = bench.post(PATH, json!({ "url": "" })).await;
    assert_eq!(empty.body["enabled"], false, "an empty URL disables it");
    let seen = bench.get(PATH).await;
    assert_eq!((&seen.body["url"], seen.body.get("secret")), (&json!("https://a.example/audio"), None));
}

#[tokio::test]
async fn audio_webhook_with_a_refused_url_or_interval_is_422() {
    let bench = Bench::new().await;
    for (body, place) in [
        (json!({ "url": "http://127.0.0.1/", "seconds": 5 }), "url"),
        (json!({ "url": "https://a.example/", "seconds": 61 }), "seconds"),
        (json!({ "url": "https://a.example/,0" }), "url"),
        (json!({ "seconds": 5 }), "url"),
    ] {
        let answer = bench.post(PATH, body.clone()).await;
        assert_eq!(answer.status, 422, "{body}");
        assert_eq!(answer.kinds()[0].1, &json!(["body", place]), "{body}");
    }
}

/// Records the audio that sessions pass on.
#[derive(Clone, Debug, Default)]
struct Kept(Arc<Mutex<Vec<Heard>>>);

/// Whose, at which rate, and the samples.
type Heard = (String, u32, Vec<i16>);

impl AudioWebhooks for Kept {
    fn open(&self, user: &UserId, rate: u32) -> Box<dyn AudioTap> {
        self.0.lock().unwrap().push((user.to_string(), rate, Vec::new()));
        Box::new(self.clone())
    }
}

impl AudioTap for Kept {
    fn hear(&mut self, samples: &[i16]) {
        self.0.lock().unwrap().last_mut().unwrap().2.extend(samples);
    }
}

#[tokio::test]
async fn live_session_passes_mono_audio_on_at_the_clients_rate() {
    let kept = Kept::default();
    let live = LiveSettings { audio: Arc::new(kept.clone()), ..LiveSettings::default() };
    let setup = Setup::with(Settings { live, ..quick() }).await;
    let mut line = setup.line("codec=pcm16&sample_rate=8000&channels=2").await.ready().await;
    let stereo: Vec<i16> = vec![100, 300, -2, -4];
    let bytes: Vec<u8> = stereo.iter().flat_map(|sample| sample.to_le_bytes()).collect();
    line.send_bytes(bytes).await;
    // Keep-alive frames are no audio.
    line.send_bytes(vec![0; 2]).await;
    line.socket.close(None).await.unwrap();
    line.closed().await;
    let kept = kept.0.lock().unwrap();
    assert_eq!(*kept, [("ann".to_owned(), 8_000, vec![200, -3])], "also where no engine recognizes speech");
}
