//! Help pages for terms, failure codes and alerts.

use axum::http::StatusCode;

use super::world::{Who, World};
use crate::explained;

#[tokio::test]
async fn help_exists_for_every_term_and_every_link_resolves() {
    let world = World::with_keys().await;
    let (job, cookie) = (world.dead("c").await, world.cookie("ron's").await);
    let ron = Who { cookie: &cookie, ..Who::default() };
    let list = world.get("/console/help", ron).await;
    for it in explained::all() {
        assert!(list.text.contains(&format!(">{}</a>", it.word)), "{}", it.word);
    }
    let mut marks = 0;
    for page in ["/console".to_owned(), format!("/console/jobs/{job}")] {
        let text = world.get(&page, ron).await.text;
        for link in text.split("class=\"help\" href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            let answer = world.get(link, ron).await;
            let leads = matches!(answer.status, StatusCode::OK | StatusCode::SEE_OTHER);
            assert!(leads, "{page} asks for {link}");
            marks += 1;
        }
    }
    assert!(marks > 8, "{marks} were found");
}

#[tokio::test]
async fn help_page_renders_the_repositorys_text_with_links() {
    let world = World::with_keys().await;
    let cookie = world.cookie("ron's").await;
    let ron = Who { cookie: &cookie, ..Who::default() };
    let page = world.get("/console/help/ListenJobsUnfinished", ron).await;
    for words in ["<code>listen jobs run-now --all", "href=\"/console/help/ListenModelsFailing\"", "Alerts"] {
        assert!(page.text.contains(words), "{words}: {}", page.text);
    }
    assert!(!page.text.contains("href=\"../"), "no link leads out of the console: {}", page.text);
    let spelled = world.get("/console/help/dead_letter", ron).await;
    assert_eq!(spelled.location(), "/console/help/dead%20letter");
    assert_eq!(world.get("/console/help/nonsense", ron).await.status, StatusCode::NOT_FOUND);
}
