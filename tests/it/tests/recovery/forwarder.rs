//! A stable address whose target changes, like a virtual IP address or a DNS name with a short TTL.

use std::net::SocketAddr;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Forwards connections to its target; without one they are closed.
pub(crate) struct Forwarder {
    pub(crate) addr: SocketAddr,
    target: watch::Sender<Option<SocketAddr>>,
}

impl Forwarder {
    pub(crate) async fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("an address is free");
        let addr = listener.local_addr().expect("a listener has an address");
        let (sender, receiver) = watch::channel(Some(target));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, receiver.clone()));
            }
        });
        Self { addr, target: sender }
    }

    /// Leads somewhere else, or nowhere, from now on; connections that are open end.
    pub(crate) fn lead_to(&self, target: Option<SocketAddr>) {
        self.target.send_replace(target);
    }
}

/// One connection, until either side ends it or the address moves.
async fn forward(mut client: TcpStream, mut target: watch::Receiver<Option<SocketAddr>>) {
    let Some(addr) = *target.borrow_and_update() else { return };
    let Ok(mut server) = TcpStream::connect(addr).await else { return };
    tokio::select! {
        _ = copy_bidirectional(&mut client, &mut server) => {}
        _ = target.changed() => {}
    }
}
