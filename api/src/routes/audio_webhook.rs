//! `/v1/users/developer/webhook/audio_bytes`: where raw audio of live sessions is posted.

use axum::Json;
use outbox::NewAudioWebhook;
use secrecy::ExposeSecret;
use serde_json::json;

use super::webhooks::{new_secret, refuse_bad_url};
use crate::{
    Answer, AppState, Caller, Code, Endpoint, Error, Reply, Scope,
    read::{Body, Bool, Fields, Int, Note, Text, object},
    shapes, takes,
};

const KIND: &str = "Audio webhook";
/// Seconds of audio in each request where the user names none.
const SECONDS: i64 = 5;

const PATH: &str = "/v1/users/developer/webhook/audio_bytes";

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::post(PATH, Scope::WebhooksWrite, set)
            .named("set_audio_webhook", "Send raw audio to a server")
            .says(
                "Audio of the user's live sessions is posted there, so many seconds at a time: PCM16, little-endian, mono, \
                 with `sample_rate` and `uid` added to the query, signed by the rules of Standard Webhooks. It is enabled from \
                 now on. `secret` is in the answer where it is a new one: the first time, for another URL, and with \
                 `new_secret`.",
            )
            .body(
                "NewAudioWebhook",
                takes(|fields| read(fields, |_| true), SET),
                json!({ "url": "https://example.com/audio", "seconds": 5 }),
            )
            .answers(Answer::one::<shapes::ChangedAudioWebhook>("As it is now."))
            .not_found(KIND),
        Endpoint::get(PATH, Scope::WebhooksRead, one)
            .named("get_audio_webhook", "Read where raw audio is sent")
            .answers(Answer::one::<shapes::AudioWebhook>("What is set."))
            .not_found(KIND),
        Endpoint::post("/v1/users/developer/webhook/audio_bytes/enable", Scope::WebhooksWrite, enable)
            .named("enable_audio_webhook", "Send raw audio again")
            .says("Clears every mark of failure.")
            .answers(Answer::one::<shapes::ChangedAudioWebhook>("As it is now."))
            .not_found(KIND),
        Endpoint::post("/v1/users/developer/webhook/audio_bytes/disable", Scope::WebhooksWrite, disable)
            .named("disable_audio_webhook", "Send no raw audio")
            .answers(Answer::one::<shapes::ChangedAudioWebhook>("As it is now."))
            .not_found(KIND),
    ]
}

/// What a POST asks for.
enum Asked {
    /// Audio goes to this URL, so many seconds at a time.
    Set { url: String, seconds: i32, replace_secret: bool },
    /// An empty URL: no audio goes anywhere.
    Disable,
}

async fn set(state: AppState, caller: Caller, body: Body) -> Reply<shapes::ChangedAudioWebhook> {
    let asked = object(body, |fields| read(fields, |url| (state.check_url)(url)))?;
    let Asked::Set { url, seconds, replace_secret } = asked else {
        return switched(&state, &caller, false).await;
    };
    let secret = new_secret(&state);
    let new = NewAudioWebhook { url, seconds, secret: secret.clone(), replace_secret };
    let set = state.ledger.outbox().set_audio_webhook(&caller.user, &new).await?;
    // The user was deleted since the key was looked up.
    let set = set.ok_or(Error::Refused(Code::NotAuthenticated))?;
    let secret = set.is_new_secret.then(|| secret.expose_secret());
    Ok(Json(shapes::changed_audio_webhook(&set, secret)))
}

async fn one(state: AppState, caller: Caller) -> Reply<shapes::AudioWebhook> {
    let found = state.ledger.outbox().audio_webhook(&caller.user).await?.ok_or(Error::NotFound(KIND))?;
    Ok(Json(shapes::audio_webhook(&found)))
}

async fn enable(state: AppState, caller: Caller) -> Reply<shapes::ChangedAudioWebhook> {
    switched(&state, &caller, true).await
}

async fn disable(state: AppState, caller: Caller) -> Reply<shapes::ChangedAudioWebhook> {
    switched(&state, &caller, false).await
}

async fn switched(state: &AppState, caller: &Caller, enabled: bool) -> Reply<shapes::ChangedAudioWebhook> {
    let switched = state.ledger.outbox().switch_audio_webhook(&caller.user, enabled).await?;
    Ok(Json(shapes::changed_audio_webhook(&switched.ok_or(Error::NotFound(KIND))?, None)))
}

const SET: &[Note] = &[
    (
        "url",
        "An https URL of a public address; its seconds may follow behind a comma. Empty: disables it.",
        "",
    ),
    ("seconds", "Seconds of audio in each request. Without it: those behind the URL's comma, or 5.", ""),
    ("new_secret", "`true`: another secret signs from now on.", "false"),
];

/// Reads the body of a POST: the URL, which `may_call` judges, may have its seconds behind a comma.
fn read(fields: &mut Fields<'_>, may_call: impl Fn(&str) -> bool) -> Option<Asked> {
    let url = fields.required("url", Text::between(0, 2_048));
    let seconds = fields.optional("seconds", Int::between(1, 60));
    let replace_secret = fields.optional("new_secret", Bool).unwrap_or(false);
    let url = url?;
    let (address, behind) = split(&url);
    if address.is_empty() {
        return Some(Asked::Disable);
    }
    refuse_bad_url(fields, Some(address), may_call);
    let seconds = seconds.or(behind).unwrap_or(SECONDS);
    let Some(seconds) = i32::try_from(seconds).ok().filter(|seconds| (1..=60).contains(seconds)) else {
        return fields.report.at("url", |report| report.rule("the seconds behind the url must be 1 to 60"));
    };
    Some(Asked::Set { url: address.to_owned(), seconds, replace_secret })
}

/// A URL, and the seconds that the original's apps write behind it. Other commas are the URL's own.
fn split(text: &str) -> (&str, Option<i64>) {
    let text = text.trim();
    match text.rsplit_once(',').map(|(url, seconds)| (url.trim(), seconds.trim())) {
        Some((url, "")) => (url, None),
        Some((url, seconds)) if seconds.bytes().all(|byte| byte.is_ascii_digit()) => {
            (url, Some(seconds.parse().unwrap_or(i64::MAX)))
        }
        _ => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audio_webhook_url_may_end_in_a_comma_and_seconds() {
        assert_eq!(split("https://a.example/x,10"), ("https://a.example/x", Some(10)));
        assert_eq!(split(" https://a.example/x , 7 "), ("https://a.example/x", Some(7)));
        assert_eq!(split("https://a.example/x,y"), ("https://a.example/x,y", None));
        assert_eq!(split("https://a.example/x,y,3"), ("https://a.example/x,y", Some(3)));
        assert_eq!(split("https://a.example/,99999999999999999999").1, Some(i64::MAX));
        assert_eq!(split(","), ("", None));
    }
}
