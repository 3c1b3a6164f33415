//! `listen healthcheck`: asks this machine's process how it is, where there is no shell and no curl to ask with.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    process::ExitCode,
    time::Duration,
};

use anyhow::Context;
use clap::Args;

use super::stdout::say;
use crate::process::install_crypto;

/// How long an answer is waited for. Readiness waits two seconds for the database.
const WAIT: Duration = Duration::from_secs(5);

/// Ask a running process whether it is ready; exit 0 when it is, 1 when it is not or does not answer.
#[derive(Args, Debug)]
pub(crate) struct Healthcheck {
    /// Ask whether it takes work: the schema is there, the worker runs, it is not stopping (the default).
    #[arg(long, conflicts_with = "live")]
    ready: bool,
    /// Ask only whether it runs, whatever its database does.
    #[arg(long)]
    live: bool,
    /// The admin address of that process.
    #[arg(long, env = "LISTEN_ADMIN_ADDR", default_value = "127.0.0.1:8081", value_name = "IP:PORT")]
    admin_addr: SocketAddr,
}

/// Asks once.
pub(crate) async fn run(check: Healthcheck) -> anyhow::Result<ExitCode> {
    let path = if check.live { "livez" } else { "readyz" };
    let url = format!("http://{}/{path}", reachable(check.admin_addr));
    install_crypto();
    let client = reqwest::Client::builder().no_proxy().timeout(WAIT).build().context("making a client")?;
    let answer = client.get(&url).send().await.with_context(|| {
        format!(
            "nothing answered at {url}: is the process up, and is this its --admin-addr (LISTEN_ADMIN_ADDR)?"
        )
    })?;
    let is_well = answer.status().is_success();
    say!("{}", answer.text().await.context("reading the answer")?.trim_end())?;
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A process that listens on all addresses is reached on the loopback one.
fn reachable(addr: SocketAddr) -> SocketAddr {
    let ip = match addr.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, addr.port())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use super::*;

    #[test]
    fn healthcheck_of_a_wildcard_address_asks_loopback() {
        let asked = |addr: &str| reachable(addr.parse().unwrap()).to_string();
        assert_eq!(asked("0.0.0.0:8081"), "127.0.0.1:8081");
        assert_eq!(asked("[::]:8081"), "[::1]:8081");
        assert_eq!(asked("10.0.0.3:9000"), "10.0.0.3:9000");
    }
}
