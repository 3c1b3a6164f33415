//! What a command that failed says besides its error: each cause once, and what to do next.

use super::Exit;

/// The causes of an error, outermost first. Libraries like to repeat their source in their own words; a cause whose
/// text ends the one before says nothing new.
pub(super) fn causes(error: &anyhow::Error) -> Vec<String> {
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

/// What to do about a database that did not answer, or not as it should.
pub(super) fn next_step(error: &anyhow::Error) -> Option<&'static str> {
    if let Some(Exit::Unavailable(_)) = error.downcast_ref::<Exit>() {
        return Some(
            "set DATABASE_URL, or give --database-url; `listen dev` and `listen demo` bring their own",
        );
    }
    // The innermost: the migrator wraps others.
    let driver = error.chain().filter_map(|cause| cause.downcast_ref::<sqlx::Error>()).last();
    driver.and_then(of_driver).or_else(|| {
        let passing = error.downcast_ref::<ledger::Error>().is_some_and(ledger::Error::is_passing);
        passing.then_some("repeat it; `listen doctor` says what is wrong with the deployment")
    })
}

fn of_driver(error: &sqlx::Error) -> Option<&'static str> {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut => Some(
            "is the server up, and at the address in DATABASE_URL (or --database-url)? `listen config` shows which, \
             `pg_isready -d \"$DATABASE_URL\"` asks it",
        ),
        sqlx::Error::Tls(_) => {
            Some("the server is there; check `sslmode` and the certificates in DATABASE_URL")
        }
        sqlx::Error::Database(refusal) => of_code(&refusal.code()?),
        _ => None,
    }
}

/// Of the codes of PostgreSQL's appendix A, those behind which a setting is wrong.
fn of_code(code: &str) -> Option<&'static str> {
    match code {
        "28000" | "28P01" => {
            Some("the server is up and lets this user not in: check user and password in DATABASE_URL")
        }
        "3D000" => {
            Some("the server is up and has no such database: create it, or check the name in DATABASE_URL")
        }
        "42P01" | "42703" => Some("the schema is not this program's: run `listen migrate`"),
        "53300" => Some("the server has no connection left: raise max_connections, or end some"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Error as Io, ErrorKind};

    use anyhow::{Context, anyhow};
    use sqlx::migrate::MigrateError;

    use super::*;

    fn away() -> sqlx::Error {
        sqlx::Error::Io(Io::new(ErrorKind::NotFound, "no such file"))
    }

    fn migrating() -> anyhow::Error {
        let source = sqlx::Error::from(MigrateError::Execute(away()));
        ledger::Error::Unavailable { doing: "migrating the schema", source }.into()
    }

    #[test]
    fn a_cause_that_was_told_is_not_told_again() {
        let told = "while executing migrations: error communicating with database: no such file";
        assert_eq!(causes(&migrating()), [told]);
        assert_eq!(causes(&anyhow::Error::from(away())), Vec::<String>::new());
    }

    #[test]
    fn a_cause_with_something_new_is_told() {
        let error = Err::<(), _>(anyhow!("nobody there")).context("asking").context("starting");
        let error = error.err().unwrap_or_else(|| anyhow!("no error"));
        assert_eq!(causes(&error), ["asking", "nobody there"]);
    }

    #[test]
    fn a_database_that_does_not_answer_has_a_next_step_and_another_trouble_has_none() {
        assert!(next_step(&migrating()).is_some_and(|step| step.starts_with("is the server up")));
        let source = sqlx::Error::PoolTimedOut;
        let timed_out = ledger::Error::Unavailable { doing: "reading the clock", source }.into();
        assert!(next_step(&timed_out).is_some_and(|step| step.starts_with("is the server up")));
        let unset = Exit::Unavailable("DATABASE_URL is not set".to_owned()).into();
        assert!(next_step(&unset).is_some_and(|step| step.starts_with("set DATABASE_URL")));
        let busy = ledger::Error::Contended { doing: "replaying" }.into();
        assert!(next_step(&busy).is_some_and(|step| step.starts_with("repeat it")));
        assert_eq!(next_step(&anyhow!("something else")), None);
        assert_eq!(next_step(&Exit::NotFound("there is no job".to_owned()).into()), None);
    }

    #[test]
    fn what_the_server_refuses_is_told_by_its_code() {
        for (code, word) in [("28P01", "password"), ("3D000", "create it"), ("42P01", "listen migrate")] {
            assert!(of_code(code).is_some_and(|step| step.contains(word)), "{code}");
        }
        assert_eq!(of_code("23505"), None);
    }
}
