//! The files of `deploy/` as the tests read them.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use it::root;
use serde_json::Value;
use yaml_rust2::{Yaml, YamlLoader};

use crate::binary;

pub(crate) use it::read;

/// What a container of ours is given.
pub(crate) type Env = BTreeMap<String, String>;

/// One container that runs our program, wherever it is described.
pub(crate) struct Container {
    /// File and name, for messages.
    pub(crate) place: String,
    pub(crate) env: Env,
    pub(crate) yaml: Yaml,
}

/// The text of every Rust file below a folder.
pub(crate) fn sources_below(folder: &str) -> String {
    let entries = fs::read_dir(root().join(folder)).expect("the folder is there");
    let texts = entries.map(|entry| {
        let path = format!("{folder}/{}", entry.expect("an entry").file_name().to_string_lossy());
        match root().join(&path).is_dir() {
            true => sources_below(&path),
            false if path.ends_with(".rs") => read(&path),
            false => String::new(),
        }
    });
    texts.collect()
}

/// Every document of a file.
pub(crate) fn documents(path: &str) -> Vec<Yaml> {
    YamlLoader::load_from_str(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The document of that kind, which is the only one of the file.
pub(crate) fn document(path: &str, kind: &str) -> Yaml {
    let mut found = documents(path).into_iter().filter(|document| document["kind"].as_str() == Some(kind));
    let document = found.next().unwrap_or_else(|| panic!("{path} has no {kind}"));
    assert!(found.next().is_none(), "{path} has one {kind}");
    document
}

/// The Deployments of the base.
pub(crate) fn deployments() -> Vec<Yaml> {
    ["api", "worker"]
        .map(|name| document(&format!("deploy/kubernetes/base/{name}.yaml"), "Deployment"))
        .into()
}

/// The settings that all pods share.
pub(crate) fn shared() -> Env {
    config_map("deploy/kubernetes/base/kustomization.yaml")
}

/// What a pod is given where finalizations go through the platform's task queue.
pub(crate) fn with_cloud_tasks(mut env: Env) -> Env {
    env.extend(config_map("deploy/kubernetes/cloud-tasks/kustomization.yaml"));
    env
}

fn config_map(path: &str) -> Env {
    let file = &documents(path)[0];
    let maps = file["configMapGenerator"].as_vec().expect("settings are made into maps");
    let literals = |map: &Yaml| map["literals"].as_vec().cloned().expect("settings are literals");
    maps.iter()
        .flat_map(literals)
        .map(|literal| {
            let (name, value) = literal.as_str().expect("text").split_once('=').expect("NAME=VALUE");
            (name.to_owned(), value.to_owned())
        })
        .collect()
}

/// `name` and `value` of every entry; a secret's value is made up.
fn entries(env: &Yaml) -> Env {
    let of = |entry: &Yaml| {
        let name = entry["name"].as_str().expect("a setting has a name").to_owned();
        let secret = if name == "DATABASE_URL" { "postgresql://db/listen" } else { "secret" };
        (name, entry["value"].as_str().unwrap_or(secret).to_owned())
    };
    env.as_vec().into_iter().flatten().map(of).collect()
}

/// Every container that serves.
pub(crate) fn containers() -> Vec<Container> {
    let pods = deployments().into_iter().map(|deployment| {
        let yaml = deployment["spec"]["template"]["spec"]["containers"][0].clone();
        let mut env = entries(&yaml["env"]);
        env.extend(shared());
        Container { place: format!("kubernetes {}", text(&deployment["metadata"]["name"])), env, yaml }
    });
    let run = document("deploy/cloud-run/service.yaml", "Service");
    let yaml = run["spec"]["template"]["spec"]["containers"][0].clone();
    let run = Container { place: "cloud-run".to_owned(), env: entries(&yaml["env"]), yaml };
    let services = ["api", "worker"].map(composed);
    pods.chain([run]).chain(services).collect()
}

/// A service of the compose file, with what `<<` merges into it.
fn composed(name: &str) -> Container {
    let file = &documents("deploy/compose.yaml")[0];
    let service = file["services"][name].clone();
    let mut env = Env::new();
    for part in [&service["environment"]["<<"], &service["environment"]] {
        for (key, value) in part.as_hash().into_iter().flatten() {
            if let Some(value) = value.as_str() {
                env.insert(text(key).to_owned(), filled(value));
            }
        }
    }
    Container { place: format!("compose {name}"), env, yaml: service["<<"].clone() }
}

/// A value as compose fills it in where the environment holds nothing but a password.
fn filled(value: &str) -> String {
    let Some((before, rest)) = value.split_once("${") else { return value.to_owned() };
    let (inner, after) = rest.split_once('}').expect("a variable ends");
    let default = match inner.split_once(":-") {
        Some((_, default)) => default,
        None => "password",
    };
    format!("{before}{default}{}", filled(after))
}

pub(crate) fn text(yaml: &Yaml) -> &str {
    yaml.as_str().unwrap_or_else(|| panic!("{yaml:?} is no text"))
}

pub(crate) fn number(yaml: &Yaml) -> i64 {
    yaml.as_i64().unwrap_or_else(|| panic!("{yaml:?} is no number"))
}

/// What the program makes of an environment: `listen config --json`. A setting that cannot work fails here.
pub(crate) fn effective(path: &str, env: &Env) -> Value {
    let output = Command::new(binary::path())
        .args(["config", "--json"])
        .env_clear()
        .envs(env)
        .output()
        .expect("the program can be run");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{path}: {said}{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    document["settings"].clone()
}

/// A number of [`effective`].
pub(crate) fn setting(settings: &Value, name: &str) -> i64 {
    let shown = settings[name].as_str().unwrap_or_else(|| panic!("{name} is not shown: {settings}"));
    shown.parse().unwrap_or_else(|_| panic!("{name} is no number: {shown}"))
}
