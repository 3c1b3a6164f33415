//! Whom the server runs as. PostgreSQL refuses root, so root lends it another user.

use std::fs;

use rustix::process::{getegid, geteuid};
use tokio::process::Command;

use crate::Error;

/// The user who owns the cluster and runs its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// For messages.
    pub(crate) name: String,
}

/// The users root lends, best first (`_postgres` is macOS').
const LENT: [&str; 3] = ["postgres", "_postgres", "nobody"];

impl Owner {
    /// This process's user; for root the first of [`LENT`] that exists.
    ///
    /// # Errors
    /// [`Error::NoUser`] where root finds no user to lend.
    pub(crate) fn for_this_process() -> Result<Self, Error> {
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        if geteuid().is_root() {
            return LENT.iter().find_map(|name| named(&users, name)).ok_or(Error::NoUser);
        }
        let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
        let known = users.lines().filter_map(parse).find(|user| user.uid == uid);
        let name = known.map_or_else(|| format!("with id {uid}"), |user| user.name);
        Ok(Self { uid, gid, name })
    }

    /// Whether it is another user than this process's.
    pub(crate) fn is_lent(&self) -> bool {
        self.uid != geteuid().as_raw()
    }

    /// A command that runs as this user with an environment of ours: nothing of `PGDATA`, `PGPORT`,
    /// `LC_*` comes through, and messages are in English.
    pub(crate) fn command(&self, program: &std::path::Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("LC_ALL", "C").env("PATH", "/usr/bin:/bin");
        if self.is_lent() {
            // The standard library drops the supplementary groups too when root sets the uid.
            command.gid(self.gid).uid(self.uid);
        }
        command
    }
}

fn named(users: &str, name: &str) -> Option<Owner> {
    users.lines().filter_map(parse).find(|user| user.name == name && user.uid != 0)
}

/// A line of passwd(5): `name:password:uid:gid:…`. macOS writes `nobody` as -2.
fn parse(line: &str) -> Option<Owner> {
    let mut fields = line.split(':');
    let name = fields.next().filter(|name| !name.is_empty() && !name.starts_with('#'))?;
    let uid = id(fields.nth(1)?)?;
    let gid = id(fields.next()?)?;
    Some(Owner { uid, gid, name: name.to_owned() })
}

fn id(text: &str) -> Option<u32> {
    text.parse::<u32>().ok().or_else(|| text.parse::<i32>().ok().map(i32::cast_unsigned))
}

#[cfg(test)]
mod tests {
    use super::*;

    const USERS: &str = "# comment\nroot:x:0:0:root:/root:/bin/sh\n\nnobody:*:-2:-2::/:/bin/false\n\
                         postgres:x:101:104:,,,:/var/lib/postgresql:/bin/bash\n";

    #[test]
    fn system_user_is_found_by_name() {
        let found = named(USERS, "postgres");
        assert_eq!(found, Some(Owner { uid: 101, gid: 104, name: "postgres".into() }));
    }

    #[test]
    fn negative_user_id_is_read_as_unsigned() {
        assert_eq!(named(USERS, "nobody").map(|user| user.uid), Some(u32::MAX - 1));
    }

    #[test]
    fn root_is_never_the_server_user_under_any_name() {
        assert_eq!(named("postgres:x:0:0::/:/bin/sh", "postgres"), None);
    }
}
