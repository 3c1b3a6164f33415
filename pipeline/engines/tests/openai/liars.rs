//! Servers that lie: answers too large, too slow, too deep, in the wrong bytes or of the wrong kind. Each is a typed
//! failure within bounded time and memory, and nothing of it reaches a person.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use job::{ErrorClass, FailureCode};
use serde_json::{Value, json};
use stages::{Describe, EmbedTalk, ExtractItems, Judge, Stage, Verdict};
use tokio::time::{Instant, sleep};

use crate::world::{Reply, World, description, says, says_text, talk};

const MALFORMED: FailureCode = FailureCode::ModelMalformed;

/// A good answer, but for its usage.
fn with_usage(usage: Value) -> Reply {
    let message = json!({"content": json!({"reason": "", "keep": false}).to_string()});
    Reply::Json(
        StatusCode::OK,
        json!({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}),
    )
}

fn answer(content: impl Into<Body>, kind: &'static str) -> Reply {
    Reply::Made(Arc::new(std::sync::Mutex::new(Some(
        ([(header::CONTENT_TYPE, kind)], content.into()).into_response(),
    ))))
}

fn reply(response: Response) -> Reply {
    Reply::Made(Arc::new(std::sync::Mutex::new(Some(response))))
}

#[tokio::test]
async fn an_answer_without_end_is_left_before_it_fills_the_memory() {
    let mebibyte = Bytes::from(vec![b' '; 1024 * 1024]);
    let endless = stream::repeat_with(move || Ok::<_, Infallible>(mebibyte.clone()));
    let world = World::new([answer(Body::from_stream(endless), "application/json")]).await;
    assert_eq!(world.engine.judge(&talk()).await.map_err(|failure| failure.code), Err(MALFORMED));
    let ten = vec![b'['; 10 * 1024 * 1024];
    let world = World::new([answer(ten, "application/json")]).await;
    assert_eq!(world.engine.judge(&talk()).await.map_err(|failure| failure.code), Err(MALFORMED));
}

#[tokio::test]
async fn an_answer_that_drips_is_left_at_the_deadline_however_alive_the_line_is() {
    let drip = || {
        let bytes = stream::unfold((), |()| async {
            sleep(Duration::from_millis(20)).await;
            Some((Ok::<_, Infallible>(Bytes::from_static(b" ")), ()))
        });
        answer(Body::from_stream(bytes), "application/json")
    };
    let world = World::with_timeout([drip()], Duration::from_millis(400)).await;
    let began = Instant::now();
    assert_eq!(
        world.engine.judge(&talk()).await.map_err(|failure| failure.code),
        Err(FailureCode::ModelTimeout)
    );
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_complaint_that_drips_is_left_at_the_deadline_too() {
    let bytes = stream::unfold((), |()| async {
        sleep(Duration::from_millis(20)).await;
        Some((Ok::<_, Infallible>(Bytes::from_static(b" ")), ()))
    });
    let complaint = (StatusCode::BAD_REQUEST, Body::from_stream(bytes)).into_response();
    let world = World::with_timeout([reply(complaint)], Duration::from_millis(400)).await;
    assert_eq!(
        world.engine.judge(&talk()).await.map_err(|failure| failure.code),
        Err(FailureCode::ModelTimeout)
    );
}

/// A proxy that promises a page and sends none: a rejected key would be a server that does not answer, after a minute.
#[tokio::test]
async fn a_status_counts_although_its_complaint_never_comes() {
    let says = |status: StatusCode| {
        let silence = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
        reply((status, [(header::RETRY_AFTER, "3000")], silence).into_response())
    };
    let world = World::new([says(StatusCode::UNAUTHORIZED), says(StatusCode::TOO_MANY_REQUESTS)]).await;
    let refused = world.engine.judge(&talk()).await.unwrap_err();
    assert_eq!(
        (refused.code, refused.class, refused.http_status),
        (FailureCode::ModelRejected, Some(ErrorClass::KeyRejected), Some(401))
    );
    let busy = world.engine.judge(&talk()).await.unwrap_err();
    let asked = Some(Duration::from_secs(3_000));
    assert_eq!((busy.code, busy.retry_after), (FailureCode::ModelRateLimited, asked));
}

#[tokio::test]
async fn bytes_that_are_no_text_of_ours_are_malformed() {
    let good = json!({"choices": [{"message": {"content": "{\"reason\":\"é\",\"keep\":true}"}}]}).to_string();
    let utf16: Vec<u8> = good.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let latin: Vec<u8> = good.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    // A gzip header and a deflated block that would grow to a gigabyte: it was not requested and must not be unpacked.
    let gzip = [&[0x1f_u8, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3][..], &[0xed; 512][..]].concat();
    let zipped = ([(header::CONTENT_ENCODING, "gzip"), (header::CONTENT_TYPE, "application/json")], gzip);
    for reply in [
        answer(utf16, "application/json; charset=utf-16"),
        answer(latin, "application/json; charset=latin-1"),
        reply(zipped.into_response()),
        answer("<!doctype html><title>Sign in</title>", "text/html"),
        answer("event: ping\n\ndata: {}\n\n", "text/event-stream"),
    ] {
        let world = World::new([reply]).await;
        assert_eq!(world.engine.judge(&talk()).await.map_err(|failure| failure.code), Err(MALFORMED));
    }
}

#[tokio::test]
async fn json_that_is_too_deep_doubled_or_no_json_is_malformed() {
    let deep = format!("{{\"keep\": {}true{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let (open, half) = ("[".repeat(500_000), "{\"a\":".repeat(100_000));
    for text in [
        deep.as_str(),
        open.as_str(),
        half.as_str(),
        "{\"reason\": \"\", \"keep\": true, \"keep\": false}",
        "{\"reason\": \"\", \"keep\": NaN}",
        "{\"reason\": \"\", \"keep\": Infinity}",
        "{\"reason\": \"\", \"keep\": 1e999}",
    ] {
        let world = World::new([says_text(text)]).await;
        assert_eq!(
            world.engine.judge(&talk()).await.map_err(|failure| failure.code),
            Err(MALFORMED),
            "{}",
            &text[..40.min(text.len())]
        );
    }
    let deep = format!("{{\"choices\": {}", "[".repeat(200_000));
    let world = World::new([answer(deep, "application/json")]).await;
    assert_eq!(world.engine.judge(&talk()).await.map_err(|failure| failure.code), Err(MALFORMED));
}

#[tokio::test]
async fn what_is_said_elsewhere_than_in_the_content_is_no_answer() {
    let call = json!([{"id": "1", "type": "function", "function": {"name": "keep", "arguments": "{\"keep\":true}"}}]);
    for (message, reason) in [
        (json!({"content": null, "tool_calls": call}), "tool_calls"),
        (json!({"content": {"keep": true}}), "stop"),
        (json!({"reasoning_content": "{\"reason\":\"\",\"keep\":true}"}), "stop"),
        (json!({"content": "{\"reason\": \"\", \"keep\": tr"}), "length"),
        (json!({"content": [{"type": "image_url", "image_url": {"url": "http://evil.example"}}]}), "stop"),
        (json!({"content": []}), "stop"),
    ] {
        let choice = json!({"choices": [{"message": message, "finish_reason": reason}]});
        let world = World::new([Reply::Json(StatusCode::OK, choice.clone())]).await;
        assert_eq!(
            world.engine.judge(&talk()).await.map_err(|failure| failure.code),
            Err(MALFORMED),
            "{choice}"
        );
    }
}

#[tokio::test]
async fn an_answer_in_parts_of_text_is_read() {
    let parts = json!([
        {"type": "text", "text": "{\"reason\": \"\", "},
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "\"keep\": false}"},
    ]);
    let choice = json!({"choices": [{"message": {"content": parts}, "finish_reason": "stop"}]});
    let world = World::new([Reply::Json(StatusCode::OK, choice)]).await;
    assert_eq!(world.engine.judge(&talk()).await, Ok(Verdict::Discard));
}

#[tokio::test]
async fn a_good_answer_is_not_lost_by_a_bill_that_makes_no_sense() {
    for usage in [
        json!({"prompt_tokens": -1, "completion_tokens": 1.5}),
        json!({"prompt_tokens": 1e300}),
        json!({"prompt_tokens": "many", "prompt_tokens_details": []}),
        json!("free"),
        json!([]),
        Value::Null,
    ] {
        let world = World::new([with_usage(usage.clone())]).await;
        assert_eq!(world.engine.judge(&talk()).await, Ok(Verdict::Discard), "{usage}");
        assert!(
            world.counts.tokens.lock().unwrap().is_empty(),
            "{usage}: nothing is counted that is no count"
        );
    }
    let world = World::new([with_usage(json!({"prompt_tokens": u64::MAX, "completion_tokens": 7}))]).await;
    assert_eq!(world.engine.judge(&talk()).await, Ok(Verdict::Discard));
    let counted = world.counts.tokens.lock().unwrap().clone();
    assert_eq!(counted, [("detect_discard", "completion", 7)], "no call has that many tokens");
}

#[tokio::test]
async fn a_redirect_to_the_metadata_of_a_cloud_is_not_followed() {
    let moved =
        (StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, "http://169.254.169.254/latest/meta-data")]);
    let world = World::new([reply(moved.into_response())]).await;
    assert_eq!(
        world.engine.judge(&talk()).await.map_err(|failure| failure.code),
        Err(FailureCode::ModelRejected)
    );
}

#[tokio::test]
async fn a_vector_that_can_be_compared_with_nothing_is_malformed() {
    let vector = |numbers: Value| json!({"data": [{"index": 0, "embedding": numbers}]}).to_string();
    let good = vector(json!([0.5, -0.25]));
    let bodies = [
        (vector(json!([])), false),
        (vector(json!([0.0, 0.0, -0.0])), false),
        (vector(json!([1e39, 0.5])), false),
        (vector(json!(vec![0.1; 20_000])), false),
        (vector(json!([null, 0.5])), false),
        (vector(json!(["0.5"])), false),
        (vector(json!("AAAAPwAAgL4=")), false),
        (vector(json!([[0.5]])), false),
        ("{\"data\": [{\"embedding\": [NaN]}]}".to_owned(), false),
        ("{\"data\": []}".to_owned(), false),
        (good, true),
    ];
    for (body, is_good) in bodies {
        let world = World::new([answer(body.clone(), "application/json")]).await;
        let stage = EmbedTalk::new(Arc::new(world.engine.clone()));
        let kept = stage.run(&talk()).await;
        let shown = &body[..60.min(body.len())];
        match is_good {
            true => assert_eq!(kept.map(|kept| kept.vector), Ok(vec![0.5, -0.25]), "{shown}"),
            false => assert_eq!(kept.map_err(|failure| failure.code), Err(MALFORMED), "{shown}"),
        }
    }
}

#[tokio::test]
async fn numbers_that_no_person_means_are_dropped_or_malformed_and_never_a_panic() {
    let mut talk = talk();
    talk.time_zone = chrono_tz::America::New_York;
    for when in ["+262142-12-31T23:59", "-262143-01-01T00:00", "9999-12-31T23:59", "0000-01-01"] {
        let task = json!({"tasks": [{"lines": [0, -1, i64::MAX], "description": "Send the budget to Maria",
            "owner": null, "due_words": "then", "due_local": when}]});
        let world = World::new([says(&task)]).await;
        let drafts = world.engine.extract_items(&talk).await.unwrap();
        assert_eq!(drafts.len(), 1, "{when}: what is due then is checked later");
    }
    let mut event = description();
    event["events"][0]["duration_minutes"] = json!(i64::MAX);
    event["folder"] = json!(i64::MIN);
    let world = World::new([says(&event)]).await;
    let structure = world.engine.describe(&talk, &[]).await.unwrap();
    assert_eq!((structure.events[0].duration, structure.folder_id), (30, None));
    event["folder"] = json!(1e300);
    let world = World::new([says(&event)]).await;
    assert_eq!(world.engine.describe(&talk, &[]).await.map_err(|failure| failure.code), Err(MALFORMED));
}
