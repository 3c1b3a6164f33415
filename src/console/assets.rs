//! Static files of the pages. Their addresses carry a digest of their content, so browsers may keep them for ever.

use std::sync::LazyLock;

use axum::{
    http::header,
    response::{IntoResponse, Response},
};
use sha2::{Digest, Sha256};

use crate::hex::hex;

/// The scripts of live pages, as one file, so that the extension is known before htmx looks at the page: htmx itself
/// and an extension of it as they were published, and ours.
const SCRIPTS: [&str; 3] = [
    include_str!("assets/htmx/htmx.min.js"),
    include_str!("assets/htmx/hx-csp.min.js"),
    include_str!("assets/live.js"),
];

struct Asset {
    name: &'static str,
    kind: &'static str,
    address: String,
    text: String,
}

static ASSETS: LazyLock<[Asset; 3]> = LazyLock::new(|| {
    [
        asset("style", "css", "text/css; charset=utf-8", include_str!("assets/style.css").to_owned()),
        asset("icon", "svg", "image/svg+xml", include_str!("assets/icon.svg").to_owned()),
        asset("live", "js", "text/javascript; charset=utf-8", SCRIPTS.join("\n;\n")),
    ]
});

fn asset(name: &'static str, ending: &str, kind: &'static str, text: String) -> Asset {
    let digest = hex(&Sha256::digest(text.as_bytes())[..8]);
    Asset { name, kind, address: format!("/console/assets/{name}.{digest}.{ending}"), text }
}

/// The address of `style`, `icon` or `live`.
pub(super) fn address(name: &str) -> &'static str {
    ASSETS.iter().find(|asset| asset.name == name).map_or("", |asset| asset.address.as_str())
}

/// The file at that address, if it is one of these.
pub(super) fn file(name: &str) -> Option<Response> {
    let asset = ASSETS.iter().find(|asset| asset.address.rsplit('/').next() == Some(name))?;
    let kept = "public, max-age=31536000, immutable";
    let headers = [(header::CONTENT_TYPE, asset.kind), (header::CACHE_CONTROL, kept)];
    Some((headers, asset.text.as_str()).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendored_scripts_match_their_published_checksums() {
        let page = include_str!("assets/htmx/README.md");
        let said: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
        assert_eq!(said.len(), 2);
        for text in SCRIPTS.iter().take(2) {
            let digest = hex(&Sha256::digest(text.as_bytes()));
            assert!(
                said.iter().any(|line| line.contains(&digest)),
                "a file differs from its sum in README.md"
            );
        }
    }
}
