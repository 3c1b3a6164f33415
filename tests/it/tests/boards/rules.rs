//! Rules, and the pages behind them.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::board::{self, read, root};
use crate::client::page;
use crate::process::Process;
use crate::rule;
use crate::world::World;

#[test]
fn alert_has_a_summary_a_severity_and_a_runbook() {
    for alert in rule::alerts() {
        let name = &alert.name;
        assert!(name.starts_with("Listen") && name.chars().all(char::is_alphanumeric), "{name}");
        assert!(["page", "ticket"].contains(&alert.label("severity")), "{name}");
        assert!(alert.annotation("summary").ends_with('.'), "{name}");
        assert!(alert.annotation("description").len() > 40, "{name}");
        let runbook = format!("{{{{ or $externalLabels.listen_docs \"docs\" }}}}/runbooks/{name}.md");
        assert_eq!(alert.annotation("runbook_url"), runbook, "{name}");
        let board = alert.annotation("dashboard_url").strip_prefix("{{ $externalLabels.grafana }}/d/listen-");
        assert!(board.is_some_and(|board| board::NAMES.contains(&board)), "{name}: a board");
    }
}

#[test]
fn every_alert_has_a_runbook_and_every_runbook_an_alert() {
    let alerts: BTreeSet<String> =
        rule::alerts().into_iter().map(|alert| format!("{}.md", alert.name)).collect();
    let entries = fs::read_dir(root().join("docs/runbooks")).expect("there are runbooks");
    let pages: BTreeSet<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(alerts, pages);
    for page in pages {
        let text = read(&format!("docs/runbooks/{page}"));
        let parts: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        assert_eq!(parts, ["Impact", "Check", "Act", "Verify"], "{page}");
        assert_eq!(text.lines().next(), page.strip_suffix(".md").map(|name| format!("# {name}")).as_deref());
        assert!(text.contains("`/console"), "{page} names the console's page");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link) {
            let file = link.split('#').next().unwrap_or_default();
            assert!(root().join("docs/runbooks").join(file).exists(), "{page} links to {link}");
        }
    }
}

#[test]
fn panels_named_in_runbooks_exist() {
    let boards = board::all();
    let mut known: BTreeSet<&str> = boards
        .iter()
        .flat_map(|board| board.json["panels"].as_array().into_iter().flatten())
        .filter_map(|panel| panel["title"].as_str())
        .collect();
    known.extend(boards.iter().filter_map(|board| board.json["title"].as_str()?.strip_prefix("listen · ")));
    for alert in rule::alerts() {
        let text = read(&format!("docs/runbooks/{}.md", alert.name)).replace('\n', " ");
        let slanted =
            text.split('*').skip(1).step_by(2).filter(|words| words.starts_with(char::is_uppercase));
        // A menu of Prometheus, and not a panel.
        for words in slanted.filter(|words| !words.contains('→')) {
            assert!(known.contains(words), "{}: there is no panel {words:?}", alert.name);
        }
    }
}

#[test]
fn every_alert_is_on_the_list_and_has_a_test() {
    let (list, tests) = (read("dashboards/README.md"), read("dashboards/rules/tests.yml"));
    for alert in rule::alerts() {
        assert!(list.contains(&format!("[{0}](../docs/runbooks/{0}.md)", alert.name)), "{}", alert.name);
        assert!(tests.contains(&alert.name), "{} is never made to fire", alert.name);
    }
}

#[test]
fn recording_rule_names_have_level_metric_and_operation_and_are_used() {
    let recorded = rule::recorded();
    let mut asked: String = rule::alerts().into_iter().map(|alert| alert.expression).collect();
    asked.extend(board::all().iter().map(|board| board.json.to_string()));
    asked.extend(recorded.iter().map(|rule| rule.expression.clone()));
    for rule in &recorded {
        let parts: Vec<&str> = rule.name.split(':').collect();
        assert!(
            parts.len() == 3 && parts[0] == "namespace" && parts[1].starts_with("listen_"),
            "{}",
            rule.name
        );
        assert!(asked.contains(&rule.name), "nobody asks for {}", rule.name);
    }
}

/// A sample is found for five minutes: where the next one comes later, alerts go away and come back.
#[test]
fn recording_groups_are_evaluated_twice_within_the_lookback() {
    let recording = rule::yaml("dashboards/rules/recording.yml");
    for group in recording["groups"].as_vec().expect("groups") {
        let name = group["name"].as_str().expect("a name");
        let minutes = group["interval"].as_str().map(|text| text.strip_suffix('m').expect("minutes"));
        let minutes: f64 = minutes.map_or(0.25, |text| text.parse().expect("a number"));
        assert!(minutes <= 2.5, "{name}: every {minutes} minutes");
    }
}

#[test]
fn provisioning_paths_match_the_readme() {
    let providers = rule::yaml("dashboards/provisioning/dashboards.yml");
    let path = providers["providers"][0]["options"]["path"].as_str().expect("a path");
    assert!(read("dashboards/README.md").contains(path));
    let sources = rule::yaml("dashboards/provisioning/datasources.yml");
    assert_eq!(sources["datasources"][0]["type"].as_str(), Some("prometheus"));
}

fn promtool(words: &[&str], input: Option<&[u8]>) {
    use std::io::Write;
    let mut command = Command::new("promtool");
    command.args(words).current_dir(root().join("dashboards"));
    command.stdin(if input.is_some() { std::process::Stdio::piped() } else { std::process::Stdio::null() });
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = command.spawn().expect("promtool can be run: Debian's package is `prometheus`");
    if let (Some(mut pipe), Some(input)) = (child.stdin.take(), input) {
        pipe.write_all(input).expect("it reads");
    }
    let ended = child.wait_with_output().expect("it ends");
    let words_of = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        ended.status.success(),
        "promtool {words:?}: {}{}",
        words_of(&ended.stdout),
        words_of(&ended.stderr)
    );
}

#[test]
#[ignore = "needs Debian's package prometheus"]
fn promtool_accepts_the_rules_and_the_configuration() {
    promtool(
        &["check", "rules", "--lint=all", "--lint-fatal", "rules/recording.yml", "rules/alerts.yml"],
        None,
    );
    promtool(&["check", "config", "prometheus.yml"], None);
}

#[test]
#[ignore = "needs Debian's package prometheus"]
fn every_alert_fires_and_resolves_in_promtool_tests() {
    promtool(&["test", "rules", "rules/tests.yml"], None);
}

#[tokio::test]
#[ignore = "needs Debian's package prometheus"]
async fn promtool_accepts_the_names_of_our_metrics() {
    let world = World::new().await;
    let process = Process::serve(&world.url, &[]).await;
    let (_, text) = page(&format!("{}/metrics", process.admin)).await;
    promtool(&["check", "metrics"], Some(text.as_bytes()));
}
