//! Termination times: does every platform wait as long as the settings need?

use crate::files::{containers, deployments, documents, effective, number, read, setting, text};

/// What the program adds to the wait of a create: two seconds for the answer.
const ANSWER: i64 = 2;
/// What runs, live sockets, turns of the assistant and raw audio may take, each at most.
const WORK: i64 = 20;
/// And what its own end may.
const OWN_END: i64 = 5;

/// How long a process may take: it accepts on, and then a create may wait.
fn needed(settings: &serde_json::Value) -> i64 {
    let answer = setting(settings, "create_wait_seconds") + ANSWER;
    setting(settings, "drain_seconds") + answer.max(WORK) + OWN_END
}

#[test]
fn pods_have_the_termination_time_their_settings_need() {
    let pods: Vec<_> =
        containers().into_iter().filter(|container| container.place.starts_with("kubernetes")).collect();
    assert!(pods.len() > 1, "the pods were found");
    for (container, deployment) in pods.iter().zip(deployments()) {
        let grace = number(&deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]);
        let needed = needed(&effective(&container.place, &container.env));
        assert!(grace >= needed, "{}: {grace} s, and {needed} are needed", container.place);
    }
}

#[test]
fn cloud_run_shutdown_settings_fit_into_ten_seconds() {
    let run = containers().into_iter().find(|container| container.place == "cloud-run").expect("it is there");
    let settings = effective(&run.place, &run.env);
    assert!(setting(&settings, "drain_seconds") + setting(&settings, "create_wait_seconds") + 2 < 10);
}

#[test]
fn compose_and_systemd_stop_timeouts_fit_the_settings() {
    let seconds = |words: &str| words.trim_end_matches('s').parse::<i64>().expect("seconds");
    let file = &documents("deploy/compose.yaml")[0];
    let grace = seconds(text(&file["x-listen"]["stop_grace_period"]));
    for container in containers().iter().filter(|container| container.place.starts_with("compose")) {
        assert!(grace >= needed(&effective(&container.place, &container.env)), "{}", container.place);
    }
    let example = read("deploy/systemd/listen.toml.example");
    let drain = example.lines().find_map(|line| line.strip_prefix("drain_seconds = ")).expect("it is set");
    let env = [("LISTEN_DRAIN_SECONDS", drain), ("DATABASE_URL", "postgresql://db/listen")];
    let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    for unit in ["listen.service", "listen-worker@.service"] {
        let text = read(&format!("deploy/systemd/{unit}"));
        let stop = text.lines().find_map(|line| line.strip_prefix("TimeoutStopSec=")).expect("it is set");
        assert!(seconds(stop) >= needed(&effective(unit, &env)), "{unit}");
    }
}
