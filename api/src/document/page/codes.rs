//! `/docs/errors`: every error code with what it means and what to do, where `doc_url` of an error leads.

use super::{
    element::{escape, tagged},
    markdown,
};
use crate::error::Code;

/// The whole page.
pub(crate) fn render() -> String {
    let codes: String = Code::ALL.iter().map(|code| article(*code)).collect();
    let index: String = Code::ALL
        .iter()
        .map(|code| format!("<li><a href=\"#{0}\"><span>{0}</span></a></li>", code.as_str()))
        .collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>listen: error codes</title>\n\
         <link rel=\"stylesheet\" href=\"/docs/style.css\">\n<link rel=\"icon\" href=\"data:,\">\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#content\">To the content</a>\n\
         <header class=\"top\"><a class=\"name\" href=\"/docs\">listen</a> <span class=\"version\">error codes</span></header>\n\
         <div class=\"columns\">\n<nav aria-label=\"Error codes\"><div class=\"index\"><ul>{index}</ul></div></nav>\n\
         <main id=\"content\">\n<section class=\"intro\"><h1>Error codes</h1>\n{intro}</section>\n\
         <section class=\"tag\">{codes}</section>\n</main>\n</div>\n</body>\n</html>\n",
        intro = markdown::render(
            "Every error has FastAPI's `detail` and, beside it, `code` (a closed list), `doc_url`, which leads here, and \
             `request_id`, which the service's log has, too."
        ),
    )
}

fn article(code: Code) -> String {
    let words = match code.detail() {
        "" => String::new(),
        detail => format!(": {}", tagged("code", &escape(detail))),
    };
    format!(
        "<article id=\"{0}\"><h3><code>{0}</code></h3><p>Status {1}{words}</p>{2}</article>\n",
        code.as_str(),
        code.status().as_u16(),
        markdown::render(&format!("{} {}", code.means(), code.then())),
    )
}
