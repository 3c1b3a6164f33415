//! Which tokens are accepted, with tokens and keys of the emulator.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use prometheus::{IntCounter, Registry, TextEncoder};
use serde_json::{Value, json};
use task_queue::{Claims as Good, Emulator, Fault, Kind, Options, Signer};

use super::*;

const NOW: i64 = 1_800_000_000;
const INVOKER: &str = "invoker@p.iam.gserviceaccount.com";

struct World {
    emulator: Emulator,
    verifier: Verifier,
    registry: Registry,
}

/// A verifier of the keys of an emulator, at a fixed time.
async fn world(invoker_sub: Option<&str>) -> World {
    let emulator = Emulator::start(Options::default()).await.unwrap();
    let registry = Registry::new();
    let metrics = Metrics::new(&registry, IntCounter::new("failed", "help").unwrap()).unwrap();
    let keys = Keys::new(&emulator.keys_url().parse().unwrap(), metrics.clone()).unwrap();
    let expected = Expected {
        issuers: vec!["https://accounts.google.com".to_owned(), "accounts.google.com".to_owned()],
        audience: "https://listen.example/run".to_owned(),
        invoker: INVOKER.to_owned(),
        invoker_sub: invoker_sub.map(str::to_owned),
    };
    let verifier = Verifier::new(Some((expected, keys)), Arc::new(|| NOW as f64), metrics);
    World { emulator, verifier, registry }
}

fn good() -> Good {
    Good {
        issuer: "https://accounts.google.com".to_owned(),
        audience: "https://listen.example/run".to_owned(),
        email: INVOKER.to_owned(),
        email_verified: true,
        issued_at: NOW - 5,
        expires_at: NOW + 3_600,
    }
}

impl World {
    async fn check(&self, token: &str) -> Result<(), Refusal> {
        self.verifier.check(Some(token)).await
    }
}

#[tokio::test]
async fn token_claims_are_verified() {
    let world = world(None).await;
    let signer = world.emulator.signer().unwrap();
    let rows = [
        (good(), Ok(())),
        (Good { issuer: "accounts.google.com".to_owned(), ..good() }, Ok(())),
        (Good { issuer: "https://accounts.example".to_owned(), ..good() }, Err(Refusal::Issuer)),
        (Good { audience: "https://elsewhere.example".to_owned(), ..good() }, Err(Refusal::Audience)),
        (Good { audience: String::new(), ..good() }, Err(Refusal::Audience)),
        (Good { expires_at: NOW - 9, ..good() }, Ok(())),
        (Good { expires_at: NOW - 10, ..good() }, Err(Refusal::Expired)),
        (Good { issued_at: NOW + 60, ..good() }, Ok(())),
        (Good { issued_at: NOW + 61, ..good() }, Err(Refusal::NotYetValid)),
        (Good { email: "other@p.iam.gserviceaccount.com".to_owned(), ..good() }, Err(Refusal::Identity)),
        (Good { email: INVOKER.to_uppercase(), ..good() }, Err(Refusal::Identity)),
        (Good { email_verified: false, ..good() }, Err(Refusal::Unverified)),
    ];
    for (claims, judged) in rows {
        assert_eq!(world.check(&signer.sign(&claims)).await, judged, "{claims:?}");
    }
    let text = TextEncoder::new().encode_to_string(&world.registry.gather()).unwrap();
    for line in [
        "listen_oidc_refusals_total{reason=\"audience\"} 2",
        "listen_oidc_refusals_total{reason=\"identity\"} 2",
        "listen_oidc_refusals_total{reason=\"signature\"} 0",
        "listen_oidc_refreshes_total{outcome=\"fetched\"} 1",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[tokio::test]
async fn token_claims_of_wrong_types_are_refused() {
    let world = world(None).await;
    let signer = world.emulator.signer().unwrap();
    let header = json!({ "alg": "RS256", "kid": signer.key_id() });
    let with = |field: &str, value: Value| {
        let mut claims = good().json();
        claims[field] = value;
        signer.sign_json(&header, &claims)
    };
    for (field, value, refusal) in [
        ("email_verified", json!("true"), Refusal::Unverified),
        ("email_verified", Value::Null, Refusal::Unverified),
        ("email", Value::Null, Refusal::Identity),
        ("exp", Value::Null, Refusal::Malformed),
        ("exp", json!("1800003600"), Refusal::Malformed),
        ("iat", Value::Null, Refusal::Malformed),
        ("nbf", json!(NOW + 11), Refusal::NotYetValid),
        ("aud", Value::Null, Refusal::Malformed),
        ("aud", json!([]), Refusal::Audience),
        ("aud", json!(["https://elsewhere.example"]), Refusal::Audience),
        ("iss", json!(7), Refusal::Malformed),
    ] {
        assert_eq!(world.check(&with(field, value.clone())).await, Err(refusal), "{field}: {value}");
    }
    let several = with("aud", json!(["https://elsewhere.example", "https://listen.example/run"]));
    assert_eq!(world.check(&several).await, Ok(()));
}

#[tokio::test]
async fn token_must_be_rs256_signed_by_an_issuer_key() {
    let world = world(None).await;
    let signer = world.emulator.signer().unwrap();
    let token = signer.sign(&good());
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let header = |header: Value| signer.sign_json(&header, &good().json());
    let kid = signer.key_id();
    let other = Signer::new(1).unwrap().sign_json(&json!({ "alg": "RS256", "kid": kid }), &good().json());
    let rows = [
        (header(json!({ "alg": "none", "kid": kid })), Refusal::Algorithm),
        (format!("{}.", header(json!({ "alg": "none" })).rsplit_once('.').unwrap().0), Refusal::Algorithm),
        (header(json!({ "alg": "HS256", "kid": kid })), Refusal::Algorithm),
        (header(json!({ "alg": "RS512", "kid": kid })), Refusal::Algorithm),
        (header(json!({ "alg": "RS256", "kid": kid, "crit": ["b64"] })), Refusal::Algorithm),
        (header(json!({ "alg": "RS256", "kid": "key-9" })), Refusal::UnknownKey),
        (header(json!({ "alg": "RS256" })), Refusal::UnknownKey),
        (other, Refusal::Signature),
        (format!("{signed}."), Refusal::Signature),
        (format!("{signed}.{}AAAA", &signature[..signature.len() - 4]), Refusal::Signature),
        (format!("{signed}.{signature}="), Refusal::Malformed),
        (signed.to_owned(), Refusal::Malformed),
        ("a.b.c".to_owned(), Refusal::Malformed),
        (String::new(), Refusal::Malformed),
        (format!("{token}{}", "A".repeat(8_192)), Refusal::TooLong),
    ];
    for (token, refusal) in rows {
        assert_eq!(world.check(&token).await, Err(refusal), "{token}");
    }
    assert_eq!(world.verifier.check(None).await, Err(Refusal::Missing));
    assert_eq!(world.check(&token).await, Ok(()));
}

#[tokio::test]
async fn token_subject_is_checked_when_configured() {
    let (right, wrong) = (world(Some("100000000000000000001")).await, world(Some("7")).await);
    let token = right.emulator.signer().unwrap().sign(&good());
    assert_eq!(right.check(&token).await, Ok(()));
    assert_eq!(wrong.check(&token).await, Err(Refusal::Identity));
}

#[tokio::test]
async fn token_with_a_new_key_causes_one_fetch() {
    let world = world(None).await;
    let old = world.emulator.signer().unwrap();
    assert_eq!(world.check(&old.sign(&good())).await, Ok(()));
    pass(6).await;
    world.emulator.rotate();
    let new = world.emulator.signer().unwrap().sign(&good());
    assert_eq!(tokio::join!(world.check(&new), world.check(&new)), (Ok(()), Ok(())));
    assert_eq!(fetches(&world), 2, "one fetch served both");
    assert_eq!(world.check(&old.sign(&good())).await, Ok(()), "the key before is still published");
}

#[tokio::test]
async fn token_with_unknown_keys_causes_rate_limited_fetches() {
    let world = world(None).await;
    let signer = world.emulator.signer().unwrap();
    for invented in 0..50 {
        let header = json!({ "alg": "RS256", "kid": format!("invented-{invented}") });
        let token = signer.sign_json(&header, &good().json());
        assert_eq!(world.check(&token).await, Err(Refusal::UnknownKey));
    }
    assert_eq!(fetches(&world), 1);
}

#[tokio::test]
async fn token_key_rotated_during_an_issuer_outage_is_accepted_soon() {
    let world = world(None).await;
    let old = world.emulator.signer().unwrap().sign(&good());
    assert_eq!(world.check(&old).await, Ok(()));
    pass(6).await;
    world.emulator.rotate();
    world.emulator.fault(Fault::always(Kind::KeysDown));
    let new = world.emulator.signer().unwrap().sign(&good());
    assert_eq!(world.check(&new).await, Err(Refusal::NoKeys), "nobody knows whether the key is good");
    assert_eq!(world.check(&old).await, Ok(()), "a kept key needs no fetch");
    world.emulator.mend();
    pass(3).await;
    assert_eq!(world.check(&new).await, Ok(()));
}

/// Lets time pass for the keys, without waiting.
async fn pass(seconds: u64) {
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(seconds)).await;
    tokio::time::resume();
}

#[tokio::test]
async fn token_check_without_issuer_keys_does_not_blame_the_caller() {
    for kind in [Kind::KeysDown, Kind::KeysHuge] {
        let world = world(None).await;
        world.emulator.fault(Fault::always(kind.clone()));
        let token = world.emulator.signer().unwrap().sign(&good());
        assert_eq!(world.check(&token).await, Err(Refusal::NoKeys), "{kind:?}");
        world.emulator.mend();
        pass(3).await;
        assert_eq!(world.check(&token).await, Ok(()), "{kind:?}");
    }
}

#[tokio::test]
async fn token_is_refused_without_a_configured_invoker() {
    let metrics = Metrics::new(&Registry::new(), IntCounter::new("failed", "help").unwrap()).unwrap();
    let verifier = Verifier::new(None, Arc::new(|| 0.0), metrics);
    let token = Signer::new(0).unwrap().sign(&good());
    assert_eq!(verifier.check(Some(&token)).await, Err(Refusal::NotConfigured));
}

fn fetches(world: &World) -> u64 {
    let families = world.registry.gather();
    let refreshes = families.iter().find(|family| family.name() == "listen_oidc_refreshes_total").unwrap();
    let fetched = |metric: &&prometheus::proto::Metric| metric.get_label()[0].value() == "fetched";
    let found = refreshes.get_metric().iter().find(fetched).unwrap();
    found.get_counter().get_value() as u64
}
