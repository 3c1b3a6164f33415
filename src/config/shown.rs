//! Which database it is, for a person who looks: everything of its URL but the password.

use crate::database;

/// `USER@HOST:PORT/DATABASE`, with a socket's directory for the host where there is one; `None` when the URL is invalid.
pub(crate) fn shown(url: Option<&str>) -> Option<String> {
    let (hosts, _) = database::read(url).ok()?;
    Some(database::display_address(&hosts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn database_url_is_shown_without_its_password() {
        let of = |url| shown(Some(url));
        let place = Some("ada@db.example:5433/listen".to_owned());
        assert_eq!(of("postgresql://ada:secret@db.example:5433/listen?sslmode=require"), place);
        assert_eq!(of("postgresql://ada@db.example:5433/listen?password=secret"), place);
        let socket = "postgresql://ada:secret@localhost:5432/listen?host=/run/postgresql";
        assert_eq!(of(socket).as_deref(), Some("ada@/run/postgresql:5432/listen"));
        let list = "postgresql://ada:secret@h1:5432,h2/listen?target_session_attrs=read-write";
        assert_eq!(of(list).as_deref(), Some("ada@h1:5432,h2:5432/listen"));
        assert_eq!((of("mysql://ada:secret@localhost/listen"), shown(None)), (None, None));
    }
}
