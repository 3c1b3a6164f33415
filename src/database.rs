//! Where the database is, from a URL. The driver logs what it does not know of one with its value, which may be a secret: it is
//! handed only what it knows.

use std::{borrow::Cow, io::ErrorKind, str::FromStr, time::Duration};

use sqlx::{ConnectOptions, Connection, postgres::PgConnectOptions};

use crate::exit::Exit;

/// The parameters that the driver reads, besides `options[…]`.
const KNOWN: [&str; 18] = [
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
    "user",
];

/// How to connect. Parameters that only other programs know (`connect_timeout`, `channel_binding`, …) are left out, and the
/// log says which, by name.
///
/// # Errors
/// When it is not the URL of a PostgreSQL database. The URL itself is not repeated: it may hold a password.
pub(crate) fn options(url: Option<&str>) -> anyhow::Result<PgConnectOptions> {
    let (options, ignored) = read(url)?;
    tell(&ignored);
    Ok(options)
}

/// How long a command waits for the server's first answer.
const FIRST_ANSWER: Duration = Duration::from_secs(5);

/// Asks the server for a session, once: a pool would go on asking one that refuses, for seconds. Of other troubles the
/// first statement says more.
///
/// # Errors
/// When no server listens at the address.
pub(crate) async fn is_there(options: &PgConnectOptions) -> anyhow::Result<()> {
    let asked = tokio::time::timeout(FIRST_ANSWER, options.connect()).await;
    match asked {
        Ok(Ok(session)) => {
            // The server notices by itself when this goes wrong.
            let _ = session.close().await;
            Ok(())
        }
        Ok(Err(sqlx::Error::Io(refused))) if is_refusal(refused.kind()) => Err(Exit::Unavailable(format!(
            "no PostgreSQL answers at {}: {}; is it up, and is DATABASE_URL right?",
            display_address(options),
            refused.kind()
        ))
        .into()),
        Ok(Err(_)) | Err(_) => Ok(()),
    }
}

fn is_refusal(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::ConnectionRefused | ErrorKind::NotFound | ErrorKind::HostUnreachable)
}

/// `USER@HOST:PORT/DATABASE`, with a socket's directory for the host where there is one: everything but the password.
pub(crate) fn display_address(options: &PgConnectOptions) -> String {
    let host = match options.get_socket() {
        Some(directory) => directory.display().to_string(),
        None => options.get_host().to_owned(),
    };
    let user = options.get_username();
    format!("{user}@{host}:{}/{}", options.get_port(), options.get_database().unwrap_or(user))
}

/// Says in the log what was left out.
pub(crate) fn tell(ignored: &[String]) {
    if !ignored.is_empty() {
        let parameters = ignored.join(", ");
        tracing::warn!(
            parameters,
            "parameters of DATABASE_URL that this program does not know have no effect: take them out"
        );
    }
}

/// The same without a word in the log: the options, and the names of what was left out.
///
/// # Errors
/// As [`options`].
pub(crate) fn read(url: Option<&str>) -> anyhow::Result<(PgConnectOptions, Vec<String>)> {
    let Some(url) = url else {
        return Err(Exit::Usage(
            "DATABASE_URL is not set: set it, or give --database-url; `listen dev` and `listen demo` bring a database of \
             their own".to_owned(),
        )
        .into());
    };
    let wrong = || Exit::Usage("DATABASE_URL is not a PostgreSQL URL (postgresql://…)".to_owned());
    // The driver reads any scheme as its own.
    if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
        return Err(wrong().into());
    }
    let (url, ignored) = without_unknown(url);
    let options = PgConnectOptions::from_str(&url).map_err(|_| wrong())?;
    Ok((options, ignored))
}

/// The URL with the parameters that the driver reads, as they were written, and the names of the others.
fn without_unknown(url: &str) -> (Cow<'_, str>, Vec<String>) {
    // A URL has no line breaks and tabs: its reader takes them out first, wherever they stand.
    let whole = url.replace(['\t', '\n', '\r'], "");
    let (place, query) = whole.split('#').next().and_then(|url| url.split_once('?')).unwrap_or_default();
    let (known, unknown): (Vec<&str>, Vec<&str>) =
        query.split('&').filter(|pair| !pair.is_empty()).partition(|pair| is_known(&name(pair)));
    if unknown.is_empty() {
        return (Cow::Borrowed(url), Vec::new());
    }
    let ignored = unknown.into_iter().map(shown).collect();
    (Cow::Owned(format!("{place}?{}", known.join("&"))), ignored)
}

/// The name of a parameter that is written `name=value`.
fn name(pair: &str) -> String {
    form_urlencoded::parse(pair.as_bytes()).next().map(|(name, _)| name.into_owned()).unwrap_or_default()
}

fn is_known(name: &str) -> bool {
    KNOWN.contains(&name) || name.starts_with("options[")
}

/// A name, if it can be one: a password that holds a `?` looks like parameters, too.
fn shown(pair: &str) -> String {
    let name = name(pair);
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    match pair.contains('=') && name.chars().all(is_name) {
        true => name,
        false => "one whose name is none".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use super::*;

    #[test]
    fn what_only_other_programs_know_is_named_without_its_value_and_left_out() {
        let url = "postgresql://ada@db.example/listen?sslpassword=geheim&sslmode=require&%63onnect_timeout=5&port=5433";
        let (left, ignored) = without_unknown(url);
        assert_eq!(left, "postgresql://ada@db.example/listen?sslmode=require&port=5433");
        assert_eq!(ignored, ["sslpassword", "connect_timeout"]);
        let (options, ignored) = read(Some(url)).unwrap();
        assert_eq!((options.get_host(), options.get_port(), ignored.len()), ("db.example", 5433, 2));
    }

    #[test]
    fn what_the_driver_knows_is_handed_to_it_as_it_was_written() {
        for known in KNOWN.map(|name| format!("postgres://localhost/listen?{name}=%31+&options[a%2Eb]=c#x")) {
            assert_eq!(without_unknown(&known), (Cow::Borrowed(&*known), Vec::new()));
        }
        for bare in ["postgres://localhost/listen", "postgres://localhost/listen?", "postgres:///?&#?a=b"] {
            assert_eq!(without_unknown(bare), (Cow::Borrowed(bare), Vec::new()));
        }
    }

    #[test]
    fn the_driver_does_read_what_it_is_handed() {
        let read =
            |query: &str| format!("{:?}", PgConnectOptions::from_str(&format!("postgres:///?{query}")));
        let nothing = read("");
        for name in KNOWN.into_iter().chain(["options[a]"]) {
            assert_ne!(read(&format!("{name}=%00")), nothing, "{name}");
        }
    }

    #[test]
    fn a_password_with_a_question_mark_is_no_name() {
        for url in [
            "postgresql://ada:12?ge@db/listen",
            "postgresql://ada:12?ge@db=heim/listen",
            "postgresql://ada:1?ge&a",
        ] {
            let (_, ignored) = without_unknown(url);
            assert!(
                !ignored.is_empty() && ignored.iter().all(|name| name == "one whose name is none"),
                "{ignored:?}"
            );
        }
    }

    #[test]
    fn a_line_break_at_the_end_of_a_url_is_no_part_of_it() {
        let (options, ignored) = read(Some("postgresql://db/listen?gssencmode=disable&port=5433\n")).unwrap();
        assert_eq!((options.get_port(), ignored), (5433, vec!["gssencmode".to_owned()]));
    }
}
