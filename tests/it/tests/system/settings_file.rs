//! The settings file: which command reads which setting, and precedence.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use testbed::TestDatabase;

use crate::binary;

/// A file of settings, for as long as a test needs it.
struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("listen-{name}-{}-{made}.toml", std::process::id()));
        std::fs::write(&path, text).expect("a file can be written");
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _gone_already = std::fs::remove_file(&self.0);
    }
}

/// Runs a command whose settings are those of the file, of `variables`, and of its words.
fn run(file: &Path, variables: &[(&str, &str)], words: &[&str]) -> Output {
    let mut command = Command::new(binary::path());
    for name in ["DATABASE_URL", "LISTEN_LOG", "LISTEN_LOG_FORMAT"] {
        command.env_remove(name);
    }
    command.args(words).arg("--config").arg(file).envs(variables.iter().copied());
    command.output().expect("the program can be run")
}

#[tokio::test]
async fn settings_file_gives_every_command_its_database() {
    let database = TestDatabase::new().await;
    let text = format!("database_url = '{}'\naddr = '127.0.0.1:0'\n", database.url());
    let file = File::new("database", &text);
    let ends = |words: &[&str]| run(&file.0, &[], words).status.code();
    assert_eq!(ends(&["jobs", "list"]), Some(0));
    assert_eq!(ends(&["keys", "list", "--user", "none"]), Some(3));
    assert_eq!(ends(&["verify"]), Some(0));
    assert_eq!(ends(&["config"]), Some(0));
}

#[tokio::test]
async fn settings_file_gives_every_command_the_key_of_secrets() {
    let database = TestDatabase::new().await;
    let key = format!("{}=", "A".repeat(43));
    let file = File::new("key", &format!("database_url = '{}'\nsecrets_key = '{key}'\n", database.url()));
    let said = |words: &[&str]| {
        let output = run(&file.0, &[], words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    said(&["users", "create", "--id", "ada"]);
    said(&["apps", "create", "--user", "ada", "Notes"]);
    let shown: Value = serde_json::from_slice(&said(&["secrets", "show", "--json"])).expect("a document");
    assert_eq!((&shown["stored"], &shown["by_newest_key"]), (&json!(1), &json!(1)), "{shown}");
    said(&["secrets", "rotate"]);
}

#[test]
fn settings_precedence_for_logs_is_flag_environment_file() {
    let file = File::new("order", "log = 'warn'\nlog_format = 'human'\n");
    let empty = File::new("empty", "");
    let shown = |file: &File, variables: &[(&str, &str)], words: &[&str]| {
        let output = run(&file.0, variables, &[&["config", "--json"], words].concat());
        let told: Value = serde_json::from_slice(&output.stdout).expect("the settings are a document");
        let of = |name: &str| told["settings"][name].clone();
        (of("log"), of("log_format"))
    };
    let variables = [("LISTEN_LOG", "debug"), ("LISTEN_LOG_FORMAT", "json")];
    assert_eq!(shown(&empty, &[], &[]), (json!("info"), json!("auto")));
    assert_eq!(shown(&file, &[], &[]), (json!("warn"), json!("human")));
    assert_eq!(shown(&file, &variables, &[]), (json!("debug"), json!("json")));
    assert_eq!(shown(&file, &variables, &["--log", "error"]), (json!("error"), json!("json")));
    assert_eq!(shown(&file, &[], &["--log-format", "auto"]), (json!("warn"), json!("auto")));
}

#[test]
fn setting_with_an_empty_variable_is_shown_as_not_set() {
    let (empty, file) = (File::new("unset", ""), File::new("set", "addr = '127.0.0.1:4711'\n"));
    for (file, address, source) in [(&empty, "127.0.0.1:8080", "default"), (&file, "127.0.0.1:4711", "file")]
    {
        let output = run(&file.0, &[("LISTEN_ADDR", "")], &["config", "--json"]);
        let told: Value = serde_json::from_slice(&output.stdout).expect("the settings are a document");
        assert_eq!((&told["settings"]["addr"], &told["sources"]["addr"]), (&json!(address), &json!(source)));
    }
}

#[tokio::test]
async fn settings_file_configures_logs_of_every_command() {
    let database = TestDatabase::new().await;
    let variables = [("DATABASE_URL", &*database.url())];
    let logged = |text: &str| {
        let file = File::new("logs", text);
        let output = run(&file.0, &variables, &["jobs", "list"]);
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(!logged("log = 'warn'").contains("DEBUG"));
    let human = logged("log = 'debug'\nlog_format = 'human'");
    assert!(human.lines().any(|line| line.contains("DEBUG") && !line.starts_with('{')), "{human}");
    let json = logged("log = 'debug'\nlog_format = 'json'");
    assert!(json.lines().any(|line| line.starts_with('{') && line.contains("\"DEBUG\"")), "{json}");
}

#[test]
fn settings_file_values_but_no_secrets_appear_in_help() {
    let secrets = [
        ("database_url", "postgresql://ada:geheim@db.example/listen"),
        ("openai_api_key", "geheim-1"),
        ("vapid_private_key", "geheim-2"),
        ("speech_api_key", "geheim-3"),
        ("deepgram_api_key", "geheim-4"),
        ("console_keys", "olga=reader:geheim-5"),
        ("otel_exporter_otlp_headers", "key=geheim-6"),
    ];
    let lines: Vec<String> = secrets.iter().map(|(name, value)| format!("{name} = '{value}'")).collect();
    let file = File::new("secrets", &format!("addr = '127.0.0.1:4711'\n{}\n", lines.join("\n")));
    for words in [&["serve"][..], &["dev"], &["demo"], &["migrate"], &["config"], &["jobs", "list"]] {
        let output = run(&file.0, &[], &[words, &["--help"]].concat());
        let help = String::from_utf8_lossy(&output.stdout);
        assert!(!help.contains("geheim"), "{words:?}: {help}");
        let takes_all = !matches!(words, ["jobs", "list"] | ["migrate"]);
        assert_eq!(help.contains("4711"), takes_all, "{words:?}: {help}");
    }
}

#[test]
fn settings_file_with_unknown_names_is_refused() {
    for name in ["logs", "log-format", "filter", "format", "config", "json"] {
        let file = File::new(name, &format!("addr = '127.0.0.1:0'\n{name} = 'info'\n"));
        let output = run(&file.0, &[], &["config"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name}: {said}");
        assert!(said.contains(&format!("names unknown settings: {name}\n")), "{said}");
    }
}
