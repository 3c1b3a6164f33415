//! Tells a client the addresses that its call may reach.

use std::net::{IpAddr, SocketAddr};
use std::{future, io, vec};

use hyper_util::client::legacy::connect::dns::Name;
use tower::{Service, service_fn};

tokio::task_local! {
    /// A resolver sees a name, but neither for whom nor over which scheme: it could look it up only at the cost of other users, and
    /// judge what it finds for neither.
    static PERMITTED: Vec<IpAddr>;
}

/// Makes `call`, which connects to some of these addresses: to the very ones that were judged, so that a name whose answer changes
/// from look-up to look-up cannot slip through.
pub(crate) async fn reaching<T>(permitted: Vec<IpAddr>, call: impl Future<Output = T>) -> T {
    PERMITTED.scope(permitted, call).await
}

/// Looks nothing up.
pub(crate) fn resolver() -> impl Service<
    Name,
    Response = vec::IntoIter<SocketAddr>,
    Error = io::Error,
    Future = future::Ready<io::Result<vec::IntoIter<SocketAddr>>>,
> + Clone {
    service_fn(|_: Name| future::ready(addresses()))
}

fn addresses() -> io::Result<vec::IntoIter<SocketAddr>> {
    // Port 0 stands for the port of the URL.
    let with_port = |address: &IpAddr| SocketAddr::new(*address, 0);
    let permitted: Vec<SocketAddr> =
        PERMITTED.try_with(|permitted| permitted.iter().map(with_port).collect()).unwrap_or_default();
    match permitted.is_empty() {
        true => Err(io::ErrorKind::NotFound.into()),
        false => Ok(permitted.into_iter()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use futures::TryFutureExt;
    use tower::ServiceExt;

    use super::*;

    #[tokio::test]
    async fn dns_result_is_reported_to_its_own_call_only() {
        let resolver = resolver();
        let resolved = || {
            let name = "hooks.example".parse().unwrap();
            resolver.clone().oneshot(name).map_ok(Iterator::collect)
        };
        let permitted = |address: [u8; 4]| vec![IpAddr::from(address)];
        let (one, other) = tokio::join!(
            reaching(permitted([8, 8, 8, 8]), resolved()),
            reaching(permitted([9, 9, 9, 9]), resolved()),
        );
        let expected = |address: [u8; 4]| vec![SocketAddr::from((address, 0))];
        assert_eq!((one.unwrap(), other.unwrap()), (expected([8, 8, 8, 8]), expected([9, 9, 9, 9])));
        assert!(resolved().await.is_err(), "it looks nothing up");
    }
}
