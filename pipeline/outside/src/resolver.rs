//! Tells a client the addresses that its caller found for a name, and of them those that the guard permits.

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::{fmt, future, io, vec};

use hyper_util::client::legacy::connect::dns::Name;
use tower::{Service, service_fn};
use upstream::BoxError;

use crate::guard::{Guard, Reach};

tokio::task_local! {
    /// The addresses of the name that is called. A resolver sees a name, but not for whom: it could look it up only at the cost
    /// of other users.
    static FOUND: Arc<[IpAddr]>;
}

/// Makes `call`, which connects to some of the addresses `found` for its name.
pub(crate) async fn reaching<T>(found: Arc<[IpAddr]>, call: impl Future<Output = T>) -> T {
    FOUND.scope(found, call).await
}

/// The error that stands in a failed call's chain when every address of a name was refused.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoPermittedAddress;

impl fmt::Display for NoPermittedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name has no address that may be called")
    }
}

impl Error for NoPermittedAddress {}

/// A resolver for one scheme. The connection is made to the very addresses judged here, so a name whose
/// answer changes from look-up to look-up cannot slip through.
#[derive(Clone)]
pub(crate) struct GuardedResolver {
    pub(crate) guard: Guard,
    pub(crate) reach: Reach,
}

impl GuardedResolver {
    /// Over `https` the permitted addresses are kept: a host with a public and a private address is
    /// common. Over `http` one address outside the allowed ranges refuses the name, since plain text
    /// is meant for names that the operator wholly vouches for.
    fn choose(guard: &Guard, reach: Reach, mut found: Vec<IpAddr>) -> Vec<IpAddr> {
        let before = found.len();
        found.retain(|&address| guard.permits(address, reach));
        if reach == Reach::Http && found.len() < before {
            found.clear();
        }
        found
    }

    fn addresses(&self, found: &[IpAddr]) -> Result<vec::IntoIter<SocketAddr>, BoxError> {
        if found.is_empty() {
            return Err(io::Error::from(io::ErrorKind::NotFound).into());
        }
        let chosen = Self::choose(&self.guard, self.reach, found.to_vec());
        if chosen.is_empty() {
            return Err(NoPermittedAddress.into());
        }
        // Port 0 stands for the port of the URL.
        let chosen: Vec<_> = chosen.into_iter().map(|address| SocketAddr::new(address, 0)).collect();
        Ok(chosen.into_iter())
    }

    /// As a client asks it.
    pub(crate) fn service(
        self,
    ) -> impl Service<
        Name,
        Response = vec::IntoIter<SocketAddr>,
        Error = BoxError,
        Future = future::Ready<Result<vec::IntoIter<SocketAddr>, BoxError>>,
    > + Clone {
        service_fn(move |_| {
            let addresses = FOUND.try_with(|found| self.addresses(found));
            future::ready(addresses.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::NotFound).into())))
        })
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
        let resolver = GuardedResolver { guard: Guard::new(Vec::new()), reach: Reach::Https };
        let resolver = resolver.service();
        let resolved = || {
            let name = "hooks.example".parse().unwrap();
            resolver.clone().oneshot(name).map_ok(Iterator::collect)
        };
        let found = |address: [u8; 4]| Arc::from([IpAddr::from(address)]);
        let (one, other) = tokio::join!(
            reaching(found([8, 8, 8, 8]), resolved()),
            reaching(found([9, 9, 9, 9]), resolved()),
        );
        let expected = |address: [u8; 4]| vec![SocketAddr::from((address, 0))];
        assert_eq!((one.unwrap(), other.unwrap()), (expected([8, 8, 8, 8]), expected([9, 9, 9, 9])));
        assert!(resolved().await.is_err(), "it looks nothing up");
    }

    #[test]
    fn resolver_keeps_public_addresses_over_https_and_needs_all_allowed_over_http() {
        let guard = Guard::new(vec!["10.0.0.0/8".parse().unwrap()]);
        let chosen = |reach, found: [&str; 2]| {
            let found = found.map(|address| address.parse().unwrap());
            GuardedResolver::choose(&guard, reach, found.into()).len()
        };
        assert_eq!(chosen(Reach::Https, ["8.8.8.8", "192.168.0.1"]), 1);
        assert_eq!(chosen(Reach::Http, ["10.0.0.1", "10.0.0.2"]), 2);
        assert_eq!(chosen(Reach::Http, ["10.0.0.1", "8.8.8.8"]), 0);
    }
}
