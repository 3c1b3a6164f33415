//! How visitors of the console are authenticated: by a key, by a header of the proxy, or by coming from this machine.

use axum::http::HeaderName;
use sha2::{Digest, Sha256};

use super::names;
use crate::hex::hex;

/// How visitors are authenticated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConsoleAccess {
    /// No key is configured: this machine may read, no visitor may act.
    ThisMachine,
    /// By keys of which the SHA-256 was given.
    Keys(Vec<Key>),
    /// By a header of the proxy in front, which alone can reach this address.
    Proxy {
        /// Which header names the visitor.
        header: HeaderName,
        /// Those who may act; all others whom the proxy lets through may read.
        operators: Vec<String>,
    },
}

/// Whose key, and what it allows. The key itself is nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    name: String,
    may_act: bool,
    digest: [u8; 32],
}

const NO_KEY: &str = "LISTEN_CONSOLE_KEYS must be NAME=reader:SHA256 or NAME=operator:SHA256, with the 64 hex digits of the \
                      key's SHA-256";
const TWICE: &str = "LISTEN_CONSOLE_KEYS has one name twice";
const NO_HEADER: &str = "LISTEN_CONSOLE_USER_HEADER must be the name of a header";
const TWO_WAYS: &str = "LISTEN_CONSOLE_KEYS and LISTEN_CONSOLE_USER_HEADER are two ways in: set one of them";
const OPERATORS: &str = "LISTEN_CONSOLE_OPERATORS needs LISTEN_CONSOLE_USER_HEADER; with LISTEN_CONSOLE_KEYS the role stands \
                         in the key's entry";

impl ConsoleAccess {
    /// What the settings ask for, or why they cannot work.
    pub(crate) fn new(
        keys: &[String],
        header: Option<&str>,
        operators: &[String],
    ) -> Result<Self, &'static str> {
        match (keys.is_empty(), header) {
            (false, Some(_)) => Err(TWO_WAYS),
            (_, None) if !operators.is_empty() => Err(OPERATORS),
            (true, None) => Ok(Self::ThisMachine),
            (true, Some(header)) => {
                let header = header.parse().map_err(|_| NO_HEADER)?;
                Ok(Self::Proxy { header, operators: names(operators) })
            }
            (false, None) => {
                let keys: Vec<Key> = keys.iter().map(|entry| Key::read(entry)).collect::<Result<_, _>>()?;
                let twice = |key: &Key| keys.iter().filter(|other| other.name == key.name).count() > 1;
                if keys.iter().any(twice) { Err(TWICE) } else { Ok(Self::Keys(keys)) }
            }
        }
    }

    /// The name and whether they may act, of the owner of `key`.
    pub(crate) fn whose(&self, key: &str) -> Option<(&str, bool)> {
        let Self::Keys(keys) = self else { return None };
        // Digests are compared: how long that takes tells nothing of a key.
        let digest: [u8; 32] = Sha256::digest(key.trim().as_bytes()).into();
        keys.iter().find(|known| known.digest == digest).map(|known| (known.name.as_str(), known.may_act))
    }
}

impl Key {
    fn read(entry: &str) -> Result<Self, &'static str> {
        let (name, rest) = entry.trim().split_once('=').ok_or(NO_KEY)?;
        let (role, digest) = rest.split_once(':').ok_or(NO_KEY)?;
        let may_act = match role {
            "reader" => false,
            "operator" => true,
            _ => return Err(NO_KEY),
        };
        let fits = |letter: char| letter.is_ascii_alphanumeric() || "-_.@".contains(letter);
        if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
            return Err(NO_KEY);
        }
        let digest = unhex(digest).ok_or(NO_KEY)?;
        Ok(Self { name: name.to_owned(), may_act, digest })
    }
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let digits: Vec<u8> =
        text.chars().map(|digit| digit.to_digit(16).map(|value| value as u8)).collect::<Option<_>>()?;
    let bytes: Vec<u8> =
        digits.chunks_exact(2).map(|pair| pair.iter().fold(0, |sum, digit| sum * 16 + digit)).collect();
    if digits.len() == 64 { bytes.try_into().ok() } else { None }
}

/// A key's entry, for who makes keys.
pub(crate) fn entry(name: &str, may_act: bool, key: &str) -> String {
    let digest = hex(&Sha256::digest(key.as_bytes()));
    format!("{name}={}:{digest}", if may_act { "operator" } else { "reader" })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn console_key_is_matched_by_digest_with_its_role() {
        let keys = [entry("ana", true, "one"), entry("ben", false, "two")];
        let access = ConsoleAccess::new(&keys, None, &[]).unwrap();
        assert_eq!(access.whose("one"), Some(("ana", true)));
        assert_eq!(access.whose(" two\n"), Some(("ben", false)), "pasted with what surrounds it");
        assert_eq!(access.whose("three"), None);
        assert!(!format!("{keys:?}").contains("\"one\""));
    }

    #[test]
    fn console_operators_may_be_listed_with_blanks() {
        let listed = ["ana", " ben", ""].map(str::to_owned);
        let access = ConsoleAccess::new(&[], Some("x-user"), &listed).unwrap();
        assert!(
            matches!(&access, ConsoleAccess::Proxy { operators, .. } if *operators == ["ana", "ben"]),
            "{access:?}"
        );
    }

    #[test]
    fn settings_that_cannot_work_are_refused() {
        let fine = entry("ana", true, "one");
        let keys = |entry: &str| ConsoleAccess::new(&[entry.to_owned()], None, &[]).unwrap_err();
        for wrong in
            ["ana", "ana=operator", "ana=root:00", "=operator:00", &fine[..fine.len() - 1], "a b=reader:00"]
        {
            assert_eq!(keys(wrong), NO_KEY, "{wrong}");
        }
        let long = "a".repeat(65);
        for wrong in ["", "a b", "a\nb", &long] {
            assert_eq!(keys(&entry(wrong, true, "one")), NO_KEY, "{wrong:?}");
        }
        assert!(ConsoleAccess::new(&[entry(&long[1..], true, "one")], None, &[]).is_ok());
        let one = std::slice::from_ref(&fine);
        assert_eq!(ConsoleAccess::new(one, Some("x-user"), &[]), Err(TWO_WAYS));
        assert_eq!(ConsoleAccess::new(&[fine.clone(), fine.clone()], None, &[]), Err(TWICE));
        assert_eq!(ConsoleAccess::new(&[], Some("not a header"), &[]), Err(NO_HEADER));
        assert_eq!(ConsoleAccess::new(one, None, &["ana".to_owned()]), Err(OPERATORS));
        assert_eq!(ConsoleAccess::new(&[], None, &[]), Ok(ConsoleAccess::ThisMachine));
    }
}
