//! Hostile URLs.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::*;

fn loopback_allowed() -> Guard {
    Guard::new(vec!["127.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()])
}

#[test]
fn guard_refuses_every_spelling_of_a_private_address() {
    let hosts = [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "017700000001",
        "0x7F.0x0.0x0.0x1",
        "127.0.0.1.",
        "0",
        "0.0.0.0",
        "0x0",
        "00",
        "10.1",
        "167772161",
        "0xa9fea9fe",
        "2852039166",
        "169.254.169.254",
        "0251.0376.0251.0376",
        "169.254.43518",
        "192.168.1.1",
        "0xc0.0xa8.1.1",
        "100.64.1.1",
        "%31%32%37.0.0.1",
        "127%2e0%2e0%2e1",
        "１２７.0.0.1",
        "127。0。0。1",
        "①②⑦.0.0.1",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[0:0:0:0:0:ffff:a9fe:a9fe]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b::169.254.169.254]",
        "[2002:7f00:1::]",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "[ff02::1]",
        "[2001:db8::1]",
        "[::ffff:0:127.0.0.1]",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "foo.localhost",
        "loc%61lhost",
        "ｌocalhost",
    ];
    for host in hosts {
        let refused = Guard::default().check_url(&format!("https://{host}/hook"));
        assert_eq!(refused, Err(Refused::Address), "{host}");
    }
}

#[test]
fn guard_refuses_other_urls_than_http_and_https() {
    let guard = Guard::default();
    for text in [
        "",
        "hook",
        "//example.com",
        "https://",
        "https:///",
        "https://[::1",
        "https://[fe80::1%25eth0]/",
        "https://1.2.3.256/",
        "https://exa mple.com/",
        "https://0x100000000/",
        "https://a:99999/",
    ] {
        assert_eq!(guard.check_url(text), Err(Refused::Malformed), "{text}");
    }
    for text in [
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:6379/_x",
        "data:,x",
        "unix:/run/x",
        "javascript:1",
        "ws://example.com/",
        "localhost:80",
    ] {
        assert_eq!(guard.check_url(text), Err(Refused::Scheme), "{text}");
    }
    for text in [
        "https://me@example.com/",
        "https://:pw@example.com/",
        "https://1.1.1.1@127.0.0.1/",
        "https://example.com:pw@127.0.0.1/",
    ] {
        assert_eq!(guard.check_url(text), Err(Refused::Credentials), "{text}");
    }
}

#[test]
fn guard_allows_public_hosts_over_https() {
    for text in [
        "https://example.com/hook?x=1",
        "https://1.1.1.1/",
        "https://[2606:4700:4700::1111]:8443/",
        "https://xn--bcher-kva.example/",
        "HTTPS://EXAMPLE.COM",
        "https:example.com",
    ] {
        assert!(Guard::default().check_url(text).is_ok(), "{text}");
    }
}

#[test]
fn guard_allows_plain_http_to_allowed_ranges_only() {
    for text in ["http://1.1.1.1/", "http://example.com/", "http://127.0.0.1/", "http://localhost/"] {
        assert_eq!(Guard::default().check_url(text), Err(Refused::Scheme), "{text}");
    }
    let guard = loopback_allowed();
    for text in [
        "http://127.0.0.1:9/",
        "http://[::1]:9/",
        "http://[::ffff:127.0.0.1]/",
        "http://localhost/",
        "https://127.0.0.1/",
    ] {
        assert!(guard.check_url(text).is_ok(), "{text}");
    }
    assert_eq!(guard.check_url("http://1.1.1.1/"), Err(Refused::Scheme));
    assert_eq!(guard.check_url("https://10.0.0.1/"), Err(Refused::Address), "only what is allowed");
}

#[test]
fn guard_refusal_does_not_repeat_the_url() {
    let refused = Guard::default().check_url("https://secret-user:secret-pass@10.0.0.1/").unwrap_err();
    assert!(!format!("{refused} {refused:?}").contains("secret"));
}

proptest! {
    #[test]
    fn guard_judges_ipv4_literals_by_value(bits: u32) {
        let address = Ipv4Addr::from(bits);
        let permitted = Guard::default().permits(address.into(), Reach::Https);
        let [a, b, c, d] = address.octets();
        for host in [format!("{bits}"), format!("{bits:#x}"), format!("0{bits:o}"), format!("{a:#x}.0{b:o}.{c}.{d}"),
                     format!("{a}.{}", bits & 0xff_ffff), format!("[::ffff:{address}]")] {
            let checked = Guard::default().check_url(&format!("https://{host}/"));
            prop_assert_eq!(checked.is_ok(), permitted, "{}", host);
        }
    }

    #[test]
    fn guard_judges_ipv6_literals_by_value(bits: u128) {
        let address = Ipv6Addr::from(bits);
        let checked = Guard::default().check_url(&format!("https://[{address}]/"));
        prop_assert_eq!(checked.is_ok(), Guard::default().permits(address.into(), Reach::Https));
    }

    #[test]
    fn fuzz_guard_never_panics_or_allows_a_private_address(text in "\\PC{0,60}") {
        if let Ok(url) = Guard::default().check_url(&format!("https://{text}")) {
            let address = url.host_str().and_then(literal);
            prop_assert!(address.is_none_or(is_public));
        }
    }
}

#[test]
fn guard_keeps_public_addresses_over_https_and_needs_all_allowed_over_http() {
    let guard = Guard::new(vec!["10.0.0.0/8".parse().unwrap()]);
    let permitted = |reach, found: [&str; 2]| {
        guard.permitted(&found.map(|address| address.parse::<IpAddr>().unwrap()), reach).len()
    };
    assert_eq!(permitted(Reach::Https, ["8.8.8.8", "192.168.0.1"]), 1);
    assert_eq!(permitted(Reach::Http, ["10.0.0.1", "10.0.0.2"]), 2);
    assert_eq!(permitted(Reach::Http, ["10.0.0.1", "8.8.8.8"]), 0);
}
