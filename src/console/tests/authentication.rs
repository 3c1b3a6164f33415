//! Authentication: keys, sessions, the proxy header, and loopback.

use axum::http::{StatusCode, header};
use operations::Operations;

use super::world::{Who, World};
use crate::config::ConsoleAccess;

#[tokio::test]
async fn loopback_without_settings_may_read_and_not_act() {
    let world = World::with_access(ConsoleAccess::ThisMachine).await;
    let job = world.dead("c").await;

    let here = world.get("/console", Who::default()).await;
    assert_eq!(here.status, StatusCode::OK);
    assert!(here.text.contains("read-only") && !here.text.contains("/pause"), "{}", here.text);

    let forwarded = ["forwarded", "x-forwarded-for", "x-real-ip", "via"];
    let forwarded = forwarded.map(|name| Who { header: Some((name, "192.0.2.1")), ..Who::default() });
    let elsewhere = [
        Who { peer: Some("192.0.2.1:50000"), ..Who::default() },
        Who { host: Some("attacker.example"), ..Who::default() },
    ];
    for elsewhere in elsewhere.into_iter().chain(forwarded) {
        let answer = world.get("/console", elsewhere).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{elsewhere:?}");
        assert!(answer.text.contains("LISTEN_CONSOLE_KEYS"), "it says how to open it");
    }
    let fields = [("reason", "because it can"), ("token", "")];
    let answer = world.post(&format!("/console/jobs/{job}/replay"), &fields, Who::default()).await;
    assert_eq!((answer.status, world.status(&job).await), (StatusCode::FORBIDDEN, "dead_letter"));
}

#[tokio::test]
async fn sign_in_with_a_key_returns_to_the_requested_page() {
    let world = World::with_keys().await;
    let answer = world.get("/console/jobs?status=dead_letter", Who::default()).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    assert_eq!(answer.location(), "/console/login?next=%2Fconsole%2Fjobs%3Fstatus%3Ddead_letter");
    assert_eq!(world.get(answer.location(), Who::default()).await.status, StatusCode::OK);

    let next = ("next", "/console/jobs?status=dead_letter");
    let wrong = world.post("/console/login", &[("key", "nobody's"), next], Who::default()).await;
    assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
    assert!(!wrong.headers.contains_key(header::SET_COOKIE) && !wrong.text.contains("nobody's"));

    let right = world.post("/console/login", &[("key", "olga's"), next], Who::default()).await;
    assert_eq!(right.location(), "/console/jobs?status=dead_letter");
    let cookie = world.cookie("olga's").await;
    let page = world.get("/console/jobs", Who { cookie: &cookie, ..Who::default() }).await;
    assert_eq!(page.status, StatusCode::OK);
}

#[tokio::test]
async fn session_of_https_is_refused_over_http() {
    let world = World::with_keys().await;
    for (scheme, is_secure) in [("https", true), ("http", false)] {
        let through = Who { header: Some(("x-forwarded-proto", scheme)), ..Who::default() };
        let answer = world.post("/console/login", &[("key", "olga's")], through).await;
        let cookie = answer.headers[header::SET_COOKIE].to_str().unwrap();
        assert_eq!(cookie.contains("; Secure"), is_secure, "{cookie}");
    }
    let answer = world.post("/console/login", &[("key", "olga's")], Who::default()).await;
    assert!(!answer.headers[header::SET_COOKIE].to_str().unwrap().contains("Secure"));
}

#[tokio::test]
async fn responses_have_security_headers_and_no_store() {
    let world = World::with_keys().await;
    for (path, status) in [("/console/login", StatusCode::OK), ("/console", StatusCode::SEE_OTHER)] {
        let answer = world.get(path, Who::default()).await;
        assert_eq!(answer.status, status, "{path}");
        let told = |name| answer.headers[name].to_str().unwrap();
        let policy: Vec<&str> = told(header::CONTENT_SECURITY_POLICY).split("; ").collect();
        for rule in [
            "default-src 'self'",
            "require-trusted-types-for 'script'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
            "object-src 'none'",
        ] {
            assert!(policy.contains(&rule), "{path}: no {rule} in {policy:?}");
        }
        assert!(policy.iter().any(|rule| rule.starts_with("script-src 'nonce-")), "{path}: {policy:?}");
        for (name, value) in [
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::X_FRAME_OPTIONS, "DENY"),
            (header::REFERRER_POLICY, "same-origin"),
            (header::CACHE_CONTROL, "no-store"),
        ] {
            let said = answer.headers.get(&name).and_then(|told| told.to_str().ok());
            assert_eq!(said, Some(value), "{path}: {name}");
        }
    }
}

#[tokio::test]
async fn every_page_requires_authentication() {
    let world = World::with_keys().await;
    for page in [
        "/console",
        "/console/jobs",
        "/console/jobs/x",
        "/console/jobs/x/replay",
        "/console/jobs/x/discard",
        "/console/replays",
        "/console/replays/new",
        "/console/replays/x",
        "/console/replays/x/pause",
        "/console/queues/creation/pause",
        "/console/webhooks",
        "/console/webhooks/endpoint",
        "/console/webhooks/delivery",
        "/console/webhooks/redeliver",
        "/console/webhooks/enable",
        "/console/webhooks/recover",
        "/console/audit",
        "/console/find",
        "/console/jobs/selected",
    ] {
        let answer = world.get(page, Who { cookie: "console-session=a.b", ..Who::default() }).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{page}");
        assert!(answer.location().starts_with("/console/login?"), "{page}");
        let policy = answer.headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.starts_with("default-src 'self';"), "{page}");
    }
}

#[tokio::test]
async fn proxy_header_identifies_users_and_settings_name_operators() {
    let access = ConsoleAccess::new(&[], Some("x-user"), &["olga".to_owned()]).unwrap();
    let world = World::with_access(access).await;
    let of = |name| Who { header: Some(("x-user", name)), ..Who::default() };
    assert_eq!(world.get("/console", Who::default()).await.status, StatusCode::UNAUTHORIZED);
    let (longest, longer) = ("a".repeat(64), "a".repeat(65));
    for nobody in ["", " ", &longer] {
        let answer = world.get("/console", of(nobody)).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{nobody:?}");
    }
    assert_eq!(world.get("/console", of(&longest)).await.status, StatusCode::OK);
    let ron = world.get("/console/queues/creation/pause", of("ron")).await;
    assert!(ron.text.contains("read-only") && !ron.text.contains("name=\"token\""));
    let olga = world.get("/console/queues/creation/pause", of("olga")).await;

    let fields = [("token", olga.token()), ("reason", "a test")];
    let foreign = world.post("/console/queues/creation/pause", &fields, of("ron")).await;
    assert_eq!(foreign.status, StatusCode::FORBIDDEN);
    assert!(Operations::new(&world.ledger).pauses().await.unwrap().is_empty());
    let granted = world.post("/console/queues/creation/pause", &fields, of("olga")).await;
    assert_eq!(granted.location(), "/console?done=paused");
    assert_eq!(Operations::new(&world.ledger).pauses().await.unwrap()[0].operator, "olga");
}

#[tokio::test]
async fn root_and_trailing_slash_redirect_to_the_overview() {
    let world = World::with_keys().await;
    for path in ["/", "/console/"] {
        let answer = world.get(path, Who::default()).await;
        assert_eq!((answer.status, answer.location()), (StatusCode::SEE_OTHER, "/console"), "{path}");
    }
}

#[tokio::test]
async fn request_with_two_identity_headers_is_refused() {
    let access = ConsoleAccess::new(&[], Some("x-user"), &["olga".to_owned()]).unwrap();
    let world = World::with_access(access).await;
    for second in ["olga", "ron", ""] {
        let who =
            Who { header: Some(("x-user", "olga")), second: Some(("x-user", second)), ..Who::default() };
        for path in ["/console", "/console/queues/creation/pause", "/console/find?id=x"] {
            let answer = world.get(path, who).await;
            assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path}, {second:?}");
            assert!(answer.text.contains("LISTEN_CONSOLE_USER_HEADER"), "{}", answer.text);
        }
        let answer = world.post("/console/queues/creation/pause", &[("reason", "a test")], who).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    }
}

#[tokio::test]
async fn cookie_is_refused_after_sign_out() {
    let world = World::with_keys().await;
    let (mine, other) = (world.cookie("olga's").await, world.cookie("olga's").await);
    let copied = Who { cookie: &mine, ..Who::default() };
    let token = world.get("/console/queues/creation/pause", copied).await.token().to_owned();
    let answer = world.post("/console/logout", &[], copied).await;
    assert_eq!(answer.location(), "/console/login");

    let answer = world.get("/console", copied).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    assert!(answer.location().starts_with("/console/login"), "{}", answer.location());
    let fields = [("token", token.as_str()), ("reason", "a test")];
    let answer = world.post("/console/queues/creation/pause", &fields, copied).await;
    assert!(answer.location().starts_with("/console/login"), "{}", answer.location());
    assert!(Operations::new(&world.ledger).pauses().await.unwrap().is_empty());
    let answer = world.get("/console", Who { cookie: &other, ..Who::default() }).await;
    assert_eq!(answer.status, StatusCode::OK, "another session of the same key goes on");
}
