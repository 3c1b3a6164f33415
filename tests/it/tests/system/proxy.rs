//! The environment's proxy: calls to the operator's model server use it; URLs of users do not, because a proxy would resolve and
//! call addresses that the guard refuses.

use mock_model::{Mock, Options};
use reqwest::Method;
use serde_json::json;

use crate::binary;
use crate::process::{Process, until};
use crate::receiver::Receiver;
use crate::tunnel::{MODELS, Tunnel};
use crate::world::{GARDEN, World};

async fn serve(world: &World, tunnel: &Tunnel, more: &[(&str, &str)]) -> Process {
    let (proxy, models) = (format!("http://{}", tunnel.addr), format!("https://{MODELS}/v1"));
    let mut settings = vec![
        ("LISTEN_TEXT_ENGINE", "openai"),
        ("LISTEN_OPENAI_BASE_URL", &models),
        ("LISTEN_OPENAI_MODEL", "mock"),
        ("LISTEN_OPENAI_EMBED_MODEL", "mock-vectors"),
        ("LISTEN_OPENAI_API_KEY", "sk-service"),
        ("https_proxy", &proxy),
        ("http_proxy", &proxy),
        ("ALL_PROXY", &proxy),
        ("NO_PROXY", ""),
        ("no_proxy", ""),
    ];
    settings.extend(more);
    Process::serve(&world.url, &settings).await
}

#[tokio::test]
async fn model_server_behind_a_proxy_is_called_and_webhooks_ignore_the_proxy() {
    let mock = Mock::start(Options::default()).await.expect("a port is free");
    let tunnel = Tunnel::to(mock.addr()).await;
    let world = World::new().await;
    let authority = tunnel.authority.to_str().expect("a path in UTF-8");
    let process = serve(&world, &tunnel, &[("SSL_CERT_FILE", authority)]).await;
    let client = world.client(&process);
    let receiver = Receiver::start().await;
    client.register_webhook(&receiver.url()).await;
    // The process has asked whether the server is there: the run finds that connection.
    until(async || !tunnel.requests().is_empty()).await;

    let id = client.admit(GARDEN).await;

    assert_eq!(client.finished(&id).await["status"], "completed");
    receiver.posts(1).await;
    assert_eq!(mock.counts()["describe"].answered, 1);
    assert!(mock.calls().iter().all(|call| call.key.as_deref() == Some("sk-service")));
    assert_eq!(
        tunnel.requests(),
        [format!("CONNECT {MODELS}:443")],
        "what is inside the tunnel is not the proxy's"
    );
}

#[tokio::test]
async fn webhook_guard_applies_despite_a_proxy() {
    let mock = Mock::start(Options::default()).await.expect("a port is free");
    let tunnel = Tunnel::to(mock.addr()).await;
    let world = World::new().await;
    // Without a model server, which is the operator's and may be asked for through the proxy at any time.
    let process = serve(&world, &tunnel, &[("LISTEN_TEXT_ENGINE", "embedded")]).await;
    let client = world.client(&process);

    // Literals that are refused, and a name that only the proxy could resolve.
    for url in ["http://169.254.169.254/latest/meta-data", "https://10.0.0.1/hook"] {
        let (status, _) = client.ask(Method::POST, "/v1/dev/user/webhooks", Some(&json!({"url": url}))).await;
        assert_eq!(status, 422, "{url}");
    }
    let (_, hook) = client
        .ask(Method::POST, "/v1/dev/user/webhooks", Some(&json!({"url": format!("https://{MODELS}/hook")})))
        .await;
    let path = format!("/v1/dev/user/webhooks/{}/test", hook["id"].as_str().expect("an id"));
    let (_, tested) = client.ask(Method::POST, &path, None).await;

    assert_ne!(tested["status"], "delivered", "{tested}");
    assert_eq!(tunnel.requests(), Vec::<String>::new(), "nobody asked the proxy");
}

#[tokio::test]
async fn untrusted_model_server_certificate_gets_no_request_and_is_named() {
    let mock = Mock::start(Options::default()).await.expect("a port is free");
    let tunnel = Tunnel::to(mock.addr()).await;
    let world = World::new().await;
    let mut process = serve(&world, &tunnel, &[]).await;

    world.client(&process).admit(GARDEN).await;

    process.line("run ended", |line| line["end"] != "completed").await;
    assert_eq!(mock.calls().len(), 0);
    let why = binary::printed(
        &world.url,
        &["jobs", "why", binary::the_job(&world.url)["job_id"].as_str().expect("an id")],
    );
    assert!(why.contains("model_unavailable") && why.contains("certificate"), "{why}");
}
