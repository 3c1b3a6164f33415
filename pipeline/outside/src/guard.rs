//! Which URLs a user may have us call.

use std::net::IpAddr;

use ipnet::IpNet;
use reqwest::Url;

use crate::special::is_public;

/// Why a URL is not called. The text is safe to show to the person who gave the URL: it repeats none of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It does not parse, or names no host.
    #[error("not a valid URL")]
    Malformed,
    /// Neither `https`, nor `http` to a range that the operator allows.
    #[error("the URL must begin with https://")]
    Scheme,
    /// A user name or password inside a URL ends up in logs and lists.
    #[error("the URL must not contain a user name or password")]
    Credentials,
    /// The address is not one of the public internet's.
    #[error("the URL must name a public address")]
    Address,
}

/// The rule of DECISIONS §6: public addresses over `https`; the operator's allowed ranges also over `http`.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    allow: Vec<IpNet>,
}

impl Guard {
    /// A guard that lets `allow` pass besides public addresses (`LISTEN_ALLOW_OUTGOING`).
    pub fn new(allow: Vec<IpNet>) -> Self {
        Self { allow }
    }

    /// Parses `text` and refuses what can be seen to be wrong without resolving a name. A name that
    /// passes may still be refused by the [`crate::Sender`], once its addresses are known.
    pub fn check_url(&self, text: &str) -> Result<Url, Refused> {
        let url = Url::parse(text).map_err(|_| Refused::Malformed)?;
        self.check(&url)?;
        Ok(url)
    }

    /// The same for a URL that is parsed already.
    pub(crate) fn check(&self, url: &Url) -> Result<(), Refused> {
        let reach = Reach::of(url).ok_or(Refused::Scheme)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refused::Credentials);
        }
        let host = url.host_str().ok_or(Refused::Malformed)?;
        match literal(host) {
            Some(address) if self.permits(address, reach) => Ok(()),
            Some(_) => Err(refusal(reach)),
            None => self.check_name(host, reach),
        }
    }

    /// Those of a name's addresses that may be called for `reach`. Over `https` a host with a public and a private address is
    /// common; over `http` one address outside the allowed ranges refuses all, since plain text is meant for names that the
    /// operator wholly vouches for.
    pub(crate) fn permitted(&self, found: &[IpAddr], reach: Reach) -> Vec<IpAddr> {
        let permitted: Vec<IpAddr> =
            found.iter().copied().filter(|&address| self.permits(address, reach)).collect();
        match reach == Reach::Http && permitted.len() < found.len() {
            true => Vec::new(),
            false => permitted,
        }
    }

    /// Whether a connection to `address` may be opened for `reach`.
    pub(crate) fn permits(&self, address: IpAddr, reach: Reach) -> bool {
        let address = address.to_canonical();
        let allowed = self.allow.iter().any(|range| range.contains(&address));
        allowed || (reach == Reach::Https && is_public(address))
    }

    /// A name is judged by its addresses, later; what can never come right is refused at once.
    fn check_name(&self, name: &str, reach: Reach) -> Result<(), Refused> {
        if reach == Reach::Http && self.allow.is_empty() {
            return Err(Refused::Scheme);
        }
        // RFC 6761: these names are this machine, whatever a resolver says.
        let name = name.trim_end_matches('.');
        let is_this_machine = name == "localhost" || name.ends_with(".localhost");
        if is_this_machine && !LOOPBACK.iter().any(|&address| self.permits(address, reach)) {
            return Err(Refused::Address);
        }
        Ok(())
    }
}

const LOOPBACK: [IpAddr; 2] =
    [IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), IpAddr::V6(std::net::Ipv6Addr::LOCALHOST)];

/// What is wrong with a literal that is not permitted: over `http`, the scheme, since only the operator
/// can permit more; over `https`, the address.
fn refusal(reach: Reach) -> Refused {
    match reach {
        Reach::Http => Refused::Scheme,
        Reach::Https => Refused::Address,
    }
}

/// How far a scheme reaches: `http` to allowed ranges alone, `https` to public addresses too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Plain text: allowed ranges.
    Http,
    /// Allowed ranges and the public internet.
    Https,
}

impl Reach {
    /// The reach of `url`'s scheme; `None` for schemes that are never called.
    pub(crate) fn of(url: &Url) -> Option<Self> {
        match url.scheme() {
            "https" => Some(Self::Https),
            "http" => Some(Self::Http),
            _ => None,
        }
    }
}

/// The address that `host` spells out. The URL parser has already read every way to write an IPv4
/// address (decimal, octal, hexadecimal, short) into four decimal numbers, as the connector will.
fn literal(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

#[cfg(test)]
mod tests;
