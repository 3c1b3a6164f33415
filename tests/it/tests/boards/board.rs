//! The boards as files: what Grafana would read.

use std::fs;

use serde_json::Value;

pub(crate) use it::{read, root};

/// The boards, by their files' names.
pub(crate) const NAMES: [&str; 6] = ["engines", "finalization", "live", "postgres", "reconciler", "webhooks"];

/// One board.
pub(crate) struct Board {
    /// Its file's name, without the end.
    pub(crate) name: String,
    /// The whole file.
    pub(crate) json: Value,
}

/// One panel of a board.
pub(crate) struct Panel<'a> {
    /// `board / title`, for messages.
    pub(crate) place: String,
    pub(crate) json: &'a Value,
}

/// Every board there is, in the order of their names.
pub(crate) fn all() -> Vec<Board> {
    let entries = fs::read_dir(root().join("dashboards/boards")).expect("there are boards");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry can be read").file_name().to_string_lossy().into_owned())
        .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
        .collect();
    names.sort();
    assert_eq!(names, NAMES);
    names
        .into_iter()
        .map(|name| {
            let text = read(&format!("dashboards/boards/{name}.json"));
            Board { json: serde_json::from_str(&text).expect("a board is JSON"), name }
        })
        .collect()
}

impl Board {
    pub(crate) fn panels(&self) -> Vec<Panel<'_>> {
        let panels = self.json["panels"].as_array().expect("a board has panels");
        assert!(panels.len() >= 10, "{} has {} panels", self.name, panels.len());
        panels
            .iter()
            .map(|json| Panel {
                place: format!("{} / {}", self.name, json["title"].as_str().unwrap_or("")),
                json,
            })
            .collect()
    }

    pub(crate) fn variables(&self) -> &Vec<Value> {
        self.json["templating"]["list"].as_array().expect("a board has variables")
    }

    /// An expression as Prometheus is asked it: variables filled in as Grafana does when everything is chosen.
    pub(crate) fn filled(&self, expression: &str) -> String {
        let mut text = expression.replace("$__rate_interval", "15s").replace("$__range", "5m");
        for variable in self.variables() {
            let name = variable["name"].as_str().expect("a variable has a name");
            let value = match variable["type"].as_str() {
                Some("textbox") => variable["query"].as_str(),
                _ => variable["allValue"].as_str(),
            };
            if let Some(value) = value {
                text = text.replace(&format!("${name}"), value);
            }
        }
        text
    }
}

impl<'a> Panel<'a> {
    pub(crate) fn expressions(&self) -> Vec<&'a str> {
        let targets = self.json["targets"].as_array().unwrap_or_else(|| panic!("{}: no targets", self.place));
        assert!(!targets.is_empty(), "{}: no targets", self.place);
        let of = |target: &'a Value| target["expr"].as_str().filter(|text| !text.is_empty());
        let expressions = targets.iter().map(of).collect::<Option<_>>();
        expressions.unwrap_or_else(|| panic!("{}: a target asks nothing", self.place))
    }
}
