//! `/v1/users/developer/webhook/audio_bytes`: where raw audio of live sessions is posted.

use axum::{Json, extract::State};
use outbox::NewAudioWebhook;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::webhooks::{new_secret, refuse_bad_url};
use crate::{
    Error, Scope,
    door::Door,
    keys::Caller,
    read::{Body, Bool, Fields, Int, Text, object},
    shapes,
};

/// What a 404 says is missing.
pub(super) const KIND: &str = "Audio webhook";
/// Seconds of audio in each request where the user names none.
const SECONDS: i64 = 5;

/// What a POST asks for.
pub(super) enum Asked {
    /// Audio goes to this URL, so many seconds at a time.
    Set { url: String, seconds: i32, replace_secret: bool },
    /// An empty URL: no audio goes anywhere.
    Disable,
}

/// POST: sets it, and enables it. The answer carries `secret` where it is a new one.
pub(super) async fn set(State(door): State<Door>, caller: Caller, body: Body) -> Result<Json<Value>, Error> {
    caller.require(Scope::WebhooksWrite)?;
    let asked = object(body, |fields| read(fields, |url| (door.check_url)(url)))?;
    let Asked::Set { url, seconds, replace_secret } = asked else {
        return switched(&door, &caller, false).await;
    };
    let secret = new_secret(&door);
    let new = NewAudioWebhook { url, seconds, secret: secret.clone(), replace_secret };
    let set = door.ledger.outbox().set_audio_webhook(&caller.user, &new).await?;
    // The user was deleted since the key was looked up.
    let set = set.ok_or(Error::NotAuthenticated)?;
    let shape = ok(shapes::audio_webhook(&set));
    Ok(Json(match set.is_new_secret {
        true => shapes::with(shape, "secret", secret.expose_secret()),
        false => shape,
    }))
}

/// GET: what is set.
pub(super) async fn one(State(door): State<Door>, caller: Caller) -> Result<Json<Value>, Error> {
    caller.require(Scope::WebhooksRead)?;
    let found = door.ledger.outbox().audio_webhook(&caller.user).await?.ok_or(Error::NotFound(KIND))?;
    Ok(Json(shapes::audio_webhook(&found)))
}

/// POST `…/enable`: clears every mark of failure.
pub(super) async fn enable(State(door): State<Door>, caller: Caller) -> Result<Json<Value>, Error> {
    caller.require(Scope::WebhooksWrite)?;
    switched(&door, &caller, true).await
}

/// POST `…/disable`.
pub(super) async fn disable(State(door): State<Door>, caller: Caller) -> Result<Json<Value>, Error> {
    caller.require(Scope::WebhooksWrite)?;
    switched(&door, &caller, false).await
}

async fn switched(door: &Door, caller: &Caller, enabled: bool) -> Result<Json<Value>, Error> {
    let switched = door.ledger.outbox().switch_audio_webhook(&caller.user, enabled).await?;
    Ok(Json(ok(shapes::audio_webhook(&switched.ok_or(Error::NotFound(KIND))?))))
}

/// What clients of the original look for.
fn ok(mut shape: Value) -> Value {
    if let Some(fields) = shape.as_object_mut() {
        fields.insert("status".to_owned(), json!("ok"));
    }
    shape
}

/// Reads the body of a POST: the URL, which `may_call` judges, may have its seconds behind a comma.
pub(super) fn read(fields: &mut Fields<'_>, may_call: impl Fn(&str) -> bool) -> Option<Asked> {
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
    fn seconds_may_stand_behind_the_url_whose_own_commas_stay() {
        assert_eq!(split("https://a.example/x,10"), ("https://a.example/x", Some(10)));
        assert_eq!(split(" https://a.example/x , 7 "), ("https://a.example/x", Some(7)));
        assert_eq!(split("https://a.example/x,y"), ("https://a.example/x,y", None));
        assert_eq!(split("https://a.example/x,y,3"), ("https://a.example/x,y", Some(3)));
        assert_eq!(split("https://a.example/,99999999999999999999").1, Some(i64::MAX));
        assert_eq!(split(","), ("", None));
    }
}
