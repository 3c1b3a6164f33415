//! The issuer's public keys (JWKS, RFC 7517): fetched, kept, and fetched again before they are old or when a token names a new one.

use std::{collections::HashMap, sync::Arc, time::Duration};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use parking_lot::{Mutex as SyncMutex, RwLock};
use reqwest::{Method, Request, Url, header::CACHE_CONTROL};
use serde::Deserialize;
use tokio::{sync::Mutex, time::Instant};
use tokio_util::sync::CancellationToken;
use upstream::{Client, read_at_most};

use crate::{Metrics, token::RsaKey};

/// How long a fetch may take.
const FETCH: Duration = Duration::from_secs(5);
/// How long an answer may be.
const LONGEST: usize = 64 * 1_024;
/// How many keys are kept.
const MOST: usize = 16;
/// The shortest modulus, in bytes: 2,048 bits.
const SHORTEST_MODULUS: usize = 256;
/// Keys are fetched again after what the issuer says, within these bounds.
const FRESH: (Duration, Duration) = (Duration::from_secs(300), Duration::from_secs(6 * 3_600));
/// For how long keys are good that could not be fetched again.
const KEPT: Duration = Duration::from_secs(24 * 3_600);
/// How long after a fetch a token with an unknown key causes another one: anybody can send such tokens.
const BETWEEN: Duration = Duration::from_secs(5);
/// The same after a fetch that failed; also the wait between two fetches while there are no keys at all.
const BETWEEN_FAILURES: Duration = Duration::from_secs(2);
/// How long before a fetch that failed is repeated without a request for it.
const AGAIN: Duration = Duration::from_secs(30);

/// How often a failure is logged that goes on.
const LOG: Duration = Duration::from_secs(60);

/// The keys of one issuer. Cheap to clone.
#[derive(Clone)]
pub struct Keys(Arc<Inner>);

struct Inner {
    url: Url,
    http: Client,
    metrics: Metrics,
    kept: RwLock<Option<Kept>>,
    /// The last fetch that a request caused; locked while any is under way, so that it serves all requests that wait for it.
    last: Mutex<Option<Fetch>>,
    /// When a failure was last logged.
    logged: SyncMutex<Option<Instant>>,
}

#[derive(Clone, Copy)]
struct Fetch {
    at: Instant,
    succeeded: bool,
}

#[derive(Clone)]
struct Kept {
    keys: Arc<HashMap<String, Arc<RsaKey>>>,
    fetched_at: Instant,
    fresh_for: Duration,
}

/// What is known of a key.
pub(crate) enum Found {
    Key(Arc<RsaKey>),
    /// The issuer has none of that name.
    Unknown,
    /// None of that name is kept, and the issuer's could not be fetched.
    NoKeys,
}

impl Keys {
    /// Keys that are at `url`; nothing is fetched yet. `None`: the process has no TLS provider.
    pub fn new(url: &Url, metrics: Metrics) -> Option<Self> {
        let http = upstream::client(url)?;
        let (kept, last, logged) = (RwLock::default(), Mutex::default(), SyncMutex::default());
        Some(Self(Arc::new(Inner { url: url.clone(), http, metrics, kept, last, logged })))
    }

    /// Fetches the keys at once, and again whenever they are old, until `stop`.
    pub async fn keep_fresh(&self, stop: CancellationToken) {
        loop {
            let fetched = {
                let _alone = self.0.last.lock().await;
                // Not noted: a key that is new right after this fetch is still fetched when a token first names it.
                self.fetch(&mut None).await
            };
            let wait = match (fetched, self.kept()) {
                (true, Some(kept)) => kept.fresh_for,
                (_, None) => BETWEEN_FAILURES,
                (false, _) => AGAIN,
            };
            if stop.run_until_cancelled(tokio::time::sleep(wait)).await.is_none() {
                return;
            }
        }
    }

    /// The key of that name. An unknown name causes a fetch, which serves all requests that wait meanwhile, unless the
    /// last one was a few seconds ago.
    pub(crate) async fn find(&self, key_id: &str) -> Found {
        if let Some(key) = self.look(key_id) {
            return Found::Key(key);
        }
        let mut last = self.0.last.lock().await;
        if let Some(key) = self.look(key_id) {
            return Found::Key(key);
        }
        let fetched = match *last {
            Some(last) if last.at.elapsed() < last.pause() => last.succeeded,
            _ => self.fetch(&mut last).await,
        };
        match self.look(key_id) {
            Some(key) => Found::Key(key),
            None if fetched => Found::Unknown,
            None => Found::NoKeys,
        }
    }

    fn look(&self, key_id: &str) -> Option<Arc<RsaKey>> {
        self.kept()?.keys.get(key_id).cloned()
    }

    /// The keys, unless they are too old.
    fn kept(&self) -> Option<Kept> {
        let kept = self.0.kept.read().clone()?;
        (kept.fetched_at.elapsed() < kept.fresh_for + KEPT).then_some(kept)
    }

    /// Whether the keys could be fetched; those that were there stay otherwise.
    async fn fetch(&self, last: &mut Option<Fetch>) -> bool {
        // Noted before, too: a caller that hangs up in the middle ends its fetch, and must not cause the next at once.
        *last = Some(Fetch { at: Instant::now(), succeeded: false });
        let fetched = tokio::time::timeout(FETCH, self.try_fetch()).await.unwrap_or(Err("unreachable"));
        *last = Some(Fetch { at: Instant::now(), succeeded: fetched.is_ok() });
        match fetched {
            Ok(kept) => {
                *self.0.kept.write() = Some(kept);
                self.0.metrics.refreshed("fetched");
                true
            }
            Err(outcome) => {
                self.log(outcome);
                self.0.metrics.refreshed(outcome);
                false
            }
        }
    }

    /// Once a minute, however often it is tried.
    fn log(&self, outcome: &'static str) {
        let mut logged = self.0.logged.lock();
        if logged.is_none_or(|at| at.elapsed() >= LOG) {
            *logged = Some(Instant::now());
            tracing::warn!(outcome, "the keys that verify deliveries could not be fetched");
        }
    }

    async fn try_fetch(&self) -> Result<Kept, &'static str> {
        let request = Request::new(Method::GET, self.0.url.clone());
        let answer = self.0.http.send(request).await.map_err(|_| "unreachable")?;
        if !answer.status().is_success() {
            return Err("refused");
        }
        let control = answer.headers().get(CACHE_CONTROL).and_then(|value| value.to_str().ok());
        let fresh_for = control.and_then(max_age).unwrap_or(FRESH.0).clamp(FRESH.0, FRESH.1);
        let body = read_at_most(answer, LONGEST).await.map_err(|broken| match broken {
            upstream::Broken::TooLong => "unusable",
            upstream::Broken::Connection(_) => "unreachable",
        })?;
        let keys = parse(&body).ok_or("unusable")?;
        Ok(Kept { keys: Arc::new(keys), fetched_at: Instant::now(), fresh_for })
    }
}

impl Fetch {
    /// How long no request causes another.
    fn pause(&self) -> Duration {
        if self.succeeded { BETWEEN } else { BETWEEN_FAILURES }
    }
}

/// The `max-age` of a `Cache-Control`.
fn max_age(control: &str) -> Option<Duration> {
    let directives = control.split(',').filter_map(|directive| directive.trim().split_once('='));
    let (_, seconds) = directives.into_iter().find(|(name, _)| name.eq_ignore_ascii_case("max-age"))?;
    seconds.trim_matches('"').parse().ok().map(Duration::from_secs)
}

#[derive(Deserialize)]
struct Set {
    keys: Vec<Jwk>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    n: Option<String>,
    e: Option<String>,
}

/// The RSA keys of a set that can verify a token; `None` for a malformed set or one without such keys.
fn parse(body: &[u8]) -> Option<HashMap<String, Arc<RsaKey>>> {
    let set: Set = serde_json::from_slice(body).ok()?;
    let keys: HashMap<_, _> = set.keys.into_iter().filter_map(usable).take(MOST).collect();
    (!keys.is_empty()).then_some(keys)
}

fn usable(key: Jwk) -> Option<(String, Arc<RsaKey>)> {
    let for_signatures = key.purpose.is_none_or(|purpose| purpose == "sig");
    let for_rs256 = key.alg.is_none_or(|alg| alg == "RS256");
    if key.kty != "RSA" || !for_signatures || !for_rs256 {
        return None;
    }
    let number = |text: Option<String>| URL_SAFE_NO_PAD.decode(text?).ok();
    let (n, e) = (number(key.n)?, number(key.e)?);
    // ring wants no leading zeros.
    let trimmed = |bytes: Vec<u8>| bytes.into_iter().skip_while(|byte| *byte == 0).collect::<Vec<u8>>();
    let (n, e) = (trimmed(n), trimmed(e));
    (n.len() >= SHORTEST_MODULUS).then(|| (key.kid.unwrap_or_default(), Arc::new(RsaKey { n, e })))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use serde_json::json;

    use super::*;

    #[test]
    fn key_set_yields_rsa_signature_keys_only() {
        let n = URL_SAFE_NO_PAD.encode([0xC1; 256]);
        let short = URL_SAFE_NO_PAD.encode([0xC1; 128]);
        let set = json!({ "keys": [
            { "kty": "RSA", "kid": "good", "alg": "RS256", "use": "sig", "n": n, "e": "AQAB" },
            { "kty": "RSA", "kid": "plain", "n": n, "e": "AQAB" },
            { "kty": "RSA", "kid": "short", "n": short, "e": "AQAB" },
            { "kty": "RSA", "kid": "other", "alg": "RS512", "n": n, "e": "AQAB" },
            { "kty": "RSA", "kid": "encrypts", "use": "enc", "n": n, "e": "AQAB" },
            { "kty": "EC", "kid": "curve", "crv": "P-256", "x": "AA", "y": "AA" },
        ] });
        let keys = parse(set.to_string().as_bytes()).unwrap();
        let mut names: Vec<&str> = keys.keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["good", "plain"]);
        for unusable in ["", "[]", "{}", r#"{"keys": []}"#, r#"{"keys": [{"kty": "EC"}]}"#] {
            assert!(parse(unusable.as_bytes()).is_none(), "{unusable}");
        }
    }

    #[test]
    fn key_set_lifetime_follows_the_issuer() {
        assert_eq!(max_age("public, max-age=19302, must-revalidate"), Some(Duration::from_secs(19_302)));
        assert_eq!(max_age("no-cache"), None);
        assert_eq!(max_age("max-age=soon"), None);
    }
}
