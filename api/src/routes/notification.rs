//! `POST /v1/integrations/notification`: an app writes into its user's chat (spec, "Other service endpoints").

use axum::{
    Json,
    http::{HeaderMap, HeaderName, HeaderValue, header},
    response::{IntoResponse, Response},
};
use db::RequestKey;
use outbox::{AppMessage, MESSAGES_PER_HOUR, Notified, SentThisHour};
use records::UserId;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::{
    Access, Answer, Answered, AppState, AppsMode, Code, Endpoint, Error,
    caller::AppCaller,
    error::refusal,
    middleware::{IDEMPOTENCY_KEY, REPLAYED, name_in, refused},
    read::{Body, Fields, Note, Text, object},
    shapes, takes,
};

/// The route's pattern, under which repeats are known.
const ROUTE: &str = "/v1/integrations/notification";
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const LEFT: HeaderName = HeaderName::from_static("ratelimit");
const HOUR_SECONDS: u32 = 3_600;

pub(super) fn endpoints() -> Vec<Endpoint> {
    let refused = "A key of another app, a user who has not installed it or does not exist, or an app that may not write.";
    vec![
        Endpoint::post(ROUTE, Access::App, send)
            .named("send_app_message", "Write into a user's chat")
            .says(
                "With a key of the app. The app's manifest says whether it may, in which chat the message appears, and whether \
                 a push is sent, too. At most 10 messages within any hour to one user; the `RateLimit` fields say how that \
                 stands.",
            )
            .creates_by_itself()
            .body(
                "AppMessage",
                takes(read, MESSAGE),
                json!({
                    "uid": "ann", "aid": "01993b1e-6f0a-7c31-9d55-1f6a2b7c8d90",
                    "message": "Your report is ready.",
                }),
            )
            .answers(Answer::one::<shapes::NotificationStatus>("It is written."))
            .answers(Answer::refusal(403, refused, "The app may not write to this user")),
    ]
}

const MESSAGE: &[Note] = &[
    ("uid", "The user's id, as tools are sent it.", ""),
    ("aid", "The app's id.", ""),
    ("message", "The words.", ""),
];

/// A message as it is sent.
struct Sent {
    uid: String,
    aid: String,
    message: String,
}

/// POST. The key comes before the body, the body before who is written to: an app finds out nothing about users whom it may not
/// write to.
async fn send(state: AppState, app: AppCaller, headers: HeaderMap, body: Body) -> Answered {
    let sent = object(body, read)?;
    if sent.aid != app.app_id || state.settings.apps == AppsMode::Off {
        return Err(Error::Refused(Code::MayNotWrite));
    }
    let user = UserId::new(&sent.uid);
    let message = AppMessage {
        id: &state.ids.fresh().to_string(),
        user: &user,
        app: &app.app_id,
        text: &sent.message,
        key: request_key(&headers, &user, &sent)?,
    };
    match state.ledger.outbox().send_app_message(&message).await? {
        Notified::Sent { hour, .. } => Ok(counted(ok(), hour)),
        Notified::Repeated => Ok(([(REPLAYED, HeaderValue::from_static("true"))], ok()).into_response()),
        Notified::OtherBody => Err(refused("the key was used for another message")),
        Notified::TooMany(hour) => {
            let mut answer = refusal(Code::TooManyMessages);
            answer.headers_mut().insert(header::RETRY_AFTER, whole_seconds(hour).into());
            Ok(counted(answer, hour))
        }
        Notified::NotInstalled => Err(Error::Refused(Code::MayNotWrite)),
        Notified::NotEnabled => Err(Error::Refused(Code::MessagesNotEnabled)),
    }
}

fn read(fields: &mut Fields<'_>) -> Option<Sent> {
    let uid = fields.required("uid", Text::between(1, 128));
    let aid = fields.required("aid", Text::between(1, 128));
    let message = fields.required("message", Text::between(1, 4_000));
    if message.as_deref().is_some_and(|message| message.trim().is_empty()) {
        return fields.report.at("message", |report| report.rule("message must not be blank"));
    }
    Some(Sent { uid: uid?, aid: aid?, message: message? })
}

/// The name that the app gave its request. It is kept with the user's rows, so that it goes with them.
fn request_key(headers: &HeaderMap, user: &UserId, sent: &Sent) -> Result<Option<RequestKey>, Error> {
    if !headers.contains_key(IDEMPOTENCY_KEY) {
        return Ok(None);
    }
    Ok(Some(RequestKey {
        user: user.clone(),
        route: ROUTE.to_owned(),
        key: format!("{} {}", sent.aid, name_in(headers)?),
        fingerprint: Sha256::digest(&sent.message).into(),
    }))
}

fn ok() -> Response {
    Json(shapes::SENT).into_response()
}

/// Rounded up, so that a retry after so long is accepted.
fn whole_seconds(hour: SentThisHour) -> u64 {
    (hour.frees_in.ceil() as u64).max(1)
}

/// Says how the app's hour with this user stands.
fn counted(mut answer: Response, hour: SentThisHour) -> Response {
    let left = (MESSAGES_PER_HOUR - hour.used).max(0);
    let fields = [
        (POLICY, format!("\"messages\";q={MESSAGES_PER_HOUR};w={HOUR_SECONDS}")),
        (LEFT, format!("\"messages\";r={left};t={}", whole_seconds(hour))),
    ];
    for (name, text) in fields {
        if let Ok(value) = HeaderValue::try_from(text) {
            answer.headers_mut().insert(name, value);
        }
    }
    answer
}
