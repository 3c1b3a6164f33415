//! Which engine the settings mean, and which settings are refused.

use std::sync::Arc;

use secrecy::SecretString;
use speech::{BadSettings, Choice, NoMeter, Settings};

fn refused(change: impl Fn(&mut Settings)) -> Option<BadSettings> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut settings = Settings { engine: Choice::OpenAi, ..Settings::default() };
    change(&mut settings);
    settings.engine(Arc::new(NoMeter), [0; 32]).err()
}

#[test]
fn speech_auto_prefers_deepgram_then_base_url_then_none() {
    let key = || Some(SecretString::from("key"));
    let url = || Some("http://127.0.0.1:8000/v1".to_owned());
    let choice =
        |deepgram_api_key, base_url| Settings { deepgram_api_key, base_url, ..Settings::default() }.choice();
    assert_eq!(choice(key(), url()), Choice::Deepgram);
    assert_eq!(choice(None, url()), Choice::OpenAi);
    assert_eq!(choice(Some(SecretString::from("")), Some(String::new())), Choice::None);
    let chosen = Settings { engine: Choice::None, deepgram_api_key: key(), ..Settings::default() };
    assert_eq!(chosen.choice(), Choice::None);
}

#[test]
fn speech_settings_that_conflict_are_refused_at_start() {
    assert_eq!(refused(|_| ()), None);
    assert_eq!(
        refused(|settings| settings.base_url = Some("models.example".into())),
        Some(BadSettings::BaseUrl)
    );
    assert_eq!(
        refused(|settings| settings.base_url = Some("http://a:b@c/".into())),
        Some(BadSettings::BaseUrl)
    );
    assert_eq!(refused(|settings| settings.api_key = Some("a\nb".into())), Some(BadSettings::Key));
    assert_eq!(refused(|settings| settings.model = " ".into()), Some(BadSettings::Model));
    assert_eq!(refused(|settings| settings.concurrency = 0), Some(BadSettings::Concurrency));
    let deepgram = |change: fn(&mut Settings)| {
        refused(move |settings| {
            settings.engine = Choice::Deepgram;
            settings.deepgram_api_key = Some("key".into());
            change(settings);
        })
    };
    assert_eq!(deepgram(|_| ()), None);
    assert_eq!(deepgram(|settings| settings.deepgram_api_key = None), Some(BadSettings::DeepgramKeyMissing));
    assert_eq!(
        deepgram(|settings| settings.deepgram_api_key = Some("\u{7f}".into())),
        Some(BadSettings::DeepgramKey)
    );
    assert_eq!(
        deepgram(|settings| settings.deepgram_base_url = "https://api.deepgram.com".into()),
        Some(BadSettings::DeepgramBaseUrl)
    );
    assert_eq!(
        deepgram(|settings| settings.deepgram_model = String::new()),
        Some(BadSettings::DeepgramModel)
    );
}

#[test]
fn speech_debug_output_hides_keys() {
    let settings = Settings {
        api_key: Some("hidden-one".into()),
        deepgram_api_key: Some("hidden-two".into()),
        ..Settings::default()
    };
    assert!(!format!("{settings:?}").contains("hidden"));
}
