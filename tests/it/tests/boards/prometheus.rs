//! A Prometheus of this test's own, with our rules, that scrapes one process every few seconds.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use reqwest::Url;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::Instant;

use crate::board::root;
use crate::client::page;
use crate::process::PATIENCE;

/// A running Prometheus; killed with the test.
pub(crate) struct Prometheus {
    _child: Child,
    base: String,
    folder: PathBuf,
}

impl Prometheus {
    /// Starts one that scrapes the admin address of a process every so many seconds, and waits for its first good
    /// scrape.
    pub(crate) async fn of(admin: &str, seconds: u32) -> Self {
        let target = admin.strip_prefix("http://").expect("an admin address");
        let folder = folder_of(target);
        let config = folder.join("prometheus.yml");
        std::fs::write(&config, configuration(target, seconds)).expect("the configuration can be written");
        let mut child = Command::new("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
            .args(["--web.listen-address=127.0.0.1:0", "--log.level=info"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("Prometheus can be started: Debian's package is `prometheus`");
        let mut logs = BufReader::new(child.stderr.take().expect("its logs are piped")).lines();
        let listening = async {
            while let Ok(Some(line)) = logs.next_line().await {
                if let Some((_, addr)) = line.split_once("msg=\"Listening on\" address=") {
                    return addr.trim().to_owned();
                }
            }
            panic!("Prometheus ended before it listened");
        };
        let addr = tokio::time::timeout(PATIENCE, listening).await.expect("Prometheus listens in time");
        tokio::spawn(async move { while let Ok(Some(_)) = logs.next_line().await {} });
        let prometheus = Self { _child: child, base: format!("http://{addr}"), folder };
        prometheus.until("up{job=\"listen\"}", |value| value == 1.0).await;
        prometheus
    }

    /// What the API answers to an instant query: the values of the series.
    pub(crate) async fn query(&self, expression: &str) -> Result<Vec<f64>, String> {
        let url = Url::parse_with_params(&format!("{}/api/v1/query", self.base), [("query", expression)]);
        let answer = self.get(url.expect("a good URL").as_str()).await?;
        let result = answer["data"]["result"].as_array().ok_or("no vector")?;
        let value = |sample: &Value| sample["value"][1].as_str().and_then(|text| text.parse().ok());
        result.iter().map(|sample| value(sample).ok_or_else(|| format!("no number: {sample}"))).collect()
    }

    /// Waits until some series of the expression has a value that is wanted.
    pub(crate) async fn until(&self, expression: &str, wanted: impl Fn(f64) -> bool) {
        let began = Instant::now();
        loop {
            let values = self.query(expression).await;
            if values.as_ref().is_ok_and(|values| values.iter().copied().any(&wanted)) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "{expression} is {values:?}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Every rule as Prometheus has it: name, and what went wrong when it was evaluated last.
    pub(crate) async fn rules(&self) -> Vec<(String, String)> {
        let answer = self.get(&format!("{}/api/v1/rules", self.base)).await.expect("the rules can be read");
        let groups = answer["data"]["groups"].as_array().expect("groups").clone();
        let rules = groups.iter().flat_map(|group| group["rules"].as_array().into_iter().flatten());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        rules.map(|rule| (text(&rule["name"]), text(&rule["lastError"]))).collect()
    }

    async fn get(&self, url: &str) -> Result<Value, String> {
        let (status, text) = page(url).await;
        if status.is_success() {
            serde_json::from_str(&text).map_err(|error| error.to_string())
        } else {
            Err(format!("{status}: {text}"))
        }
    }
}

/// A folder of this Prometheus' own, named after whom it scrapes.
fn folder_of(target: &str) -> PathBuf {
    let name = format!("prometheus-{}", target.replace(':', "-"));
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // What is left is in the build's folder; a run that cannot tidy up has still tested.
        let _tidied = std::fs::remove_dir_all(&self.folder);
    }
}

fn configuration(target: &str, seconds: u32) -> String {
    let rules = root().join("dashboards/rules");
    format!(
        "global: {{scrape_interval: {seconds}s, scrape_timeout: {seconds}s, evaluation_interval: 1s}}\n\
         rule_files: ['{0}/recording.yml', '{0}/alerts.yml']\n\
         scrape_configs: [{{job_name: listen, static_configs: [{{targets: ['{target}']}}]}}]\n",
        rules.display()
    )
}
