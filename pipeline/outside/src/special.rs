//! Which addresses belong to the public internet.
//!
//! The rule is RFC 6890 and the IANA special-purpose registries, read strictly: for IPv4 everything that
//! is not special; for IPv6 only global unicast, and of that no tunnel, since a tunnel's address hides an
//! IPv4 address that was not checked.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

const SPECIAL_V4: [Ipv4Net; 17] = [
    v4([0, 0, 0, 0], 8),          // this network
    v4([10, 0, 0, 0], 8),         // private
    v4([100, 64, 0, 0], 10),      // carrier-grade NAT
    v4([127, 0, 0, 0], 8),        // loopback
    v4([168, 63, 129, 16], 32),   // Azure's host agent: public by number, reachable from inside only
    v4([169, 254, 0, 0], 16),     // link-local, cloud metadata
    v4([172, 16, 0, 0], 12),      // private
    v4([192, 0, 0, 0], 24),       // IETF protocol assignments
    v4([192, 0, 2, 0], 24),       // documentation
    v4([192, 88, 99, 0], 24),     // 6to4 relays
    v4([192, 168, 0, 0], 16),     // private
    v4([198, 18, 0, 0], 15),      // benchmarks
    v4([198, 51, 100, 0], 24),    // documentation
    v4([203, 0, 113, 0], 24),     // documentation
    v4([224, 0, 0, 0], 4),        // multicast
    v4([240, 0, 0, 0], 4),        // reserved
    v4([255, 255, 255, 255], 32), // broadcast
];

const GLOBAL_UNICAST_V6: Ipv6Net = v6([0x2000, 0, 0], 3);

const SPECIAL_IN_GLOBAL_UNICAST_V6: [Ipv6Net; 4] = [
    v6([0x2001, 0, 0], 23),     // IETF protocol assignments: Teredo, benchmarks, ORCHID
    v6([0x2001, 0xdb8, 0], 32), // documentation
    v6([0x2002, 0, 0], 16),     // 6to4
    v6([0x3fff, 0, 0], 20),     // documentation
];

/// Whether anybody on the internet could reach `address`. IPv4-mapped addresses are judged as the IPv4
/// address that a socket would really connect to.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => !SPECIAL_V4.iter().any(|range| range.contains(&address)),
        IpAddr::V6(address) => {
            GLOBAL_UNICAST_V6.contains(&address)
                && !SPECIAL_IN_GLOBAL_UNICAST_V6.iter().any(|range| range.contains(&address))
        }
    }
}

const fn v4(octets: [u8; 4], prefix: u8) -> Ipv4Net {
    let [a, b, c, d] = octets;
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6(start: [u16; 3], prefix: u8) -> Ipv6Net {
    let [a, b, c] = start;
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), prefix)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use proptest::prelude::*;

    use super::*;

    const NOT_PUBLIC: &[&str] = &[
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.100.100.200",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "168.63.129.16",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.9",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::7f00:1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "::ffff:0:127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::8.8.8.8",
        "64:ff9b:1::1",
        "100::1",
        "100:0:0:1::1",
        "2001::1",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "2001:2::1",
        "2001:10::1",
        "2001:20::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "2002:a00:1::1",
        "2002:808:808::1",
        "3fff::1",
        "3fff:fff::1",
        "5f00::1",
        "4000::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "febf::1",
        "fec0::1",
        "ff02::1",
        "ff0e::1",
    ];

    const PUBLIC: &[&str] = &[
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.1",
        "168.63.129.15",
        "168.63.129.17",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "191.255.255.255",
        "192.0.1.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "::ffff:8.8.8.8",
        "2001:200::1",
        "2001:4860:4860::8888",
        "2606:4700:4700::1111",
        "2a00:1450:4001::1",
        "3ffe::1",
    ];

    #[test]
    fn private_and_local_addresses_are_not_public() {
        for text in NOT_PUBLIC {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn addresses_next_to_special_ranges_are_public() {
        for text in PUBLIC {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn ipv4_mapped_ipv6_addresses_are_judged_as_ipv4(bits: u32) {
            let plain = Ipv4Addr::from(bits);
            prop_assert_eq!(is_public(plain.into()), is_public(plain.to_ipv6_mapped().into()));
        }

        #[test]
        fn addresses_that_std_calls_local_are_never_public(bits: u32) {
            let address = Ipv4Addr::from(bits);
            let local = address.is_private() || address.is_loopback() || address.is_link_local()
                || address.is_multicast() || address.is_broadcast() || address.is_documentation()
                || address.is_unspecified();
            prop_assert!(!(local && is_public(address.into())));
        }

        #[test]
        fn ipv6_outside_global_unicast_is_never_public(bits: u128) {
            let address = Ipv6Addr::from(bits);
            let global = address.segments()[0] & 0xe000 == 0x2000;
            prop_assert!(global || address.to_ipv4_mapped().is_some() || !is_public(address.into()));
        }

        #[test]
        fn ipv6_tunnels_to_ipv4_are_never_public(bits: u32) {
            let [a, b] = [(bits >> 16) as u16, bits as u16];
            prop_assert!(!is_public(Ipv6Addr::new(0x2002, a, b, 0, 0, 0, 0, 1).into()), "6to4");
            prop_assert!(!is_public(Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, a, b).into()), "NAT64");
            prop_assert!(!is_public(Ipv6Addr::new(0, 0, 0, 0, 0, 0, a, b).into()), "IPv4-compatible");
        }
    }
}
