//! The rules as files: what Prometheus would load.

use yaml_rust2::{Yaml, YamlLoader};

use crate::board::read;

/// One rule.
pub(crate) struct Rule {
    /// The name that it records or alerts under.
    pub(crate) name: String,
    pub(crate) expression: String,
    yaml: Yaml,
}

/// Rules that record.
pub(crate) fn recorded() -> Vec<Rule> {
    load("dashboards/rules/recording.yml", "record")
}

/// Rules that alert.
pub(crate) fn alerts() -> Vec<Rule> {
    load("dashboards/rules/alerts.yml", "alert")
}

/// A YAML file with one document.
pub(crate) fn yaml(path: &str) -> Yaml {
    let mut documents =
        YamlLoader::load_from_str(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert_eq!(documents.len(), 1, "{path} is one document");
    documents.remove(0)
}

fn load(path: &str, kind: &str) -> Vec<Rule> {
    let file = yaml(path);
    let groups = file["groups"].as_vec().expect("rules come in groups");
    let rules = groups.iter().flat_map(|group| group["rules"].as_vec().expect("a group has rules"));
    rules
        .map(|rule| Rule {
            name: rule[kind].as_str().unwrap_or_else(|| panic!("{path}: {rule:?} is no {kind}")).to_owned(),
            expression: rule["expr"].as_str().expect("a rule has an expression").to_owned(),
            yaml: rule.clone(),
        })
        .collect()
}

impl Rule {
    pub(crate) fn label(&self, name: &str) -> &str {
        self.yaml["labels"][name].as_str().unwrap_or_default()
    }

    pub(crate) fn annotation(&self, name: &str) -> &str {
        self.yaml["annotations"][name].as_str().unwrap_or_default()
    }
}
