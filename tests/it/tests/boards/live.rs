//! A real Prometheus scrapes a service at work, and is asked for every panel.

use std::time::Duration;

use mock_model::{Mock, Options};

use crate::board::{self, Board};
use crate::boards::vacuum;
use crate::process::Process;
use crate::prometheus::Prometheus;
use crate::receiver::Receiver;
use crate::rule;
use crate::speaker;
use crate::world::{GARDEN, World};

/// How long the service works before it is asked: a few scrapes more than a rate's interval.
const AT_WORK: Duration = Duration::from_secs(20);

/// A service with a model and a speech engine to ask, and an endpoint to tell.
async fn at_work(world: &World, model: &str, speech: &str) -> Process {
    let settings = [
        ("LISTEN_TEXT_ENGINE", "openai"),
        ("LISTEN_OPENAI_BASE_URL", model),
        ("LISTEN_OPENAI_MODEL", "small"),
        ("LISTEN_SPEECH_BASE_URL", speech),
        ("LISTEN_RATE_PER_MINUTE", "0"),
    ];
    Process::serve(&world.url, &settings).await
}

#[tokio::test]
#[ignore = "needs Debian's package prometheus"]
async fn every_panel_of_a_busy_service_has_data() {
    let world = World::new().await;
    let model = Mock::start(Options::default()).await.expect("a port is free");
    let receiver = Receiver::start().await;
    let speech = mock_speech::Transcriber::start().await;
    let process = at_work(&world, &model.base_url(), &speech.base_url()).await;
    let client = world.client(&process);
    client.register_webhook(&receiver.url()).await;
    let prometheus = Prometheus::of(&process.admin, 1).await;

    // It works for as long as it is asked about: rates are those of the last seconds.
    let working = async {
        loop {
            let id = client.admit(GARDEN).await;
            assert_eq!(client.finished(&id).await["status"], "completed");
        }
    };
    let asking = async {
        tokio::time::sleep(AT_WORK).await;
        vacuum(&world.url).await;
        prometheus.until("count(listen_postgres_vacuum_age_seconds)", |count| count >= 7.0).await;
        prometheus.until("namespace:listen_queue_late:avg1h", |share| share == 0.0).await;
        let mut wrong = Vec::new();
        for board in board::all() {
            ask_panels(&prometheus, &board, &mut wrong).await;
        }
        wrong
    };
    let wrong = tokio::select! {
        () = working => vec!["it stopped working".to_owned()],
        () = speaker::speak(&world, &process) => vec!["it is spoken to no longer".to_owned()],
        wrong = asking => wrong,
    };
    assert_eq!(wrong, Vec::<String>::new());
    let rules = prometheus.rules().await;
    assert_eq!(rules.len(), rule::recorded().len() + rule::alerts().len(), "all of them were loaded");
    let failed: Vec<_> = rules.iter().filter(|(_, error)| !error.is_empty()).collect();
    assert!(failed.is_empty(), "{failed:?}");
    let firing = prometheus.query("ALERTS{alertstate=\"firing\"}").await.expect("alerts can be read");
    assert!(firing.is_empty(), "nothing is wrong, and nothing says so");
}

/// No error, no empty answer, and a number at last: a share of nothing would be none.
async fn ask_panels(prometheus: &Prometheus, board: &Board, wrong: &mut Vec<String>) {
    for panel in board.panels() {
        for expression in panel.expressions() {
            let asked = board.filled(expression);
            match prometheus.query(&asked).await {
                Ok(values) if values.iter().any(|value| value.is_finite()) => {}
                answered => wrong.push(format!("{}: {answered:?} to {asked}", panel.place)),
            }
        }
    }
}

#[tokio::test]
#[ignore = "needs Debian's package prometheus"]
async fn alerts_fire_when_the_collector_is_down_or_metrics_are_absent() {
    // A service without its database: what the collector would read is absent, and it says so.
    let process = Process::serve("postgresql://nobody@127.0.0.1:1/nothing", &[]).await;
    // Its answer takes as long as it waits for a connection: three seconds.
    let prometheus = Prometheus::of(&process.admin, 5).await;
    prometheus.until("listen_collector_up", |up| up == 0.0).await;
    prometheus
        .until("ALERTS{alertname=\"ListenCollectorDown\", alertstate=\"pending\"}", |one| one == 1.0)
        .await;
    prometheus
        .until("ALERTS{alertname=\"ListenMetricsAbsent\", alertstate=\"pending\"}", |one| one == 1.0)
        .await;
    assert_eq!(prometheus.query("listen_finalization_jobs").await, Ok(Vec::new()), "absent, not stale");
}
