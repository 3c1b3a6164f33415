//! The console of several shards: lists hold the rows of all of them in one order, and a form at a list acts on all.

use std::collections::BTreeSet;

use reqwest::redirect::Policy;
use serde_json::Value;

use crate::installation::{Installation, User};
use crate::process::Process;
use crate::replay::{broken, locked_model};
use crate::shards_operated::{CAUSE, installed, texts};
use crate::world::GARDEN;

const PROXY: [(&str, &str); 3] = [
    ("LISTEN_CONSOLE_USER_HEADER", "x-visitor"),
    ("LISTEN_CONSOLE_OPERATORS", "ann"),
    ("LISTEN_RATE_PER_MINUTE", "0"),
];

/// Rows of a page.
const PAGE: usize = 50;

/// Ann's browser, which may act.
struct Browser<'a> {
    process: &'a Process,
    http: reqwest::Client,
}

impl<'a> Browser<'a> {
    fn at(process: &'a Process) -> Self {
        let http = reqwest::Client::builder().redirect(Policy::none()).build().expect("a client");
        Self { process, http }
    }

    async fn sent(&self, request: reqwest::RequestBuilder) -> (u16, String, String) {
        let answer = request.header("x-visitor", "ann").send().await.expect("a page");
        let location = answer.headers().get("location").and_then(|to| to.to_str().ok());
        let location = location.unwrap_or_default().to_owned();
        (answer.status().as_u16(), location, answer.text().await.expect("text"))
    }

    /// A page that is there.
    async fn page(&self, path: &str) -> String {
        let (status, _, text) = self.sent(self.http.get(format!("{}{path}", self.process.admin))).await;
        assert_eq!(status, 200, "{path}: {text}");
        text
    }

    /// Where a page leads on.
    async fn leads(&self, path: &str) -> String {
        self.sent(self.http.get(format!("{}{path}", self.process.admin))).await.1
    }

    /// Sends the form of a page as it is, with a reason.
    async fn send(&self, form: &str, to: &str) -> (u16, String, String) {
        let field = |rest: &str, name: &str| {
            let value = rest.split(&format!("{name}=\"")).nth(1)?.split('"').next()?;
            Some(value.to_owned())
        };
        let hidden = form.split("<input type=\"hidden\"").skip(1);
        let mut fields: Vec<(String, String)> =
            hidden.filter_map(|rest| Some((field(rest, "name")?, field(rest, "value")?))).collect();
        for (name, value) in [("reason", "a test"), ("per_minute", "6000"), ("in_flight", "16")] {
            fields.push((name.to_owned(), value.to_owned()));
        }
        self.sent(self.http.post(format!("{}{to}", self.process.admin)).form(&fields)).await
    }

    /// What the page says to which the form of a page leads.
    async fn ordered(&self, form: &str, to: &str) -> String {
        let (status, location, text) = self.send(form, to).await;
        assert_eq!(status, 303, "{to}: {text}");
        self.page(&location).await
    }

    /// All pages of a list: the ids that its rows name, in their order.
    async fn all(&self, first: &str) -> Vec<Vec<String>> {
        let (mut pages, mut next) = (Vec::new(), Some(first.to_owned()));
        while let Some(path) = next {
            let page = self.page(&path).await;
            let link = page.split("rel=\"next\" href=\"").nth(1).and_then(|rest| rest.split('"').next());
            next = link.map(|link| link.replace("&#38;", "&").replace("&amp;", "&"));
            pages.push(rows(&page));
        }
        pages
    }
}

/// The jobs that a page lists, in its order.
fn rows(page: &str) -> Vec<String> {
    let rows = page.split("<td data-name=\"Job\">").skip(1);
    let id = |row: &str| row.split("href=\"/console/jobs/").nth(1)?.split('"').next().map(str::to_owned);
    rows.filter_map(id).collect()
}

/// Dead letters of a model that refuses, as many of each user: their ids as the command line lists them.
async fn died(installation: &Installation, users: &[User], of_each: usize) -> Vec<String> {
    let model = locked_model().await;
    let url = model.base_url();
    let process = installation.serve_with(&[&PROXY[..], &broken(&url)].concat()).await;
    let each = users.iter().map(async |user| {
        for _ in 0..of_each {
            let conversation = user.at(&process).admit(GARDEN).await;
            assert_eq!(user.at(&process).finished(&conversation).await["status"], "dead_letter");
        }
    });
    futures::future::join_all(each).await;
    process.kill().await;
    let listed =
        installation.printed(&["jobs", "list", "--status", "dead_letter", "--limit", "1000", "--json"]);
    let listed: Value = serde_json::from_str(&listed).expect("a document");
    let jobs = listed["jobs"].as_array().expect("jobs");
    let made = texts(jobs, "created_at");
    assert!(made.is_sorted_by(|one, two| one >= two), "newest first: {made:?}");
    texts(jobs, "job_id")
}

/// The shard of a job: the first bits of its id, of four.
fn shard_of(job: &str) -> u32 {
    u32::from_str_radix(&job[3..4], 16).expect("a digit") / 4
}

#[tokio::test]
async fn a_list_of_the_console_holds_the_rows_of_all_shards_once_and_in_one_order() {
    let (installation, users) = installed(&["0-1", "2", "3"]);
    let dead = died(&installation, &users, PAGE / users.len() + 1).await;
    assert!(dead.len() > PAGE, "{}", dead.len());
    let process = installation.serve_with(&PROXY).await;
    let ann = Browser::at(&process);

    let pages = ann.all("/console/jobs?status=dead_letter").await;
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [PAGE, dead.len() - PAGE]);
    assert_eq!(pages.concat(), dead, "the order of the command line");
    let shards: BTreeSet<u32> = pages[0].iter().map(|job| shard_of(job)).collect();
    assert_eq!(shards, (0..4).collect(), "no shard's rows wait for another's");
    let first = ann.page("/console/jobs").await;
    assert!(first.contains(&format!(">dead letter <small>{}</small>", dead.len())), "{first}");
    // What is a user's is read where the user is.
    for user in &users {
        let of_user = ann.all(&format!("/console/jobs?user={}", user.id)).await.concat();
        assert_eq!(of_user.len(), dead.len() / users.len(), "{}", user.id);
        assert!(of_user.iter().all(|job| shard_of(job) == user.shard), "{}", user.id);
        let found = ann.leads(&format!("/console/find?id={}", user.id)).await;
        assert_eq!(found, format!("/console/jobs?user={}", user.id));
    }

    // Without shard 3, the others' rows stand there, and the page says what is missing.
    installation.servers[2].down("immediate");
    let here: Vec<String> = dead.iter().filter(|job| shard_of(job) != 3).cloned().collect();
    assert_eq!(ann.all("/console/jobs?status=dead_letter").await.concat(), here);
    for path in ["jobs", "replays", "webhooks", "apps", "sessions", "audit", "find?id=nothing"] {
        let page = ann.page(&format!("/console/{path}")).await;
        assert!(page.contains("No answer from shard 3: nothing of it is here."), "{path}: {page}");
    }
    let overview = ann.page("/console").await;
    assert!(overview.contains("No answer from shard 3: nothing of it is counted here."), "{overview}");
    let of_here = users.iter().find(|user| user.shard != 3).expect("ten users are spread");
    let whole = ann.page(&format!("/console/jobs?user={}", of_here.id)).await;
    assert!(!whole.contains("No answer from shard"), "{whole}");
}

#[tokio::test]
async fn a_form_at_a_list_acts_on_all_shards_and_says_what_it_did_in_each() {
    let (installation, users) = installed(&["0-1", "2", "3"]);
    let dead = died(&installation, &users, 1).await;
    let in_three = dead.iter().filter(|job| shard_of(job) == 3).count();
    let process = installation.serve_with(&PROXY).await;
    let ann = Browser::at(&process);

    // One shard does not answer: the form and its result name it, and the order is carried out in the others.
    installation.servers[2].down("immediate");
    let form = ann.page("/console/replays/new?code=model_rejected").await;
    let counted = format!("Replay {} dead letters of", dead.len() - in_three);
    assert!(form.contains(&counted), "{counted}: {form}");
    assert!(form.contains("No answer from shard 3: nothing of it is here. It is not counted"), "{form}");
    let pause = ann.page("/console/queues/creation/pause").await;
    let paused = ann.ordered(&pause, "/console/queues/creation/pause").await;
    assert_eq!(paused.matches("<td>paused</td>").count(), 3, "{paused}");
    let missed = "Shard 3 of 4</span></td><td><span class=\"chip dead_letter\">The database does not answer";
    assert!(paused.contains(missed), "{paused}");
    assert!(paused.contains("<h1>The queue creation is paused, but not in every shard</h1>"), "{paused}");
    let [there, away] =
        [0, 3].map(|shard| dead.iter().find(|job| shard_of(job) == shard).expect("it has one"));
    let ticked = ann.page(&format!("/console/jobs/selected?act=dismiss&job={away}&job={there}")).await;
    let dismissed = ann.ordered(&ticked, "/console/jobs/selected").await;
    assert!(dismissed.contains("1 dismissed, 0 refused, 1 without an answer"), "{dismissed}");
    assert!(dismissed.contains(&format!("{away}: The database does not answer.")), "{dismissed}");
    installation.servers[2].up();
    crate::process::until(async || !ann.page("/console/jobs").await.contains("No answer from shard")).await;

    // All of them: a replay in each, which begins once however often the form is sent.
    let form = ann.page("/console/replays/new?code=model_rejected").await;
    assert!(form.contains(&format!("Replay {} dead letters of", dead.len() - 1)), "{form}");
    assert!(form.contains(&format!("<td class=\"num\">{in_three}</td><td>in shard 3 of 4</td>")), "{form}");
    let begun = ann.ordered(&form, "/console/replays").await;
    assert_eq!(begun.matches("href=\"/console/replays/").count(), 4, "{begun}");
    assert!(begun.contains(&format!("{} dead letters are replayed", dead.len() - 1)), "{begun}");
    assert_eq!(ann.ordered(&form, "/console/replays").await, begun, "sent twice");
    let replays = ann.page("/console/replays").await;
    let links: Vec<&str> = replays.split("<a href=\"/console/replays/").skip(1).collect();
    let links: BTreeSet<&str> = links.iter().filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(links.len(), 4, "{replays}");
    for id in links {
        assert!(begun.contains(id), "{id} is not in\n{begun}");
        assert!(ann.page(&format!("/console/replays/{id}")).await.contains(id));
    }
    let completed = async || ann.all("/console/jobs?status=completed").await.concat().len();
    crate::process::until(async || completed().await == dead.len() - 1).await;
    let audit = ann.page("/console/audit?action=bulk_replay").await;
    assert_eq!(audit.matches("data-name=\"Who\">ann<").count(), 4, "{audit}");
    // Nothing is left in any.
    let none = ann.page("/console/replays/new").await;
    assert!(none.contains("<h1>Nothing is to be replayed</h1>"), "{none}");
}

#[tokio::test]
async fn the_console_sums_all_shards_pauses_in_all_and_shows_a_job_wherever_it_is() {
    let (installation, users) = installed(&["0-1", "2-3"]);
    let process = installation.serve_with(&PROXY).await;
    let ann = Browser::at(&process);
    for user in &users {
        let conversation = user.at(&process).admit(GARDEN).await;
        assert_eq!(user.at(&process).finished(&conversation).await["status"], "completed");
    }
    let overview = ann.page("/console").await;
    assert!(overview.contains("All 4 shards together"), "{overview}");
    let completed = format!("<a href=\"/console/jobs?status=completed\">{}</a>", users.len());
    assert!(overview.contains(&completed), "{overview}");
    let jobs = ann.all("/console/jobs").await.concat();
    assert_eq!(jobs.len(), users.len());
    for job in &jobs {
        assert!(ann.page(&format!("/console/jobs/{job}")).await.contains(job));
    }
    let form = ann.page("/console/queues/finalization/pause").await;
    let paused = ann.ordered(&form, "/console/queues/finalization/pause").await;
    assert_eq!(paused.matches("<td>paused</td>").count(), 4, "{paused}");
    let again = installation.printed(&[&["jobs", "pause"][..], &CAUSE].concat());
    assert_eq!(again.matches("paused already").count(), 4, "{again}");
}
