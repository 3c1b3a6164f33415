//! Resolves names for a [`crate::Sender`] and keeps the addresses that its guard permits.

use std::net::{IpAddr, SocketAddr};
use std::{fmt, io};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::{
    guard::{Guard, Reach},
    names::Names,
};

/// The error that stands in a failed call's chain when every address of a name was refused.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoPermittedAddress;

impl fmt::Display for NoPermittedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name has no address that may be called")
    }
}

impl std::error::Error for NoPermittedAddress {}

/// A resolver for one scheme. The connection is made to the very addresses judged here, so a name whose
/// answer changes from look-up to look-up cannot slip through.
pub(crate) struct GuardedResolver {
    pub(crate) guard: Guard,
    pub(crate) reach: Reach,
    pub(crate) names: Names,
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
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (guard, reach, names) = (self.guard.clone(), self.reach, self.names.clone());
        Box::pin(async move {
            // The sender has just resolved it: this is what it found.
            let found = names.find("", name.as_str()).await?;
            if found.is_empty() {
                return Err(io::Error::from(io::ErrorKind::NotFound).into());
            }
            let chosen = Self::choose(&guard, reach, found.to_vec());
            if chosen.is_empty() {
                return Err(NoPermittedAddress.into());
            }
            // Port 0 stands for the port of the URL.
            let addresses: Addrs = Box::new(chosen.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use super::*;

    #[test]
    fn over_https_the_public_addresses_of_a_name_are_kept_and_over_http_one_stranger_refuses_it() {
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
