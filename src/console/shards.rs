//! Where there are several shards, the overview is of all together, a job is shown where it is, and lists show one shard at a
//! time: the one that the visitor chose last, or in which a job is that the visitor looks for by its id.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Query, Request},
    http::{HeaderMap, Uri, header},
    response::{AppendHeaders, IntoResponse, Redirect, Response},
    routing::get,
};
use job::JobId;
use serde::Deserialize;
use tower::ServiceExt;

use super::auth::named_cookie;

/// The cookie in which the choice is kept.
const COOKIE: &str = "console-shard";

/// The consoles of all shards, by their numbers.
pub(super) fn router(consoles: Vec<Router>) -> Router {
    let consoles = Arc::new(consoles);
    let shards = consoles.len();
    Router::new()
        .route("/console/shard", get(async move |chosen: Query<Chosen>| choose(&chosen, shards)))
        .fallback(move |request: Request| show(Arc::clone(&consoles), request))
}

/// What the form of the header sends.
#[derive(Debug, Deserialize)]
struct Chosen {
    number: usize,
}

fn choose(chosen: &Chosen, shards: usize) -> Response {
    let number = chosen.number.min(shards.saturating_sub(1));
    with_choice(number, Redirect::to("/console"))
}

fn with_choice(number: usize, answer: impl IntoResponse) -> Response {
    let cookie = format!("{COOKIE}={number}; Path=/console; HttpOnly; SameSite=Strict");
    (AppendHeaders([(header::SET_COOKIE, cookie)]), answer).into_response()
}

async fn show(consoles: Arc<Vec<Router>>, request: Request) -> Response {
    let of_job = of_job(request.uri(), consoles.len());
    let number = of_job.unwrap_or_else(|| chosen(request.headers()));
    let console = consoles.get(number).or(consoles.first()).cloned();
    let answer = console.unwrap_or_default().oneshot(request).await.into_response();
    // What it leads to is seen where the job is.
    match of_job.filter(|_| answer.status().is_redirection()) {
        Some(number) => with_choice(number, answer),
        None => answer,
    }
}

/// The number of the shard of a job that is shown or changed, or looked for by its id.
fn of_job(address: &Uri, shards: usize) -> Option<usize> {
    let id = match address.path().strip_prefix("/console/jobs/") {
        Some(named) => named.split('/').next()?.to_owned(),
        None if address.path() == "/console/find" => {
            let mut fields = form_urlencoded::parse(address.query().unwrap_or_default().as_bytes());
            fields.find(|(name, _)| name == "id")?.1.into_owned()
        }
        None => return None,
    };
    let id = id.trim().trim_matches('…');
    // Its first eight digits are of its user.
    let says_shard =
        |digits: &str| digits.len() >= 8 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    id.strip_prefix("fj_").filter(|digits| says_shard(digits))?;
    Some(usize::from(JobId::from_text(id).shard(u16::try_from(shards).ok()?)))
}

/// The number of the shard that was chosen; the first before.
fn chosen(headers: &HeaderMap) -> usize {
    named_cookie(headers, COOKIE).and_then(|number| number.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_lookup_uses_the_shard_of_its_id() {
        let digits = "0123456789abcdef0123456789abcdef01234";
        let of = |address: &str| of_job(&address.parse::<Uri>().unwrap_or_default(), 8);
        assert_eq!(of(&format!("/console/find?id=+fj_fff{digits}")), Some(7));
        assert_eq!(of(&format!("/console/find?id=fj_000{digits}")), Some(0));
        assert_eq!(of("/console/find?id=fj_ffffffff…"), Some(7), "the beginning is enough");
        assert_eq!(of("/console/find?id=fj_ffff"), None);
        assert_eq!(of(&format!("/console/find?id=user_{digits}")), None);
        assert_eq!(of(&format!("/console/jobs?id=fj_fff{digits}")), None);
        assert_eq!(of(&format!("/console/jobs/fj_fff{digits}")), Some(7), "whatever was chosen");
        assert_eq!(of(&format!("/console/jobs/fj_fff{digits}/replay")), Some(7));
        assert_eq!(of("/console/jobs/selected"), None);
        assert_eq!(of("/console/find"), None);
    }
}
