//! Bits of HTML.

/// Text that is nothing but text.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Content between the tags of one element.
pub(super) fn tagged(name: &str, content: &str) -> String {
    format!("<{name}>{content}</{name}>")
}

/// Something that is opened by a click.
pub(super) fn folded(title: &str, content: &str) -> String {
    format!("<details><summary>{title}</summary>{content}</details>")
}
