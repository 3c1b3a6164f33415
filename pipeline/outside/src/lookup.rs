//! Looking up the addresses of a name.

use std::net::{IpAddr, ToSocketAddrs};
use std::{io, thread};

use futures::future::BoxFuture;
use tokio::sync::oneshot;

/// Turns a name into addresses. A port of its own, so that tests can make a name resolve to anything.
pub trait Lookup: Send + Sync {
    /// Every address of `name`.
    fn lookup<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The operating system's resolver, with its hosts file, its search domains and whatever else it is configured to ask. Each
/// look-up blocks a thread of its own, and none of the runtime's.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let (answer, answered) = oneshot::channel();
        let name = name.to_owned();
        let begun = thread::Builder::new().name("lookup".to_owned()).spawn(move || {
            let found = (name.as_str(), 0).to_socket_addrs();
            // Who asked may have gone.
            let _ = answer.send(found.map(|found| found.map(|address| address.ip()).collect()));
        });
        Box::pin(async move {
            begun?;
            answered.await.map_err(|_| io::Error::from(io::ErrorKind::Other))?
        })
    }
}
