//! Servers that refuse, stall, speak an older dialect or make no sense.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use engines::{BadConfig, OpenAi, OpenAiConfig};
use job::{ErrorClass, FailureCode};
use secrecy::SecretString;
use serde_json::{Value, json};
use stages::{DescribeTalk, Embed, Engine, Judge, Stage, Verdict};

use crate::world::{
    Counts, Reply, World, config, description, says, says_text, status, talk, wants_the_newer_limit,
};

#[tokio::test]
async fn every_failure_of_a_server_has_its_code() {
    for (code, expected, class, tries) in [
        (429, FailureCode::ModelRateLimited, ErrorClass::RateLimited, 3),
        (409, FailureCode::ModelUnavailable, ErrorClass::ServerError, 3),
        (500, FailureCode::ModelUnavailable, ErrorClass::ServerError, 3),
        (503, FailureCode::ModelUnavailable, ErrorClass::ServerError, 3),
        (408, FailureCode::ModelTimeout, ErrorClass::Timeout, 3),
        (504, FailureCode::ModelTimeout, ErrorClass::Timeout, 3),
        (401, FailureCode::ModelRejected, ErrorClass::KeyRejected, 1),
        (402, FailureCode::ModelRejected, ErrorClass::QuotaExhausted, 1),
        (403, FailureCode::ModelRejected, ErrorClass::Forbidden, 1),
        (413, FailureCode::ModelRejected, ErrorClass::TooLong, 1),
        (418, FailureCode::ModelRejected, ErrorClass::BadRequest, 1),
    ] {
        let world = World::new([status(code), status(code), status(code)]).await;
        let failure = world.engine.judge(&talk()).await.unwrap_err();
        let seen = (failure.code, failure.class, failure.http_status);
        assert_eq!(seen, (expected, Some(class), Some(code)), "{code}");
        assert_eq!(world.heard().len(), tries, "{code}");
        let counted = ("detect_discard", expected.as_str());
        assert_eq!(*world.counts.calls.lock().unwrap(), vec![counted; tries]);
    }
}

#[tokio::test]
async fn an_account_without_credit_is_not_asked_for_again() {
    let empty = json!({"error": {"code": "insufficient_quota"}});
    let world = World::new([Reply::Json(StatusCode::TOO_MANY_REQUESTS, empty)]).await;
    assert_eq!(
        world.engine.judge(&talk()).await.map_err(|failure| failure.code),
        Err(FailureCode::ModelRejected)
    );
    assert_eq!(world.heard().len(), 1);
}

#[tokio::test]
async fn a_server_that_never_answers_is_a_timeout_and_one_that_is_gone_is_unavailable() {
    let world = World::with_timeout([Reply::Never, Reply::Never], Duration::from_millis(100)).await;
    assert_eq!(
        world.engine.judge(&talk()).await.map_err(|failure| failure.code),
        Err(FailureCode::ModelTimeout)
    );
    assert_eq!(world.engine.embed("x").await.map_err(|failure| failure.code), Err(FailureCode::ModelTimeout));
    // Bound and not listening: no other process is given its port meanwhile.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let closed = socket.local_addr().unwrap();
    let gone = config(&format!("http://{closed}/v1"), Duration::from_secs(20));
    let engine = OpenAi::new(gone, Arc::new(Counts::default()), [0; 32]).unwrap();
    assert_eq!(
        engine.judge(&talk()).await.map_err(|failure| failure.code),
        Err(FailureCode::ModelUnavailable)
    );
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_key() {
    let world = World::new([Reply::Moved]).await;
    assert_eq!(
        world.engine.judge(&talk()).await.map_err(|failure| failure.code),
        Err(FailureCode::ModelRejected)
    );
    assert_eq!(world.heard().len(), 1);
}

#[tokio::test]
async fn an_answer_without_the_agreed_shape_is_malformed_and_still_counted() {
    for text in [
        "{\"reason\": \"a task\", \"ke",
        "",
        "yes",
        "{\"reason\": \"x\"}",
        "{\"keep\": \"maybe\"}",
        "[]",
        "}{",
    ] {
        let world = World::new([says_text(text)]).await;
        assert_eq!(
            world.engine.judge(&talk()).await.map_err(|failure| failure.code),
            Err(FailureCode::ModelMalformed),
            "{text}"
        );
        assert_eq!(world.counts.tokens.lock().unwrap().len(), 3);
    }
    for reply in
        [Reply::Raw("<html>busy</html>"), Reply::Raw(""), Reply::Json(StatusCode::OK, json!({"choices": []}))]
    {
        let world = World::new([reply]).await;
        assert_eq!(
            world.engine.judge(&talk()).await.map_err(|failure| failure.code),
            Err(FailureCode::ModelMalformed)
        );
    }
    let mut empty = description();
    empty["title"] = json!("https://evil.example");
    let world = World::new([says(&empty)]).await;
    let stage = DescribeTalk::new(Arc::new(world.engine.clone()));
    let failed = stage.run((&talk(), &[], None)).await;
    assert_eq!(failed.map_err(|failure| failure.code), Err(FailureCode::ModelMalformed));
}

#[tokio::test]
async fn a_page_that_answers_everything_with_200_is_reported_as_no_model_server() {
    let world = World::new([Reply::Raw("<html>log in</html>"), Reply::Raw("\n<html>log in</html>")]).await;
    let failed = world.engine.judge(&talk()).await.map_err(|failure| (failure.code, failure.class));
    assert_eq!(failed, Err((FailureCode::ModelMalformed, Some(ErrorClass::Malformed))));
    world.engine.check_server().await;
    let answers = || {
        let health = world.engine.server().unwrap();
        [health.called, health.checked].map(|answer| answer.unwrap().class)
    };
    assert_eq!(answers(), [Some(ErrorClass::Malformed); 2]);
    assert_eq!(*world.counts.calls.lock().unwrap(), [("detect_discard", "model_malformed")]);
    world.will_say(Reply::Raw("\n{\"object\": \"list\", \"data\": []}"));
    world.engine.check_server().await;
    assert_eq!(answers()[1], None, "a list of models is one");
}

#[tokio::test]
async fn a_cut_answer_is_malformed_and_a_refusal_is_a_rejection() {
    let choice = |choice: Value| Reply::Json(StatusCode::OK, json!({"choices": [choice]}));
    let good = "{\"reason\": \"\", \"keep\": true}";
    let (malformed, rejected) = (FailureCode::ModelMalformed, FailureCode::ModelRejected);
    let cases = [
        (json!({"message": {"content": good}, "finish_reason": "length"}), malformed, ErrorClass::Cut),
        (
            json!({"message": {"content": null}, "finish_reason": "tool_calls"}),
            malformed,
            ErrorClass::Malformed,
        ),
        (
            json!({"message": {"content": good}, "finish_reason": "content_filter"}),
            rejected,
            ErrorClass::ContentFilter,
        ),
        (
            json!({"message": {"content": null, "refusal": "I cannot"}, "finish_reason": "stop"}),
            rejected,
            ErrorClass::ContentFilter,
        ),
    ];
    for (answer, code, class) in cases {
        let world = World::new([choice(answer.clone())]).await;
        let failure = world.engine.judge(&talk()).await.unwrap_err();
        assert_eq!((failure.code, failure.class), (code, Some(class)), "{answer}");
    }
}

#[tokio::test]
async fn an_older_server_is_asked_in_its_own_way_and_remembered() {
    let good = json!({"reason": "", "keep": true});
    let world = World::new([status(400), status(422), says(&good), says(&good)]).await;
    assert_eq!(world.engine.judge(&talk()).await, Ok(Verdict::Keep));
    assert_eq!(world.engine.clone().judge(&talk()).await, Ok(Verdict::Keep), "clones share what was learnt");
    let asked: Vec<_> = world.heard().into_iter().map(|request| request.body).collect();
    let formats: Vec<_> =
        asked.iter().map(|body| body["response_format"]["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(formats, ["json_schema", "json_schema", "json_object", "json_object"]);
    assert!(asked[0].get("max_completion_tokens").is_some() && asked[1].get("max_tokens").is_some());
    let text = asked[2]["messages"][1]["content"].as_str().unwrap();
    assert!(text.contains("JSON schema") && text.contains("\"additionalProperties\":false"), "{text}");
}

#[tokio::test]
async fn a_server_that_takes_the_place_of_an_older_one_is_asked_in_the_newest_way_again() {
    let good = json!({"reason": "", "keep": true});
    let world =
        World::new([status(400), says(&good), wants_the_newer_limit(), says(&good), says(&good)]).await;
    for _ in 0..3 {
        assert_eq!(world.engine.judge(&talk()).await, Ok(Verdict::Keep));
    }
    let limits: Vec<_> =
        world.heard().iter().map(|asked| asked.body.get("max_completion_tokens").is_some()).collect();
    assert_eq!(limits, [true, false, false, true, true], "newest, older; older, newest; newest");
}

#[tokio::test]
async fn what_one_odd_refusal_taught_is_forgotten_after_an_hour() {
    let good = json!({"reason": "", "keep": true});
    let world = World::new([status(400), status(400), says(&good), says(&good), says(&good)]).await;
    for minutes in [0, 30, 31] {
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(minutes * 60)).await;
        tokio::time::resume();
        assert_eq!(world.engine.judge(&talk()).await, Ok(Verdict::Keep));
    }
    let formats: Vec<_> =
        world.heard().iter().map(|asked| asked.body["response_format"]["type"].clone()).collect();
    assert_eq!(formats, ["json_schema", "json_schema", "json_object", "json_object", "json_schema"]);
}

#[tokio::test]
async fn a_server_without_any_json_mode_may_fence_its_answer() {
    let fenced = "<think>{maybe}</think>Here you are:\n```json\n{\"reason\": \"\", \"keep\": false}\n```";
    let world = World::new([status(400), status(400), status(404), says_text(fenced)]).await;
    assert_eq!(world.engine.judge(&talk()).await, Ok(Verdict::Discard));
    assert!(world.heard()[3].body.get("response_format").is_none());
}

#[tokio::test]
async fn what_every_way_to_ask_is_refused_for_is_a_rejection_and_teaches_nothing() {
    let good = json!({"reason": "", "keep": true});
    let world = World::new([status(404), status(404), status(404), status(404), says(&good)]).await;
    assert_eq!(
        world.engine.judge(&talk()).await.map_err(|failure| failure.code),
        Err(FailureCode::ModelRejected)
    );
    assert_eq!(world.engine.judge(&talk()).await, Ok(Verdict::Keep));
    assert_eq!(world.heard()[4].body["response_format"]["type"], "json_schema");
}

#[tokio::test]
async fn a_users_own_key_is_used_alone_and_its_refusal_is_told_apart() {
    let good = json!({"reason": "", "keep": true});
    let world =
        World::new([says(&good), status(401), status(403), status(429), status(429), status(429)]).await;
    let own = world.engine.with_users_key(&SecretString::from("sk-own")).unwrap();
    assert_eq!(own.judge(&talk()).await, Ok(Verdict::Keep));
    assert_eq!(own.judge(&talk()).await.map_err(|failure| failure.code), Err(FailureCode::ByokKeyRejected));
    assert_eq!(own.embed("x").await.map_err(|failure| failure.code), Err(FailureCode::ByokKeyRejected));
    assert_eq!(own.judge(&talk()).await.map_err(|failure| failure.code), Err(FailureCode::ModelRateLimited));
    assert!(world.heard().iter().all(|request| request.authorization.as_deref() == Some("Bearer sk-own")));
}

#[tokio::test]
async fn a_configuration_that_cannot_work_is_refused_at_the_start() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let build = |config| OpenAi::new(config, Arc::new(Counts::default()), [0; 32]).err();
    let good = || config("https://models.example/v1", Duration::from_secs(1));
    assert_eq!(build(good()), None);
    for url in ["", "models", "ftp://models.example", "https://me:pw@models.example"] {
        assert_eq!(
            build(OpenAiConfig { base_url: url.to_owned(), ..good() }),
            Some(BadConfig::BaseUrl),
            "{url}"
        );
    }
    assert_eq!(build(OpenAiConfig { model: " ".to_owned(), ..good() }), Some(BadConfig::Model));
    let key = Some(SecretString::from("sk\n"));
    assert_eq!(build(OpenAiConfig { api_key: key, ..good() }), Some(BadConfig::Key));
    let shown = format!("{:?}", good());
    assert!(!shown.contains("sk-service"), "{shown}");
}
