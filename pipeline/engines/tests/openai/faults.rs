//! Everything that the mock server can do wrong, and what becomes of it.

use std::sync::{Arc, atomic::Ordering};
use std::time::Duration;

use engines::{OpenAi, OpenAiConfig, Patience};
use job::FailureCode;
use mock_model::{Fault, Kind, Manners, Mock, Options};
use stages::{Describe, Embed, Failure, Judge};

use crate::world::{Counts, config, talk};

/// A mock, an engine that asks it, and what the engine counted.
struct Bench {
    mock: Mock,
    engine: OpenAi,
    counts: Arc<Counts>,
}

impl Bench {
    async fn new(options: Options) -> Self {
        Self::with(options, Patience::default()).await
    }

    async fn with(options: Options, patience: Patience) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mock = Mock::start(options).await.unwrap();
        let counts = Arc::<Counts>::default();
        let patience = Patience { first_wait: Duration::from_millis(1), ..patience };
        let config = OpenAiConfig { patience, ..config(&mock.base_url(), Duration::ZERO) };
        let engine = OpenAi::new(config, counts.clone(), [7; 32]).unwrap();
        Self { mock, engine, counts }
    }

    async fn with_fault(fault: Fault) -> Self {
        let bench = Self::new(Options::default()).await;
        bench.mock.fault(fault);
        bench
    }

    async fn describe(&self) -> Result<String, Failure> {
        self.engine.describe(&talk(), &[]).await.map(|structure| structure.title)
    }

    fn outcomes(&self) -> Vec<&'static str> {
        self.counts.calls.lock().unwrap().iter().map(|(_, outcome)| *outcome).collect()
    }
}

#[tokio::test]
async fn a_good_server_is_asked_once() {
    let bench = Bench::new(Options::default()).await;
    assert!(bench.describe().await.is_ok_and(|title| title.starts_with("I will send the budget")));
    assert_eq!(bench.outcomes(), ["answered"]);
    let counts = bench.mock.counts();
    let sums = counts["describe"];
    assert_eq!((sums.calls, sums.answered), (1, 1));
    let tokens = bench.counts.tokens.lock().unwrap().clone();
    assert_eq!(tokens[0], ("describe", "prompt", sums.prompt_tokens), "both count the same");
}

#[tokio::test]
async fn a_stumble_is_tried_again_at_once() {
    let kinds = [
        Kind::Status { status: 500 },
        Kind::Status { status: 502 },
        Kind::Drop,
        Kind::RateLimited { retry_after: None },
        Kind::RateLimited { retry_after: Some(0) },
    ];
    for kind in kinds {
        let bench = Bench::with_fault(Fault::once(kind.clone())).await;
        assert!(bench.describe().await.is_ok(), "{kind:?}");
        assert_eq!(bench.mock.calls().len(), 2, "{kind:?}");
    }
}

#[tokio::test]
async fn a_short_retry_after_is_waited_for_and_a_long_one_is_handed_to_the_job() {
    let bench = Bench::with_fault(Fault::once(Kind::RateLimited { retry_after: Some(1) })).await;
    let began = tokio::time::Instant::now();
    assert!(bench.describe().await.is_ok());
    assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());

    let bench = Bench::with_fault(Fault::always(Kind::RateLimited { retry_after: Some(600) })).await;
    let asked = Failure::after(FailureCode::ModelRateLimited, Some(Duration::from_secs(600)));
    let failure = bench.describe().await.unwrap_err();
    assert_eq!((failure.code, failure.retry_after), (asked.code, asked.retry_after));
    assert_eq!(bench.mock.calls().len(), 1, "nobody asks again before that");
}

#[tokio::test]
async fn what_cannot_be_read_is_malformed_and_what_is_declined_is_rejected() {
    for (kind, expected) in [
        (Kind::Truncated, FailureCode::ModelMalformed),
        (Kind::CutSilently, FailureCode::ModelMalformed),
        (Kind::WrongSchema, FailureCode::ModelMalformed),
        (Kind::Page, FailureCode::ModelMalformed),
        (Kind::Refusal, FailureCode::ModelRejected),
        (Kind::Filtered, FailureCode::ModelRejected),
    ] {
        let bench = Bench::with_fault(Fault::once(kind.clone())).await;
        assert_eq!(bench.describe().await.map_err(|failure| failure.code), Err(expected), "{kind:?}");
        assert!(expected.is_retryable(), "{kind:?}: another attempt may go better");
        assert!(bench.describe().await.is_ok(), "{kind:?} has passed");
    }
}

#[tokio::test]
async fn a_server_that_hangs_is_left_at_the_deadline_and_a_slow_one_is_waited_for() {
    let patience = Patience { deadline: Duration::from_millis(300), ..Patience::default() };
    let bench = Bench::with(Options::default(), patience).await;
    bench.mock.fault(Fault::once(Kind::Hang));
    assert_eq!(bench.describe().await.map_err(|failure| failure.code), Err(FailureCode::ModelTimeout));
    let bench = Bench::with_fault(Fault::once(Kind::Slow { millis: 300 })).await;
    assert!(bench.describe().await.is_ok());
}

#[tokio::test]
async fn a_server_that_is_down_is_left_alone_and_costs_no_attempt_then() {
    let bench = Bench::with_fault(Fault::always(Kind::Status { status: 503 })).await;
    let first = bench.describe().await.unwrap_err();
    assert_eq!(
        (first.code, first.circuit_open),
        (FailureCode::ModelUnavailable, false),
        "three tries open no circuit"
    );

    let second = bench.describe().await.unwrap_err();

    assert!(second.circuit_open, "{second:?}");
    let wait = second.retry_after.unwrap();
    assert!((10..=15).contains(&wait.as_secs()), "{wait:?}");
    let asked = bench.mock.calls().len();
    let third = bench.engine.clone().embed("words").await.unwrap_err();
    assert!(third.circuit_open, "clones share it");
    assert_eq!(bench.mock.calls().len(), asked, "nothing is sent");
    assert_eq!(bench.outcomes().last(), Some(&"circuit_open"));
    let shown_open = || bench.counts.open.load(Ordering::Relaxed);
    assert!(shown_open());
    tokio::time::pause();
    tokio::time::sleep(wait + Duration::from_secs(1)).await;
    assert!(!shown_open(), "nobody asks, and nobody is kept from it any more");
}

#[tokio::test]
async fn a_server_that_only_hangs_is_left_alone_too() {
    let patience = Patience { deadline: Duration::from_millis(50), ..Patience::default() };
    let bench = Bench::with(Options::default(), patience).await;
    bench.mock.fault(Fault::always(Kind::Hang));
    for _ in 0..4 {
        assert_eq!(bench.describe().await.map_err(|failure| failure.code), Err(FailureCode::ModelTimeout));
    }
    let fifth = bench.describe().await.unwrap_err();
    assert_eq!((fifth.code, fifth.circuit_open), (FailureCode::ModelTimeout, true));
    assert!(bench.describe().await.unwrap_err().circuit_open);
    let mut outcomes = vec!["model_timeout"; 5];
    outcomes.push("circuit_open");
    assert_eq!(bench.outcomes(), outcomes);
}

#[tokio::test]
async fn a_server_is_asked_as_it_likes_and_remembered() {
    let all = Manners { no_schema: true, only_max_tokens: true, no_temperature: true, ..Manners::default() };
    for manners in [
        Manners { no_schema: true, ..Manners::default() },
        Manners { only_max_tokens: true, ..Manners::default() },
        Manners { no_temperature: true, ..Manners::default() },
        Manners { no_json_mode: true, ..Manners::default() },
        Manners { taciturn: true, no_schema: true, only_max_tokens: true, ..Manners::default() },
        Manners { taciturn: true, no_json_mode: true, no_temperature: true, ..Manners::default() },
        all,
    ] {
        let bench = Bench::new(Options { manners, ..Options::default() }).await;
        assert!(bench.describe().await.is_ok(), "{manners:?}");
        let learnt = bench.mock.calls().len();
        assert!(bench.engine.judge(&talk()).await.is_ok(), "{manners:?}");
        assert_eq!(bench.mock.calls().len(), learnt + 1, "{manners:?}: asked at once in the way that works");
    }
}
