//! `/docs/errors`: every error code with what it means and what to do, where `doc_url` of an error leads.

use crate::Code;

/// The whole page.
pub(super) fn render() -> String {
    let codes: String = Code::ALL.iter().map(|code| article(*code)).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>listen: error codes</title>\n\
         <link rel=\"stylesheet\" href=\"/docs/style.css\">\n<link rel=\"icon\" href=\"data:,\">\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#content\">To the content</a>\n\
         <header><a class=\"name\" href=\"/docs\">listen</a> <span class=\"quiet\">Error codes</span></header>\n\
         <main id=\"content\" class=\"codes\">\n<h1>Error codes</h1>\n<p>Every error has FastAPI's <code>detail</code> and, \
         beside it, <code>code</code> (a closed list), <code>doc_url</code>, which leads here, and <code>request_id</code>, \
         which the service's log has, too.</p>\n{codes}</main>\n</body>\n</html>\n"
    )
}

fn article(code: Code) -> String {
    let detail = match code.detail() {
        "" => String::new(),
        detail => format!(": <code>{}</code>", escaped(detail)),
    };
    let words = marked(&format!("{} {}", code.means(), code.then()));
    let (name, status) = (code.as_str(), code.status().as_u16());
    format!(
        "<article id=\"{name}\"><h2><code>{name}</code></h2><p class=\"quiet\">Status {status}{detail}</p><p>{words}</p></article>\n"
    )
}

/// Words with `code` in them.
fn marked(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts
        .map(|(index, part)| match index % 2 {
            0 => escaped(part),
            _ => format!("<code>{}</code>", escaped(part)),
        })
        .collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_page_has_an_article_per_code_and_escapes_markup() {
        let page = render();
        assert!(Code::ALL.iter().all(|code| page.contains(&format!("<article id=\"{}\">", code.as_str()))));
        assert_eq!(marked("Send `a<b`, & go."), "Send <code>a&lt;b</code>, &amp; go.");
    }
}
