//! The text that a service answers to a scrape.

use std::collections::BTreeMap;

use crate::expression::Selector;

/// One series: its name and its labels.
#[derive(Debug)]
pub(crate) struct Series {
    name: String,
    labels: BTreeMap<String, String>,
}

/// Labels that a scrape adds.
const ADDED: [&str; 2] = ["job", "instance"];

/// The series of a scrape's text, and the metrics that are counters or histograms.
pub(crate) struct Scrape {
    series: Vec<Series>,
    counters: Vec<String>,
}

impl Scrape {
    pub(crate) fn read(text: &str) -> Self {
        let series = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(series_of);
        let typed = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
        let counters = typed.filter(|(_, kind)| *kind != "gauge").map(|(name, _)| name.to_owned());
        Self { series: series.collect(), counters: counters.collect() }
    }

    /// Whether some series has the name and satisfies the matchers, those of a scrape's own labels aside.
    pub(crate) fn has(&self, selector: &Selector) -> bool {
        self.series.iter().filter(|series| series.name == selector.name).any(|series| {
            let own = selector.matchers.iter().filter(|matcher| !ADDED.contains(&matcher.name.as_str()));
            own.clone()
                .all(|matcher| series.labels.get(&matcher.name).is_some_and(|value| matcher.is_match(value)))
        })
    }

    /// Whether the metric only ever rises.
    pub(crate) fn is_counter(&self, name: &str) -> bool {
        let bare = ["_bucket", "_count", "_sum"].iter().find_map(|end| name.strip_suffix(end));
        let known = |name: &str| self.counters.iter().any(|counter| counter == name);
        known(name) || bare.is_some_and(known)
    }
}

fn series_of(line: &str) -> Series {
    let (series, _) = line.rsplit_once(' ').expect("a sample has a value");
    let (name, inner) = series.split_once('{').unwrap_or((series, "}"));
    let inner = inner.strip_suffix('}').expect("labels are closed");
    // Values are names of ours: none holds a comma or a quote.
    let pairs = inner.split(',').filter(|pair| !pair.is_empty()).map(|pair| {
        let (label, value) = pair.split_once('=').expect("a label has a value");
        (label.to_owned(), value.trim_matches('"').to_owned())
    });
    Series { name: name.to_owned(), labels: pairs.collect() }
}

#[test]
fn scrape_parser_reads_names_labels_and_types() {
    let text =
        "# HELP a_total A.\n# TYPE a_total counter\na_total{end=\"lost\",n=\"1\"} 0\n# TYPE b gauge\nb 1\n";
    let scrape = Scrape::read(text);
    let asks = |text: &str| scrape.has(&crate::expression::selectors(text)[0]);
    assert!(asks("a_total{end=\"lost\", job=~\".+\"}") && asks("b"));
    assert!(!asks("a_total{end=\"found\"}") && !asks("a_total{start=~\".*\"}") && !asks("c"));
    assert!(scrape.is_counter("a_total") && !scrape.is_counter("b"));
}
