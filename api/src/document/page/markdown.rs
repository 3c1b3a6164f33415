//! The little Markdown that the document's words use: paragraphs, `code` and **bold**.

use super::element::{escape, tagged};

/// Paragraphs.
pub(super) fn render(words: &str) -> String {
    let paragraphs = words.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty());
    paragraphs.map(|paragraph| tagged("p", &line(paragraph))).collect()
}

/// Words inside a line.
pub(super) fn line(words: &str) -> String {
    let coded = between(&escape(words), "`", "code");
    between(&coded, "**", "strong")
}

/// Every second piece between marks is inside an element; a mark without a partner stays as it is.
fn between(text: &str, mark: &str, element: &str) -> String {
    let pieces: Vec<&str> = text.split(mark).collect();
    pieces
        .iter()
        .enumerate()
        .map(|(index, piece)| match index % 2 {
            1 if index + 1 < pieces.len() => tagged(element, piece),
            1 => format!("{mark}{piece}"),
            _ => (*piece).to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_elements_and_a_lonely_one_stays() {
        assert_eq!(line("a `b` **c** <d>"), "a <code>b</code> <strong>c</strong> &lt;d&gt;");
        assert_eq!(line("a ` b"), "a ` b");
        assert_eq!(render("one\n\ntwo"), "<p>one</p><p>two</p>");
    }
}
