//! Shards on several servers, with users who are spread over them.

use std::process::{Command, Output};
use std::time::Duration;

use reqwest::StatusCode;
use serde_json::json;
use tokio::time::Instant;

use crate::binary;
use crate::client::Client;
use crate::private_server::PrivateServer;
use crate::process::Process;

/// Servers that share the shards.
pub(crate) struct Installation {
    pub(crate) servers: Vec<PrivateServer>,
    shards: String,
    pub(crate) urls: String,
}

pub(crate) struct User {
    pub(crate) id: String,
    pub(crate) key: String,
    pub(crate) shard: u32,
}

impl Installation {
    /// A server for each of the ranges.
    pub(crate) fn start(shards: u16, ranges: &[&str]) -> Self {
        let servers: Vec<PrivateServer> = ranges.iter().map(|_| PrivateServer::start()).collect();
        let urls = ranges.iter().zip(&servers).map(|(range, server)| format!("{range}={}", server.url()));
        let urls = urls.collect::<Vec<_>>().join(",");
        Self { servers, shards: shards.to_string(), urls }
    }

    pub(crate) fn settings(&self) -> [(&str, &str); 2] {
        [("LISTEN_SHARDS", &self.shards), ("LISTEN_SHARD_URLS", &self.urls)]
    }

    pub(crate) fn command(&self, words: &[&str]) -> Output {
        Command::new(binary::path())
            .args(words)
            .env_remove("DATABASE_URL")
            .envs(self.settings())
            .env("USER", "ann")
            .output()
            .expect("the program can be run")
    }

    pub(crate) fn printed(&self, words: &[&str]) -> String {
        let output = self.command(words);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "listen {words:?} ended with {}: {complaint}", output.status);
        String::from_utf8(output.stdout).expect("commands speak UTF-8").trim().to_owned()
    }

    /// A user with a key. The key says in which shard the user is.
    pub(crate) fn with(&self, id: String) -> User {
        self.printed(&["users", "create", "--id", &id]);
        let key = self.printed(&["keys", "create", "--user", &id]);
        let shard = u32::from_str_radix(&key[4..6], 36).expect("two digits behind the prefix");
        User { id, key, shard }
    }

    pub(crate) async fn serve(&self) -> Process {
        self.serve_with(&[]).await
    }

    pub(crate) async fn serve_with(&self, more: &[(&str, &str)]) -> Process {
        let settings = [&self.settings(), more].concat();
        Process::serve("postgresql://nobody@localhost/nowhere?host=/nowhere", &settings).await
    }
}

impl User {
    pub(crate) fn at(&self, process: &Process) -> Client {
        Client::new(&process.api, &self.key)
    }

    /// One answer to the finalize of the user's conversation, whether it says when to come again, and how long it took.
    pub(crate) async fn finalize(
        &self,
        process: &Process,
        conversation: &str,
    ) -> (StatusCode, bool, Duration) {
        let begun = Instant::now();
        let path = format!("{}/v1/conversations/{conversation}/finalize", process.api);
        let request = crate::client::http().post(path).bearer_auth(&self.key).json(&json!({}));
        let answer = request.send().await.expect("the process answers");
        (answer.status(), answer.headers().contains_key("retry-after"), begun.elapsed())
    }
}
