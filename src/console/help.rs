//! What the console's words mean: the pages that are built into the program.

use askama::Template;
use axum::response::{IntoResponse, Redirect, Response};
use pulldown_cmark::{CowStr, Event, Tag, html::push_html};

use super::{Fault, Frame, Shown, Visitor, extract::Path, render, words::segment};
use crate::explained::{self, Explanation, Kind};

#[derive(Template)]
#[template(path = "help.html")]
struct Page {
    frame: Frame,
    section: &'static str,
    also: String,
    /// Markdown of ours, as HTML.
    text: String,
}

#[derive(Template)]
#[template(path = "helps.html")]
struct All {
    frame: Frame,
    /// Headings with their words.
    sections: Vec<(&'static str, Vec<Row>)>,
}

/// A word, its address, its meaning.
type Row = (&'static str, String, &'static str);

pub(super) async fn list(visitor: Visitor) -> Response {
    let mut sections: Vec<(&str, Vec<Row>)> = Vec::new();
    for it in explained::all() {
        let row = (it.word.as_str(), segment(&it.word), it.short.as_str());
        match sections.last_mut().filter(|(section, _)| *section == it.section) {
            Some((_, rows)) => rows.push(row),
            None => sections.push((&it.section, vec![row])),
        }
    }
    render(&All { frame: Frame::of(visitor, "help", "Help"), sections })
}

pub(super) async fn show(visitor: Visitor, Path(word): Path<String>) -> Shown {
    let found = explained::find(&word);
    let found = found.ok_or_else(|| Fault::Missing(format!("{word} is not explained here.")))?;
    if found.word != word {
        return Ok(Redirect::to(&address(found)).into_response());
    }
    Ok(render(&Page {
        frame: Frame::of(visitor, "help", found.word.clone()),
        section: &found.section,
        also: found.also.join(", "),
        text: html(found),
    }))
}

fn address(found: &Explanation) -> String {
    format!("/console/help/{}", segment(&found.word))
}

/// Links lead to other words of the console; what leads elsewhere in the repository is text.
fn html(found: &Explanation) -> String {
    let mut kept = Vec::new();
    let events = explained::events(&found.text).filter_map(|event| match event {
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let to = explained::linked(&dest_url).map(address);
            kept.push(to.is_some());
            let dest_url = CowStr::from(to?);
            Some(Event::Start(Tag::Link { link_type, dest_url, title, id }))
        }
        Event::End(end @ pulldown_cmark::TagEnd::Link) => kept.pop()?.then_some(Event::End(end)),
        // Our pages hold none; if one ever did, it would be shown and not obeyed.
        Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
        other => Some(other),
    });
    let mut page = String::new();
    push_html(&mut page, events);
    // The page's own heading is above.
    if found.kind == Kind::Term { page } else { page.replace("<h2>", "<h2 class=\"part\">") }
}
