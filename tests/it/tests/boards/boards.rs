//! The boards, held to the rules of Grafana's dashboard linter and to what a running service exports.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::Value;

use crate::board::{self, Board, Panel};
use crate::client::page;
use crate::exposition::Scrape;
use crate::expression::{Selector, selectors};
use crate::process::{PATIENCE, Process};
use crate::rule;
use crate::world::World;

/// Units of Grafana that fit what we measure.
const UNITS: [&str; 8] = ["s", "short", "percentunit", "opm", "ops", "Bps", "bytes", "currencyUSD"];

/// Where selectors of a board may ask for a counter, and nowhere else.
const RATES: [&str; 3] = ["rate", "irate", "increase"];
/// What else looks at a stretch of time: of gauges.
const OF_GAUGES: [&str; 3] = ["delta", "last_over_time", "max_over_time"];

fn each_panel(check: impl Fn(&Board, &Panel<'_>)) {
    for board in board::all() {
        board.panels().iter().for_each(|panel| check(&board, panel));
    }
}

fn each_selector(check: impl Fn(&Panel<'_>, &Selector)) {
    each_panel(|board, panel| {
        for expression in panel.expressions() {
            selectors(&board.filled(expression)).iter().for_each(|selector| check(panel, selector));
        }
    });
}

#[test]
fn board_uid_is_its_file_name_and_it_is_read_only() {
    for Board { name, json } in board::all() {
        assert_eq!(json["uid"], format!("listen-{name}"));
        assert_eq!(json["editable"], false, "{name}");
        assert!(json["title"].as_str().is_some_and(|title| title.starts_with("listen · ")), "{name}");
        assert!(
            json["description"].as_str().is_some_and(|text| text.ends_with('?')),
            "{name} asks a question"
        );
        assert_eq!(json["tags"], serde_json::json!(["listen"]), "the boards find each other by it");
        assert!(json["id"].is_null() && json["version"] == 1, "{name} was not exported from a Grafana");
    }
}

#[test]
fn board_has_variables_for_source_job_and_instances() {
    for board in board::all() {
        let named = |name: &str| {
            let found = board.variables().iter().find(|variable| variable["name"] == name);
            found.unwrap_or_else(|| panic!("{} has no variable {name}", board.name))
        };
        assert_eq!(
            (&named("datasource")["type"], &named("datasource")["query"]),
            (&"datasource".into(), &"prometheus".into())
        );
        for name in ["job", "instance"] {
            let variable = named(name);
            assert_eq!(variable["datasource"]["uid"], "${datasource}", "{}", board.name);
            assert_eq!(variable["refresh"], 2, "{}: asked again when the time changes", board.name);
            assert_eq!(
                (&variable["multi"], &variable["allValue"]),
                (&true.into(), &".+".into()),
                "{}",
                board.name
            );
            let query = variable["query"]["query"].as_str().expect("a query");
            let inner = query
                .strip_prefix("label_values(")
                .and_then(|rest| rest.strip_suffix(')'))
                .expect("label_values");
            let (selector, label) = inner.rsplit_once(", ").expect("a selector and a label");
            assert_eq!(label, name);
            assert_eq!(selectors(&board.filled(selector))[0].name, "listen_build_info");
        }
    }
}

#[test]
fn panel_has_a_description_and_a_unit() {
    each_panel(|_, panel| {
        let text = |key: &str| panel.json[key].as_str().unwrap_or_default().to_owned();
        assert!(text("title").len() > 2, "{}", panel.place);
        assert!(
            text("description").len() > 20 && text("description").ends_with('.'),
            "{}: a sentence",
            panel.place
        );
        let unit = panel.json["fieldConfig"]["defaults"]["unit"].as_str().unwrap_or_default();
        assert!(UNITS.contains(&unit), "{}: {unit:?} is no unit", panel.place);
        assert!(["stat", "timeseries", "bargauge"].contains(&text("type").as_str()), "{}", panel.place);
    });
}

#[test]
fn panel_ids_and_positions_are_unique() {
    for board in board::all() {
        let panels = board.panels();
        let ids: BTreeSet<i64> = panels.iter().filter_map(|panel| panel.json["id"].as_i64()).collect();
        assert_eq!(ids.len(), panels.len(), "{}: ids", board.name);
        let mut taken = BTreeSet::new();
        for panel in panels {
            let at = |key: &str| panel.json["gridPos"][key].as_u64().expect("a place is four numbers");
            assert!(at("x") + at("w") <= 24, "{}", panel.place);
            for x in at("x")..at("x") + at("w") {
                for y in at("y")..at("y") + at("h") {
                    assert!(taken.insert((x, y)), "{} lies on another one", panel.place);
                }
            }
        }
    }
}

#[test]
fn panel_queries_use_the_chosen_source() {
    let chosen = |json: &Value| json["uid"] == "${datasource}" && json["type"] == "prometheus";
    each_panel(|_, panel| {
        assert!(chosen(&panel.json["datasource"]), "{}", panel.place);
        let targets = panel.json["targets"].as_array().expect("targets");
        assert!(targets.iter().all(|target| chosen(&target["datasource"])), "{}", panel.place);
    });
}

#[test]
fn panel_selectors_use_the_chosen_job_and_instances() {
    each_panel(|_, panel| {
        for expression in panel.expressions() {
            let names = expression.matches("listen_").count();
            for chosen in [r#"job=~"$job""#, r#"instance=~"$instance""#] {
                assert_eq!(expression.matches(chosen).count(), names, "{}: {chosen}", panel.place);
            }
        }
    });
}

#[test]
fn rates_use_an_interval_that_fits_the_scrapes() {
    each_panel(|_, panel| {
        for expression in panel.expressions().iter().filter(|text| text.contains("rate(")) {
            let fitting = expression.matches("[$__rate_interval]").count();
            assert_eq!(expression.matches("rate(").count(), fitting, "{}: {expression}", panel.place);
        }
    });
}

/// Whatever else a scrape adds (job, instance, pod, container) tells parts of one deployment apart.
#[test]
fn recording_rules_aggregate_one_deployment() {
    for rule in rule::recorded().iter().chain(&rule::alerts()) {
        let found = selectors(&rule.expression);
        let is_scraped = |selector: &&Selector| {
            !selector.name.starts_with("namespace:listen_") && selector.inside.as_deref() != Some("absent")
        };
        let scraped = found.iter().filter(is_scraped).count();
        let by = |labels: &str| rule.expression.matches(&format!(" by ({labels}) (")).count();
        assert_eq!(by("namespace") + by("namespace, shard"), scraped, "{}", rule.name);
        assert!(!rule.expression.contains("without"), "{}", rule.name);
    }
}

/// So that the tables have an age of it.
pub(crate) async fn vacuum(url: &str) {
    let pool = sqlx::PgPool::connect(url).await.expect("the database answers");
    sqlx::raw_sql("vacuum").execute(&pool).await.expect("vacuum runs");
    pool.close().await;
}

/// A scrape of a service that has answered a request, so that every family is there.
async fn scraped() -> Scrape {
    let world = World::new().await;
    // A speech server that does not answer: what is known of it is a series of its own.
    let process = Process::serve(&world.url, &[("LISTEN_SPEECH_BASE_URL", "http://127.0.0.1:1/v1")]).await;
    let _not_found = world.client(&process).ask(Method::GET, "/v1/dev/user/conversations/none", None).await;
    // Web push is not configured: 503.
    let _failed = world.client(&process).ask(Method::GET, "/v1/users/me/push-subscriptions/key", None).await;
    vacuum(&world.url).await;
    let begun = Instant::now();
    loop {
        let (status, text) = page(&format!("{}/metrics", process.admin)).await;
        assert!(status.is_success(), "{status}: {text}");
        // The process reports its servers a moment after it has started.
        if text.contains("listen_speech_up") {
            return Scrape::read(&text);
        }
        assert!(begun.elapsed() < PATIENCE, "no report of the speech server: {text}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn every_series_of_boards_and_rules_is_exported_with_the_right_type() {
    let scrape = scraped().await;
    let recorded: BTreeSet<String> = rule::recorded().into_iter().map(|rule| rule.name).collect();
    let check = |place: &str, selector: &Selector| {
        // Several shards have it; `tests/system/shards.rs` reads it.
        if recorded.contains(&selector.name) || selector.name == "listen_shard_up" {
            return;
        }
        assert!(scrape.has(selector), "{place}: nothing answers to {selector:?}");
        let inside =
            |functions: &[&str]| selector.inside.as_deref().is_some_and(|name| functions.contains(&name));
        let as_rate = inside(&RATES);
        assert_eq!(scrape.is_counter(&selector.name), as_rate, "{place}: {}", selector.name);
        assert_eq!(as_rate || inside(&OF_GAUGES), selector.ranged, "{place}: {}", selector.name);
    };
    each_selector(|panel, selector| check(&panel.place, selector));
    for rule in rule::recorded().iter().chain(&rule::alerts()) {
        selectors(&rule.expression).iter().for_each(|selector| {
            if !recorded.contains(&selector.name) {
                check(&rule.name, selector);
            }
        });
    }
}
