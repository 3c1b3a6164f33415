//! Where the database is, from a URL. The driver logs what it does not know of one with its value, which may be a secret: it is
//! handed only what it knows.

mod list;

use std::{borrow::Cow, io::ErrorKind, str::FromStr, time::Duration};

use db::{Found, Hosts, Trouble};
use ledger::{Ledger, Shards};
use sqlx::postgres::PgConnectOptions;
use tokio::time::Instant;

use crate::{exit::Exit, schema::other_words};

/// The target under which the driver logs what the server notices.
pub(crate) const NOTICES: &str = "sqlx::postgres::notice";

/// The parameters that have an effect, besides `options[…]`.
const KNOWN: [&str; 19] = [
    "application_name",
    "dbname",
    "host",
    "hostaddr",
    "options",
    "password",
    "port",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "ssl-mode",
    "ssl-root-cert",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "statement-cache-capacity",
    // Read here, with the list of hosts.
    "target_session_attrs",
    "user",
];

/// What is wrong with most URLs that cannot be read.
const UNREADABLE: &str = "it cannot be read: a password's special letters are percent-encoded (`/` as %2F), the port is \
    at most 65535, `sslmode` is one of PostgreSQL's, and where the host is `?host=…`, the user is `&user=…`";

/// How to connect. Parameters that only other programs know (`connect_timeout`, `channel_binding`, …) are left out, and the
/// log says which, by name.
///
/// # Errors
/// When it is not the URL of a PostgreSQL database. The URL itself is not repeated: it may hold a password.
pub(crate) fn hosts(url: Option<&str>) -> anyhow::Result<Hosts> {
    let (hosts, ignored) = read(url)?;
    tell(&ignored);
    Ok(hosts)
}

/// Where the shards are, by their numbers.
pub(crate) type Addresses = Vec<Hosts>;

/// Where each shard is, by their numbers, and the names of parameters that were left out. `urls` are the ranges of
/// `LISTEN_SHARD_URLS`; without them all shards are in the database at `url`.
pub(crate) fn shards(
    url: Option<&str>,
    count: u16,
    urls: Option<&str>,
) -> anyhow::Result<(Addresses, Vec<String>)> {
    let Some(urls) = urls else {
        let (hosts, ignored) = read(url)?;
        return Ok((vec![hosts; usize::from(count.max(1))], ignored));
    };
    let mut unknown = Vec::new();
    let mut found: Vec<Option<Hosts>> = vec![None; usize::from(count.max(1))];
    for part in parts(urls) {
        let (range, url) =
            part.split_once('=').ok_or_else(|| wrong_ranges("a part of it has no `=`".to_owned()))?;
        let (first, last) = numbers(range).ok_or_else(|| {
            wrong_ranges("a range before `=` is neither a number nor FIRST-LAST".to_owned())
        })?;
        let (hosts, ignored) = read_or(url)
            .map_err(|why| wrong_ranges(format!("{range} has no PostgreSQL URL (postgresql://…): {why}")))?;
        unknown.extend(ignored);
        for number in first..=last {
            let place = found.get_mut(usize::from(number)).ok_or_else(|| {
                wrong_ranges(format!("it names shard {number}, and LISTEN_SHARDS is {count}"))
            })?;
            if place.replace(hosts.clone()).is_some() {
                return Err(wrong_ranges(format!("it names shard {number} twice")));
            }
        }
    }
    let missing = found.iter().position(Option::is_none);
    let missing = missing.map(|number| wrong_ranges(format!("it does not say where shard {number} is")));
    missing.map_or_else(|| Ok((found.into_iter().flatten().collect(), unknown)), Err)
}

/// The ranges with their URLs. A comma begins another one where a range follows; all others separate the hosts of a URL.
fn parts(urls: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for piece in urls.split(',') {
        match parts.last_mut().filter(|_| !begins_range(piece)) {
            Some(part) => *part = format!("{part},{piece}"),
            None => parts.push(piece.to_owned()),
        }
    }
    let tidy = parts.iter().map(|part| part.trim().trim_end_matches(',').to_owned());
    tidy.filter(|part| !part.is_empty()).collect()
}

fn begins_range(piece: &str) -> bool {
    let of_range = |letter: char| letter.is_ascii_digit() || letter == '-' || letter.is_whitespace();
    piece.trim().is_empty() || piece.split_once('=').is_some_and(|(range, _)| range.chars().all(of_range))
}

fn wrong_ranges(what: String) -> anyhow::Error {
    let form = "the form is 0-2=postgresql://…,3-5=postgresql://…,6-7=postgresql://…";
    Exit::Usage(format!("LISTEN_SHARD_URLS cannot be read: {what}; {form}")).into()
}

/// `3` or `3-5`.
fn numbers(range: &str) -> Option<(u16, u16)> {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (first <= last).then_some((first, last))
}

/// How many shards are on the server of one.
pub(crate) fn shards_on_server_of(ledger: &Ledger, shards: &Shards) -> i64 {
    let options = |ledger: &Ledger| ledger.db().pool().connect_options();
    let own = options(ledger);
    let is_there = |other: &PgConnectOptions| {
        (other.get_host(), other.get_port(), other.get_socket())
            == (own.get_host(), own.get_port(), own.get_socket())
    };
    i64::try_from(shards.iter().filter(|other| is_there(&options(other))).count()).unwrap_or(i64::MAX)
}

/// How long a command waits for the server's first session.
const FIRST_SESSION: Duration = Duration::from_secs(5);

/// The time between two questions to a server that has no session to give.
const AGAIN: Duration = Duration::from_millis(250);

/// Asks a shard's server for a session, and which shard it is: a pool would ask one that refuses for longer, and not say why it
/// did. Of other troubles the first statement says more.
///
/// # Errors
/// When no server listens at the address, none of a list accepts writes, it does not let the user in, has no such database or no
/// connection left in all that time, or the database is another shard.
pub(crate) async fn is_there(ledger: &Ledger) -> anyhow::Result<()> {
    let (db, begun, mut refused) = (ledger.db(), Instant::now(), Ok(()));
    loop {
        let left = FIRST_SESSION.saturating_sub(begun.elapsed());
        let Ok(asked) = tokio::time::timeout(left, db.found_shards()).await else { return refused };
        let error = match asked {
            Ok(Found { other: Some(other), .. }) => {
                return Err(Exit::Refused(other_words(db.shard(), other)).into());
            }
            Ok(_) => return Ok(()),
            Err(error) => error,
        };
        match (refusal(&error), error.trouble()) {
            (Some(ErrorKind::NotConnected), _) => return Err(error.into()),
            (Some(kind), _) => {
                return Err(Exit::Unavailable(format!(
                    "no PostgreSQL answers at {}: {kind}; is it up, and is its URL right?",
                    address(ledger),
                ))
                .into());
            }
            (None, Some(Trouble::Credentials | Trouble::NoDatabase)) => {
                let words = format!("PostgreSQL gives no session to {}", address(ledger));
                return Err(anyhow::Error::from(error).context(words));
            }
            (None, Some(Trouble::Connections)) if begun.elapsed() + AGAIN < FIRST_SESSION => {
                refused = Err(error.into());
                tokio::time::sleep(AGAIN).await;
            }
            (None, Some(Trouble::Connections)) => return Err(error.into()),
            (None, _) => return Ok(()),
        }
    }
}

/// Where a shard's sessions are opened, as [`display_address`] says it.
pub(crate) fn address(ledger: &Ledger) -> String {
    display_address(&PgConnectOptions::clone(&ledger.db().pool().connect_options()).into())
}

/// How a server refused to be reached, or how all of a list did.
fn refusal(error: &db::Error) -> Option<ErrorKind> {
    let db::Error::Unavailable { source: sqlx::Error::Io(refused), .. } = error else { return None };
    let refusals = [
        ErrorKind::ConnectionRefused,
        ErrorKind::NotFound,
        ErrorKind::HostUnreachable,
        ErrorKind::NotConnected,
    ];
    Some(refused.kind()).filter(|kind| refusals.contains(kind))
}

/// `USER@HOST:PORT/DATABASE`, with a socket's directory for the host where there is one, and all hosts of a list: everything
/// but the password.
pub(crate) fn display_address(hosts: &Hosts) -> String {
    let place = |options: &PgConnectOptions| match options.get_socket() {
        Some(directory) => format!("{}:{}", directory.display(), options.get_port()),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    };
    let places: Vec<String> = hosts.iter().map(place).collect();
    let user = hosts.first().get_username();
    format!("{user}@{}/{}", places.join(","), hosts.first().get_database().unwrap_or(user))
}

/// The address that a URL names, as [`display_address`] says it; `None` where it is invalid.
pub(crate) fn shown_url(url: &str) -> Option<String> {
    read_or(url).ok().map(|(hosts, _)| display_address(&hosts))
}

/// The ranges of `LISTEN_SHARD_URLS` with addresses in place of URLs; `None` where they cannot be read.
pub(crate) fn display_ranges(urls: &str) -> Option<String> {
    let shown = parts(urls).into_iter().map(|part| {
        let (range, url) = part.split_once('=').filter(|(range, _)| numbers(range).is_some())?;
        Some(format!("{}={}", range.trim(), shown_url(url)?))
    });
    Some(shown.collect::<Option<Vec<_>>>()?.join(","))
}

/// Says in the log what was left out.
pub(crate) fn tell(ignored: &[String]) {
    if !ignored.is_empty() {
        let parameters = ignored.join(", ");
        tracing::warn!(
            parameters,
            "parameters of the database's URL that this program does not know have no effect: take them out"
        );
    }
}

/// The same without a word in the log: where the database is, and the names of what was left out.
pub(crate) fn read(url: Option<&str>) -> anyhow::Result<(Hosts, Vec<String>)> {
    let Some(url) = url else {
        return Err(Exit::Usage(
            "DATABASE_URL is not set: set it, or give --database-url; `listen dev` and `listen demo` bring a database of \
             their own".to_owned(),
        )
        .into());
    };
    let wrong = |why| Exit::Usage(format!("DATABASE_URL is not a PostgreSQL URL (postgresql://…): {why}"));
    Ok(read_or(url).map_err(wrong)?)
}

/// The same, or what is wrong with the URL, in words that repeat nothing of it.
fn read_or(url: &str) -> Result<(Hosts, Vec<String>), &'static str> {
    // The driver reads any scheme as its own.
    if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
        return Err("it has another scheme");
    }
    let (url, ignored) = without_unknown(url);
    let read = |url: &String| PgConnectOptions::from_str(url).map_err(|_| UNREADABLE);
    let hosts: Vec<PgConnectOptions> = list::each(&url)?.iter().map(read).collect::<Result<_, _>>()?;
    let mut hosts = hosts.into_iter();
    let first = hosts.next().ok_or("it names no host")?;
    Ok((Hosts::new(first, hosts.collect()), ignored))
}

/// The URL with the parameters that the driver reads, as they were written, and the names of the others.
fn without_unknown(url: &str) -> (Cow<'_, str>, Vec<String>) {
    // A URL has no line breaks and tabs: its reader takes them out first, wherever they stand.
    let whole = url.replace(['\t', '\n', '\r'], "");
    let (place, query) = whole.split('#').next().and_then(|url| url.split_once('?')).unwrap_or_default();
    let (known, unknown): (Vec<&str>, Vec<&str>) =
        query.split('&').filter(|pair| !pair.is_empty()).partition(|pair| is_known(&list::name(pair)));
    if unknown.is_empty() {
        return (Cow::Borrowed(url), Vec::new());
    }
    let ignored = unknown.into_iter().map(shown).collect();
    (Cow::Owned(format!("{place}?{}", known.join("&"))), ignored)
}

fn is_known(name: &str) -> bool {
    KNOWN.contains(&name) || name.starts_with("options[")
}

/// A name, if it can be one: a password that holds a `?` looks like parameters, too.
fn shown(pair: &str) -> String {
    let name = list::name(pair);
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    match pair.contains('=') && name.chars().all(is_name) {
        true => name,
        false => "one with an invalid name".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use super::*;

    /// As `psql` does: a role of the operating system's user's name is let in through a socket without a password.
    #[test]
    fn url_without_a_user_means_the_user_of_the_system() {
        let id = std::process::Command::new("id").arg("-un").output().unwrap();
        let of_system = String::from_utf8(id.stdout).unwrap().trim().to_owned();
        let expected = std::env::var("PGUSER").unwrap_or(of_system);
        for url in ["postgresql:///listen?host=/run/postgresql", "postgresql://db.example/listen"] {
            let (hosts, _) = read(Some(url)).unwrap();
            assert_eq!(hosts.first().get_username(), expected, "{url}");
        }
    }

    #[test]
    fn database_url_is_shown_without_its_password() {
        let of = shown_url;
        let place = Some("ada@db.example:5433/listen".to_owned());
        assert_eq!(of("postgresql://ada:secret@db.example:5433/listen?sslmode=require"), place);
        assert_eq!(of("postgresql://ada@db.example:5433/listen?password=secret"), place);
        let socket = "postgresql://ada:secret@localhost:5432/listen?host=/run/postgresql";
        assert_eq!(of(socket).as_deref(), Some("ada@/run/postgresql:5432/listen"));
        let list = "postgresql://ada:secret@h1:5432,h2/listen?target_session_attrs=read-write";
        assert_eq!(of(list).as_deref(), Some("ada@h1:5432,h2:5432/listen"));
        assert_eq!(of("mysql://ada:secret@localhost/listen"), None);
    }

    #[test]
    fn url_parameters_of_other_programs_are_named_and_dropped() {
        let url = "postgresql://ada@db.example/listen?sslpassword=geheim&sslmode=require&%63onnect_timeout=5&port=5433";
        let (left, ignored) = without_unknown(url);
        assert_eq!(left, "postgresql://ada@db.example/listen?sslmode=require&port=5433");
        assert_eq!(ignored, ["sslpassword", "connect_timeout"]);
        let (hosts, ignored) = read(Some(url)).unwrap();
        let options = hosts.first();
        assert_eq!((options.get_host(), options.get_port(), ignored.len()), ("db.example", 5433, 2));
    }

    #[test]
    fn url_parameters_of_the_driver_are_passed_unchanged() {
        for known in KNOWN.map(|name| format!("postgres://localhost/listen?{name}=%31+&options[a%2Eb]=c#x")) {
            assert_eq!(without_unknown(&known), (Cow::Borrowed(&*known), Vec::new()));
        }
        for bare in ["postgres://localhost/listen", "postgres://localhost/listen?", "postgres:///?&#?a=b"] {
            assert_eq!(without_unknown(bare), (Cow::Borrowed(bare), Vec::new()));
        }
    }

    #[test]
    fn url_parameters_are_read_by_the_driver() {
        let read =
            |query: &str| format!("{:?}", PgConnectOptions::from_str(&format!("postgres:///?{query}")));
        let nothing = read("");
        let known = KNOWN.into_iter().filter(|name| *name != "target_session_attrs");
        for name in known.chain(["options[a]"]) {
            assert_ne!(read(&format!("{name}=%00")), nothing, "{name}");
        }
    }

    #[test]
    fn url_password_may_contain_a_question_mark() {
        for url in [
            "postgresql://ada:12?ge@db/listen",
            "postgresql://ada:12?ge@db=heim/listen",
            "postgresql://ada:1?ge&a",
        ] {
            let (_, ignored) = without_unknown(url);
            assert!(
                !ignored.is_empty() && ignored.iter().all(|name| name == "one with an invalid name"),
                "{ignored:?}"
            );
        }
    }

    /// The port of each shard, or what is wrong.
    fn ports(count: u16, urls: &str) -> Result<Vec<u16>, String> {
        let (found, _) = shards(None, count, Some(urls)).map_err(|wrong| wrong.to_string())?;
        Ok(found.iter().map(|hosts| hosts.first().get_port()).collect())
    }

    #[test]
    fn shard_urls_follow_their_ranges() {
        let urls = "0-2=postgresql://db/listen?port=1, 4-7=postgresql://db/listen?port=2\n,3=postgresql://db:3/listen";
        assert_eq!(ports(8, urls), Ok(vec![1, 1, 1, 3, 2, 2, 2, 2]));
        let (all, _) = shards(Some("postgresql://db:5/listen"), 4, None).unwrap();
        assert_eq!(all.iter().map(|hosts| hosts.first().get_port()).collect::<Vec<_>>(), [5; 4]);
    }

    #[test]
    fn shard_url_may_list_hosts() {
        let urls = "0-1=postgresql://ada:geheim@h1:5432,h2:6/listen?sslmode=disable&target_session_attrs=read-write, \
             2-3=postgresql://h3%2Ch4/listen,";
        let (found, ignored) = shards(None, 4, Some(urls)).unwrap();
        let shown: Vec<String> = found.iter().map(display_address).collect();
        assert_eq!(shown[0], "ada@h1:5432,h2:6/listen");
        assert!(
            shown[1] == shown[0] && shown[2] == shown[3] && shown[2].contains("@h3:5432,h4:5432/listen"),
            "{shown:?}"
        );
        assert_eq!(ignored, Vec::<String>::new());
    }

    #[test]
    fn shard_urls_are_shown_without_passwords() {
        let urls = "0-1=postgresql://ada:geheim@h1:5432,h2:6/listen?sslmode=disable, 2-3=postgresql://ada:geheim@h3/listen";
        assert_eq!(
            display_ranges(urls).as_deref(),
            Some("0-1=ada@h1:5432,h2:6/listen,2-3=ada@h3:5432/listen")
        );
        for wrong in ["ada:geheim", "0=mysql://ada:geheim@h1/listen", "geheim=postgresql://h1/listen"] {
            assert_eq!(display_ranges(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn shard_ranges_with_gaps_or_overlaps_are_refused_without_urls() {
        let url = "postgresql://ada:geheim@db/listen";
        for (urls, words) in [
            (format!("0-2={url}"), "does not say where shard 3 is"),
            (format!("0-2={url},2-3={url}"), "names shard 2 twice"),
            (format!("0-4={url}"), "names shard 4, and LISTEN_SHARDS is 4"),
            (format!("0-1={url},2-3=mysql://ada:geheim@db"), "2-3 has no PostgreSQL URL"),
            (format!("3-0={url}"), "neither a number nor FIRST-LAST"),
            (url.to_owned(), "has no `=`"),
        ] {
            let wrong = ports(4, &urls).unwrap_err();
            assert!(wrong.contains(words) && !wrong.contains("geheim"), "{wrong}");
        }
    }

    #[test]
    fn url_trailing_line_break_is_ignored() {
        let (hosts, ignored) = read(Some("postgresql://db/listen?gssencmode=disable&port=5433\n")).unwrap();
        assert_eq!((hosts.first().get_port(), ignored), (5433, vec!["gssencmode".to_owned()]));
    }
}
