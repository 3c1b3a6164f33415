//! What a command that failed says besides its error: each cause once, and what to do next.

use std::io;

use db::Trouble;

use super::Exit;
use crate::pooler;

/// The causes of an error, outermost first. Libraries like to repeat their source in their own words; a cause whose
/// text ends the one before says nothing new.
pub(super) fn causes(error: &anyhow::Error) -> Vec<String> {
    if let Some(said) = error.downcast_ref::<db::Error>().and_then(db::Error::refusal) {
        // The driver's line would add where in the server's code it stands.
        return vec![said];
    }
    let mut causes: Vec<String> = Vec::new();
    let mut before = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !before.ends_with(&cause) {
            causes.push(cause.clone());
        }
        before = cause;
    }
    causes
}

/// What to do about an address that is taken, and a database that did not answer, or not as it should.
pub(super) fn next_step(error: &anyhow::Error) -> Option<&'static str> {
    let in_use = |cause: &io::Error| cause.kind() == io::ErrorKind::AddrInUse;
    if error.root_cause().downcast_ref::<io::Error>().is_some_and(in_use) {
        return Some(
            "another program listens there, perhaps another `listen`: end it, or choose another address with --addr \
             (LISTEN_ADDR) or --admin-addr (LISTEN_ADMIN_ADDR)",
        );
    }
    if let Some(embedded::Error::Io { .. }) = error.downcast_ref() {
        return Some(
            "its files belong below XDG_DATA_HOME, else ~/.local/share, for root in /var/lib: name a place that may be \
             written to, or, for `listen dev`, a PostgreSQL of yours in DATABASE_URL",
        );
    }
    let broken = error.downcast_ref::<db::Error>()?;
    match broken.trouble() {
        Some(trouble) => Some(about(trouble)),
        None if error.is::<Exit>() => Some("`listen doctor` says what is wrong with the deployment"),
        None if broken.is_passing() => {
            Some("repeat it; `listen doctor` says what is wrong with the deployment")
        }
        None => None,
    }
}

fn about(trouble: Trouble) -> &'static str {
    match trouble {
        Trouble::Unreachable => {
            "is the server up, and at the address in DATABASE_URL (or --database-url), of shards in LISTEN_SHARD_URLS? \
             `listen config` shows which, `pg_isready -d URL` asks it"
        }
        Trouble::Encryption => {
            "the server is there; check `sslmode` and the certificates in DATABASE_URL, of shards in LISTEN_SHARD_URLS"
        }
        Trouble::Credentials => {
            "the server is up and does not let this user in: check user and password in DATABASE_URL, of shards in \
             LISTEN_SHARD_URLS"
        }
        Trouble::NoDatabase => {
            "the server is up and has no such database: create it, or check the name in DATABASE_URL, of shards in \
             LISTEN_SHARD_URLS"
        }
        Trouble::Schema => {
            "the schema is of another version: run `listen migrate`; if it had been migrated, see first whether the user's \
             `search_path` still names the schema of its tables"
        }
        Trouble::Rights => {
            "do the tables belong to the user of its URL? Restore and migrate as that user, or hand over what another one \
             made (`alter table … owner to …`). A view of PostgreSQL's own, pg_…, is given back by `grant select`"
        }
        Trouble::Pooler => pooler::LOSES_STATEMENTS,
        Trouble::Disk => {
            "a disk of the server is full: make room there, then repeat it. Nothing has to be restarted while the server is up"
        }
        Trouble::Connections => "the server has no connection left: raise max_connections, or end some",
        Trouble::Sessions => {
            "is the server up, and at the address in DATABASE_URL (or --database-url), of shards in LISTEN_SHARD_URLS? \
             `listen config` shows which, `pg_isready -d URL` asks it; one that is up may have no connection left: raise \
             max_connections, or end some"
        }
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    /// An error, with what was said above it.
    fn above(inner: &'static str, words: &[&'static str]) -> anyhow::Error {
        words.iter().fold(anyhow!(inner), |error, words| error.context(*words))
    }

    #[test]
    fn error_chain_omits_repeated_causes() {
        let told = "while executing migrations: cannot reach it: no such file";
        let error = above("no such file", &["cannot reach it: no such file", told, told, "migrating"]);
        assert_eq!(causes(&error), [told]);
        assert_eq!(causes(&above("no such file", &["cannot reach it: no such file"])), Vec::<String>::new());
    }

    #[test]
    fn error_chain_keeps_causes_with_new_information() {
        assert_eq!(causes(&above("nobody there", &["asking", "starting"])), ["asking", "nobody there"]);
    }

    #[test]
    fn fixable_errors_have_a_next_step_and_others_none() {
        let taken = anyhow::Error::new(io::Error::from(io::ErrorKind::AddrInUse)).context("listening");
        assert!(next_step(&taken).is_some_and(|step| step.contains("LISTEN_ADDR")));
        let busy = || anyhow::Error::from(db::Error::Contended { doing: "replaying" });
        assert!(next_step(&busy()).is_some_and(|step| step.starts_with("repeat it")));
        let begun = busy().context(Exit::Unseen("it goes on".to_owned()));
        assert!(
            next_step(&begun).is_some_and(|step| step.starts_with("`listen doctor`")),
            "not a second time"
        );
        assert_eq!(next_step(&anyhow!("something else")), None);
        assert_eq!(next_step(&Exit::NotFound("there is no job".to_owned()).into()), None);
    }
}
