//! How the machine can break. `Display` never includes the source: a database's words may hold a person's.

use std::{borrow::Cow, panic::Location};

use records::OverBudget;
use sqlx::{error::DatabaseError, migrate::MigrateError, postgres::PgDatabaseError};

/// Something that was being done with the database did not work. Every operation fails where the database does not answer, or holds a
/// row that cannot be read; what else an operation fails of stands in its documentation.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database did not answer, or refused for a reason that may pass (a lost connection, a lock or
    /// statement timeout, a full pool, a serialization failure). Repeating the same operation is right.
    #[error("the database is unavailable ({at}{})", details(source))]
    Unavailable {
        /// The place in our code that asked it.
        at: &'static Location<'static>,
        #[source]
        source: sqlx::Error,
    },
    /// A statement is wrong, a constraint was hit that no rule of ours allows for, or a row holds what this version cannot read.
    #[error("the database refused what was asked, or answered what cannot be read ({at}{})", details(source))]
    Refused {
        /// The place in our code that asked it.
        at: &'static Location<'static>,
        #[source]
        source: sqlx::Error,
    },
    /// A row holds what the types cannot express (written by hand, or by a newer version).
    #[error("row {id} of {table} cannot be read: {column}")]
    ImpossibleRow { table: &'static str, id: String, column: &'static str },
    /// A secret cannot be opened, or sealed, with the keys of `LISTEN_SECRETS_KEY`.
    #[error("a secret of {table} cannot be opened or sealed with the keys of LISTEN_SECRETS_KEY")]
    Unsealed { table: &'static str },
    /// A compare-and-set kept losing against others.
    #[error("too many others were changing the same job while {doing}")]
    Contended { doing: &'static str },
    /// What was asked for is more than one answer may hold: asking for less is right.
    #[error("more was asked for than one answer may hold")]
    TooMuch,
    /// It would exceed one of the user's budgets; nothing was done.
    #[error("a user's {} are used up", .0.budget.as_str())]
    OverBudget(OverBudget),
    /// A request of the same name was made in between; nothing was done.
    #[error("the request's name was taken meanwhile")]
    Repeated,
    /// The turn in whose name it was to be done is no longer this process's; nothing was done.
    #[error("the assistant's turn was interrupted")]
    TurnLost,
    /// The user was deleted meanwhile; nothing was done.
    #[error("the user was deleted meanwhile")]
    UserDeleted,
}

/// What an operator can mend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// No server answers at the address.
    Unreachable,
    /// The server answers and its certificate, or encryption at all, is not what was asked for.
    Encryption,
    /// The server does not let the user in.
    Credentials,
    /// The server has no such database.
    NoDatabase,
    /// Tables or columns are missing.
    Schema,
    /// The tables are another role's.
    Rights,
    /// The server takes no further connection.
    Connections,
    /// A disk of the server is full.
    Disk,
    /// A pooler hands each transaction to another session of the server.
    Pooler,
    /// No session could be had in time: from a server that does not answer, that starts, or that has no connection left.
    Sessions,
}

/// A write in a read-only transaction.
const READS_ONLY: &str = "25006";

impl Error {
    /// Sorts a driver's error; `at` is the place that asked.
    pub(crate) fn of(source: sqlx::Error, at: &'static Location<'static>) -> Self {
        if refers_to_no_user(&source) {
            return Self::UserDeleted;
        }
        match is_passing(&source) {
            true => Self::Unavailable { at, source },
            false => Self::Refused { at, source },
        }
    }

    /// What is wrong behind the error that an operator can mend, where it is known.
    pub fn trouble(&self) -> Option<Trouble> {
        match self {
            Self::Unavailable { source, .. } | Self::Refused { source, .. } => trouble(source),
            _ => None,
        }
    }

    /// The same failure for another caller of the same batch, when no caller caused it: the database was not there, or
    /// was too busy. To ask again one by one would be many questions to it at the worst time.
    pub fn for_all(&self) -> Option<Self> {
        let Self::Unavailable { at, source } = self else { return None };
        let source = match source {
            sqlx::Error::PoolTimedOut => sqlx::Error::PoolTimedOut,
            sqlx::Error::PoolClosed => sqlx::Error::PoolClosed,
            sqlx::Error::Io(cause) => sqlx::Error::Io(cause.kind().into()),
            // 57: a shutdown, or a statement that took too long; 28, 3D: the login is refused. A lock or a conflict belongs
            // to one caller.
            sqlx::Error::Database(refusal)
                if refusal
                    .code()
                    .is_some_and(|code| ["57", "28", "3D"].iter().any(|of| code.starts_with(of))) =>
            {
                sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())
            }
            _ => return None,
        };
        Some(Self::Unavailable { at, source })
    }

    /// Whether it is of the row that was to be changed: the same is done to other rows all the same. Any other error would most likely
    /// come again with each of them.
    pub fn is_of_one_row(&self) -> bool {
        match self {
            // A conflict, or a row that another transaction has locked.
            Self::Unavailable { .. } => {
                self.code().is_some_and(|code| code.starts_with("40") || code == "55P03")
            }
            _ => self.trouble().is_none(),
        }
    }

    /// Whether the session broke, or was ended by the server with all the others: those that were opened with it may be
    /// dead too.
    pub fn is_of_the_session(&self) -> bool {
        let Self::Unavailable { source, .. } = self else { return false };
        match source {
            sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) => true,
            // Operator intervention: a shutdown, a crash of another session, or an administrator's word.
            _ => self.code().is_some_and(|code| code.starts_with("57P0")),
        }
    }

    /// Whether the session had planned the statement by another schema than there is now: nothing was done, and a repeat
    /// on a new session is answered.
    pub fn is_of_an_old_plan(&self) -> bool {
        self.said().is_some_and(is_old_plan)
    }

    /// Whether the session reached a server that only reads: one that a failover has left behind, to which an address or a
    /// proxy still leads. Nothing was done, and a new session may reach the one that writes.
    pub fn is_of_a_reader(&self) -> bool {
        self.code().is_some_and(|code| code == READS_ONLY)
    }

    /// Whether a failover could explain it: another server of a list may accept writes by now.
    pub(crate) fn may_be_elsewhere(&self) -> bool {
        let no_session = matches!(self, Self::Unavailable { source: sqlx::Error::PoolTimedOut, .. });
        no_session || self.is_of_the_session() || self.is_of_a_reader()
    }

    /// Whether repeating the same operation later is right.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Contended { .. })
    }

    /// The database's own words and its SQLSTATE, without the place in the server's code that drivers add; `None` when
    /// it was not the database that refused. For a terminal alone: such words may hold what a person said.
    pub fn refusal(&self) -> Option<String> {
        let code = self.code().map(|code| format!(" (SQLSTATE {code})")).unwrap_or_default();
        Some(format!("{}{code}", self.said()?.message()))
    }

    /// The SQLSTATE of the database's refusal.
    fn code(&self) -> Option<Cow<'_, str>> {
        self.said()?.code()
    }

    fn said(&self) -> Option<&dyn DatabaseError> {
        let (Self::Unavailable { source, .. } | Self::Refused { source, .. }) = self else { return None };
        source.as_database_error()
    }
}

impl From<OverBudget> for Error {
    fn from(over: OverBudget) -> Self {
        Self::OverBudget(over)
    }
}

/// Sorts a driver's error into ours, with the place of the `?` at which it becomes one.
impl From<sqlx::Error> for Error {
    #[track_caller]
    fn from(source: sqlx::Error) -> Self {
        Self::of(source, Location::caller())
    }
}

/// What is behind it: the migrator wraps what kept it from the database, as well as what is wrong with a migration.
fn behind_the_migrator(error: &sqlx::Error) -> &sqlx::Error {
    let sqlx::Error::Migrate(migration) = error else { return error };
    match migration.as_ref() {
        MigrateError::Execute(source) | MigrateError::ExecuteMigration(source, _) => source,
        _ => error,
    }
}

/// What is known of an error, for logs: the message of the database itself may hold users' data.
pub(crate) fn reason(source: &sqlx::Error) -> Option<String> {
    match source {
        sqlx::Error::ColumnDecode { index, .. } => {
            Some(format!("column {index} holds what this version does not know"))
        }
        sqlx::Error::Io(error) => Some(error.kind().to_string()),
        sqlx::Error::Tls(_) => Some("its certificate is not accepted".to_owned()),
        sqlx::Error::PoolTimedOut => Some("no session came free in time".to_owned()),
        sqlx::Error::Database(refusal) => refusal.code().map(|code| refused(&code)),
        _ => None,
    }
}

/// As it stands behind the place in our code.
fn details(source: &sqlx::Error) -> String {
    reason(source).map(|reason| format!(", {reason}")).unwrap_or_default()
}

/// The SQLSTATE of a refusal, with what it means where a session is refused.
fn refused(code: &str) -> String {
    let why = match (code, of_code(code)) {
        (_, Some(Trouble::Connections)) => ": it has no connection left: raise max_connections, or end some",
        (_, Some(Trouble::Credentials)) => ": it does not let this user in",
        (_, Some(Trouble::NoDatabase)) => ": it has no such database",
        ("57P03", _) => ": it is starting or stopping",
        _ => "",
    };
    format!("SQLSTATE {code}{why}")
}

/// Whether a lock was waited for as long as it may be, or was waited for by one who held another that was waited for.
pub(crate) fn is_of_a_lock(error: &sqlx::Error) -> bool {
    let code = behind_the_migrator(error).as_database_error().and_then(DatabaseError::code);
    code.is_some_and(|code| code == "55P03" || code == "40P01")
}

fn is_passing(error: &sqlx::Error) -> bool {
    match behind_the_migrator(error) {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => true,
        // 08 connection, 28 a user who is not let in and 3D a database that is not there (a password was changed, a name is being
        // moved), 40 rollback, 53 resources, 55P03 lock, 57 operator intervention (shutdown, statement timeout), 58 system,
        // 25P03 idle-in-transaction timeout, and a server that only reads just now.
        sqlx::Error::Database(database) => {
            is_old_plan(database.as_ref()) || database.code().is_some_and(|code| is_passing_code(&code))
        }
        _ => false,
    }
}

fn is_passing_code(code: &str) -> bool {
    ["08", "28", "3D", "40", "53", "57", "58"].iter().any(|class| code.starts_with(class))
        || ["55P03", "25P03", READS_ONLY].contains(&code)
}

/// Whether a row was to be written of a user who is not there: requests know their user by a key, which was good a moment ago.
fn refers_to_no_user(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(refusal) = error else { return false };
    refusal.is_foreign_key_violation()
        && refusal.constraint().is_some_and(|constraint| constraint.ends_with("_user_fkey"))
}

/// "Cached plan must not change result type": a column was added to a table of which a kept statement reads all. The server
/// has no code of its own for it, and says it in its own language.
fn is_old_plan(refusal: &dyn DatabaseError) -> bool {
    let routine = refusal.try_downcast_ref::<PgDatabaseError>().and_then(PgDatabaseError::routine);
    refusal.code().is_some_and(|code| code == "0A000") && routine == Some("RevalidateCachedQuery")
}

fn trouble(error: &sqlx::Error) -> Option<Trouble> {
    match behind_the_migrator(error) {
        sqlx::Error::Io(_) => Some(Trouble::Unreachable),
        // The pool asks a server that is full, or that starts, again and again, and keeps to itself what it said.
        sqlx::Error::PoolTimedOut => Some(Trouble::Sessions),
        sqlx::Error::Tls(_) => Some(Trouble::Encryption),
        sqlx::Error::Database(refusal) => of_code(&refusal.code()?),
        _ => None,
    }
}

/// PostgreSQL's appendix A.
pub(crate) fn of_code(code: &str) -> Option<Trouble> {
    match code {
        "28000" | "28P01" => Some(Trouble::Credentials),
        "3D000" => Some(Trouble::NoDatabase),
        "42P01" | "42703" => Some(Trouble::Schema),
        "42501" => Some(Trouble::Rights),
        // A prepared statement that is there already, or is not there.
        "42P05" | "26000" => Some(Trouble::Pooler),
        "53100" => Some(Trouble::Disk),
        "53300" => Some(Trouble::Connections),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrator_connection_failure_is_unavailable() {
        let away = || sqlx::Error::Io(std::io::Error::from(std::io::ErrorKind::NotFound));
        let sorted = |error: MigrateError| Error::from(sqlx::Error::from(error)).is_passing();
        assert!(sorted(MigrateError::Execute(away())));
        assert!(sorted(MigrateError::ExecuteMigration(away(), 7)));
        assert!(!sorted(MigrateError::Execute(sqlx::Error::RowNotFound)));
        assert!(!sorted(MigrateError::VersionMismatch(7)), "a changed migration stays one");
    }

    #[test]
    fn migrator_errors_keep_their_operator_fixable_cause() {
        let away = sqlx::Error::Io(std::io::Error::from(std::io::ErrorKind::NotFound));
        let source = sqlx::Error::from(MigrateError::Execute(away));
        let error = Error::from(source);
        assert_eq!(error.trouble(), Some(Trouble::Unreachable));
        assert_eq!(Error::Contended { doing: "replaying" }.trouble(), None);
        let full = Error::from(sqlx::Error::PoolTimedOut);
        assert_eq!(full.trouble(), Some(Trouble::Sessions), "it is unknown whether the server is up");
        let unread = Error::from(sqlx::Error::Tls("no".into()));
        assert_eq!(unread.trouble(), Some(Trouble::Encryption));
        assert!(!full.is_of_an_old_plan());
    }

    #[test]
    fn unavailable_database_is_an_error_for_the_whole_batch() {
        for away in [
            || sqlx::Error::PoolTimedOut,
            || sqlx::Error::PoolClosed,
            || sqlx::Error::Io(std::io::ErrorKind::ConnectionReset.into()),
        ] {
            let error = Error::from(away());
            let place = error.to_string();
            assert!(place.contains(file!()), "{place}");
            assert_eq!(error.for_all().map(|error| error.to_string()), Some(place));
            assert_eq!(error.is_of_the_session(), matches!(away(), sqlx::Error::Io(_)), "{error:?}");
            let refused = Error::Refused { at: std::panic::Location::caller(), source: away() };
            assert!(refused.for_all().is_none(), "one's own fault");
        }
    }

    #[test]
    fn refused_session_says_why() {
        for (code, words) in [
            ("53300", "SQLSTATE 53300: it has no connection left: raise max_connections, or end some"),
            ("28P01", "SQLSTATE 28P01: it does not let this user in"),
            ("3D000", "SQLSTATE 3D000: it has no such database"),
            ("57P03", "SQLSTATE 57P03: it is starting or stopping"),
            ("XX000", "SQLSTATE XX000"),
        ] {
            assert_eq!(refused(code), words);
        }
    }

    #[test]
    fn changed_password_is_an_outage_not_a_request_error() {
        for passing in ["28P01", "28000", "3D000", "57P03", "53300", "25006"] {
            assert!(is_passing_code(passing), "{passing}");
        }
        for lasting in ["42P01", "42501", "23505", "22021", "42P05"] {
            assert!(!is_passing_code(lasting), "{lasting}");
        }
    }

    #[test]
    fn operator_fixable_errors_are_recognized_by_sqlstate() {
        for (code, trouble) in [
            ("28000", Some(Trouble::Credentials)),
            ("28P01", Some(Trouble::Credentials)),
            ("3D000", Some(Trouble::NoDatabase)),
            ("42P01", Some(Trouble::Schema)),
            ("42703", Some(Trouble::Schema)),
            ("42501", Some(Trouble::Rights)),
            ("42P05", Some(Trouble::Pooler)),
            ("26000", Some(Trouble::Pooler)),
            ("53100", Some(Trouble::Disk)),
            ("53300", Some(Trouble::Connections)),
            ("23505", None),
        ] {
            assert_eq!(of_code(code), trouble, "{code}");
        }
    }
}
