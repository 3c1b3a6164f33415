//! The document for people: one page, rendered here from the very document that machines read. It needs no script and
//! nothing from the network but its own style sheet.

pub(crate) mod codes;
mod element;
mod markdown;
mod operation;
mod schema;

use serde_json::{Map, Value};

use element::{escape, tagged};

/// The page's style sheet.
pub(crate) const STYLE: &str = include_str!("style.css");

/// The whole page.
pub(crate) fn render(document: &Value) -> String {
    let title = text(&document["info"]["title"]);
    let version = text(&document["info"]["version"]);
    let program = text(&document["info"]["x-program-version"]);
    let sections: String = tags(document).map(|tag| section(document, tag)).collect();
    let index: String = tags(document).map(|tag| index_of(document, tag)).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title} {version}: the interface</title>\n\
         <link rel=\"stylesheet\" href=\"/docs/style.css\">\n<link rel=\"icon\" href=\"data:,\">\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#content\">To the content</a>\n\
         <header class=\"top\"><a class=\"name\" href=\"#content\">{title}</a> <span class=\"version\">interface {version}, program {program}</span>\
         <a class=\"machine\" href=\"/openapi.json\">openapi.json</a></header>\n\
         <div class=\"columns\">\n<nav aria-label=\"Operations\"><details class=\"menu\"><summary>All operations</summary></details>\
         <div class=\"index\">{index}{told_index}</div></nav>\n\
         <main id=\"content\">\n<section class=\"intro\"><h1>{summary}</h1>\n{intro}</section>\n{sections}{told}</main>\n</div>\n\
         </body>\n</html>\n",
        summary = escape(text(&document["info"]["summary"])),
        intro = markdown::render(text(&document["info"]["description"])),
        told_index = told_index(document),
        told = told(document),
    )
}

fn section(document: &Value, tag: &str) -> String {
    let operations: String = of_tag(document, tag)
        .map(|(path, method, operation)| operation::render(document, path, method, operation))
        .collect();
    format!(
        "<section class=\"tag\" id=\"{}\"><h2>{}</h2>\n{operations}</section>\n",
        anchor(tag),
        escape(tag)
    )
}

fn index_of(document: &Value, tag: &str) -> String {
    let items: String = of_tag(document, tag)
        .map(|(_, method, operation)| {
            let id = text(&operation["operationId"]);
            let summary = escape(text(&operation["summary"]));
            format!("<li><a href=\"#{id}\">{}<span>{summary}</span></a></li>", operation::badge(method))
        })
        .collect();
    format!("<h2><a href=\"#{}\">{}</a></h2><ul>{items}</ul>", anchor(tag), escape(tag))
}

fn told_index(document: &Value) -> String {
    let items: String = entries(&document["webhooks"])
        .map(|(name, _)| format!("<li><a href=\"#{}\"><span>{}</span></a></li>", anchor(name), escape(name)))
        .collect();
    format!("<h2><a href=\"#told\">Webhook events</a></h2><ul>{items}</ul>")
}

fn told(document: &Value) -> String {
    let events: String =
        entries(&document["webhooks"]).map(|(name, event)| event_of(document, name, event)).collect();
    format!("<section class=\"tag\" id=\"told\"><h2>Webhook events</h2>\n{events}</section>\n")
}

fn event_of(document: &Value, name: &str, event: &Value) -> String {
    let post = &event["post"];
    let body = &post["requestBody"]["content"]["application/json"]["schema"];
    format!(
        "<article id=\"{}\"><h3>{}</h3>{}{}{}</article>\n",
        anchor(name),
        tagged("code", &escape(name)),
        markdown::render(text(&post["description"])),
        schema::parameters(document, &post["parameters"]),
        schema::block("Body", document, body),
    )
}

/// The operations under one heading, in the document's order.
fn of_tag<'a>(document: &'a Value, tag: &'a str) -> impl Iterator<Item = (&'a str, &'a str, &'a Value)> {
    let all = entries(&document["paths"]).flat_map(|(path, methods)| {
        entries(methods).map(move |(method, operation)| (path, method, operation))
    });
    all.filter(move |(_, _, operation)| operation["tags"][0] == tag)
}

fn tags(document: &Value) -> impl Iterator<Item = &str> {
    document["tags"].as_array().into_iter().flatten().map(|tag| text(&tag["name"]))
}

fn entries(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter).map(|(name, value)| (name.as_str(), value))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A heading's place on the page.
fn anchor(words: &str) -> String {
    words.to_lowercase().chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Settings, document::document};

    #[test]
    fn every_operation_and_every_event_has_its_place_and_every_link_leads_to_one() {
        let document = document(&Settings::default());
        let page = render(&document);
        for (_, methods) in entries(&document["paths"]) {
            for (_, operation) in entries(methods) {
                let place = format!("<article id=\"{}\"", text(&operation["operationId"]));
                assert!(page.contains(&place), "{place}");
            }
        }
        for link in page.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap_or("")) {
            assert!(page.contains(&format!("id=\"{link}\"")), "{link}");
        }
    }

    #[test]
    fn nothing_is_loaded_from_elsewhere_and_nothing_runs() {
        let page = render(&document(&Settings::default()));
        for strange in ["<script", "src=\"http", "href=\"http", "@import", " style=\"", "onclick"] {
            assert!(!page.contains(strange), "{strange}");
        }
        assert!(!STYLE.contains("http"));
    }
}
