//! A minimal load balancer: connections in turn to the processes that are ready.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

use crate::client;
use crate::process::Process;

/// How often readiness is asked for. A real one asks less often; what it needs is LISTEN_DRAIN_SECONDS in proportion.
const EVERY: Duration = Duration::from_millis(100);

struct Backend {
    api: SocketAddr,
    admin: String,
    ready: bool,
}

/// Balances over the registered processes.
#[derive(Clone)]
pub(crate) struct Balancer {
    pub(crate) addr: SocketAddr,
    backends: Arc<Mutex<Vec<Backend>>>,
}

impl Balancer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("an address is free");
        let addr = listener.local_addr().expect("a listener has an address");
        let balancer = Self { addr, backends: Arc::default() };
        let (serving, asking) = (balancer.clone(), balancer.clone());
        tokio::spawn(async move {
            let mut turn = 0;
            while let Ok((mut client, _)) = listener.accept().await {
                turn += 1;
                let Some(addr) = serving.choose(turn) else { continue };
                tokio::spawn(async move {
                    let Ok(mut server) = TcpStream::connect(addr).await else { return };
                    let _ended = copy_bidirectional(&mut client, &mut server).await;
                });
            }
        });
        let http = client::http();
        tokio::spawn(async move {
            loop {
                asking.ask(&http).await;
                tokio::time::sleep(EVERY).await;
            }
        });
        balancer
    }

    /// Takes a process in, which is asked for its readiness from now on.
    pub(crate) fn add(&self, process: &Process) {
        let api = process.api.trim_start_matches("http://").parse().expect("an address");
        let admin = process.admin.clone();
        self.backends.lock().expect("no panic").push(Backend { api, admin, ready: false });
    }

    /// Forgets a process that is gone.
    pub(crate) fn remove(&self, process: &Process) {
        self.backends.lock().expect("no panic").retain(|backend| backend.admin != process.admin);
    }

    /// How many are ready.
    pub(crate) fn ready(&self) -> usize {
        self.backends.lock().expect("no panic").iter().filter(|backend| backend.ready).count()
    }

    fn choose(&self, turn: usize) -> Option<SocketAddr> {
        let backends = self.backends.lock().expect("no panic");
        let ready: Vec<SocketAddr> =
            backends.iter().filter(|backend| backend.ready).map(|backend| backend.api).collect();
        ready.get(turn % ready.len().max(1)).copied()
    }

    async fn ask(&self, http: &reqwest::Client) {
        let admins: Vec<String> =
            self.backends.lock().expect("no panic").iter().map(|backend| backend.admin.clone()).collect();
        for admin in admins {
            // One that has ended does not answer.
            let answer = http.get(format!("{admin}/readyz")).send().await;
            let ready = answer.is_ok_and(|answer| answer.status().is_success());
            let mut backends = self.backends.lock().expect("no panic");
            if let Some(backend) = backends.iter_mut().find(|backend| backend.admin == admin) {
                backend.ready = ready;
            }
        }
    }
}
