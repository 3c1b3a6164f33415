//! What `dev` draws once and finds again at its next start: the shell that pasted the key goes on working.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use anyhow::Context;
use ledger::Ledger;
use rand::RngExt;
use records::UserId;
use secrecy::SecretString;
use sha2::{Digest, Sha256};

use crate::{commands::keys, hex::hex, process::chance};

/// 32 unguessable bytes, from which both keys of `dev` are made, in a file that only this user reads.
pub(super) struct Kept {
    seed: [u8; 32],
    /// Drawn by this run: no key was ever made of it.
    is_new: bool,
    /// `None`: for this run alone.
    file: Option<PathBuf>,
}

impl Kept {
    /// What an earlier run on this `database` left, or something new.
    pub(super) fn of(database: Option<&str>) -> Self {
        let file = database.and_then(|database| {
            let name = hex(&Sha256::digest(database.as_bytes())[..8]);
            // Not in the private server's folder, which belongs to the user it runs as.
            Some(embedded::default_dir("listen-dev").ok()?.join(name))
        });
        match file.as_deref().and_then(read) {
            Some(seed) => Self { seed, is_new: false, file },
            None => Self::draw(file),
        }
    }

    /// The key of the console.
    pub(super) fn console_key(&self) -> String {
        let digest = Sha256::new().chain_update(b"console").chain_update(self.seed).finalize();
        hex(&digest[..16])
    }

    /// The user's key: the one of the run before if it still lives, else one that is made now.
    pub(super) async fn key(mut self, ledger: &Ledger, user: &UserId) -> anyhow::Result<SecretString> {
        let text = api::keys::generate(self.seed, ledger.db().shard());
        let owner = ledger.store().key_owner(&text.sha256).await?;
        if owner.is_some_and(|owner| owner.user_id == *user) {
            return Ok(text.plaintext);
        }
        if !self.is_new {
            self = Self::draw(self.file);
        }
        let text = api::keys::generate(self.seed, ledger.db().shard());
        let (_, key) = keys::store(ledger, user, "dev", api::keys::Scope::ALL, text).await?;
        if let Some(file) = &self.file {
            write(file, &self.seed).with_context(|| format!("keeping the key in {}", file.display()))?;
        }
        Ok(key)
    }

    fn draw(file: Option<PathBuf>) -> Self {
        Self { seed: chance().random(), is_new: true, file }
    }
}

fn read(file: &Path) -> Option<[u8; 32]> {
    fs::read(file).ok()?.try_into().ok()
}

fn write(file: &Path, seed: &[u8; 32]) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(file)?.write_all(seed)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use secrecy::ExposeSecret;
    use testbed::TestDatabase;

    use super::*;

    #[tokio::test]
    async fn dev_key_survives_restarts_until_revoked() {
        let database = TestDatabase::new().await;
        let ledger = Ledger::new(database.options(), ledger::Settings::default());
        let user = UserId::new("me");
        ledger.store().create_user(&user, &store::UserChange::default()).await.unwrap();
        let folder = std::env::temp_dir().join(format!("listen-kept-{}", std::process::id()));
        let file = folder.join("seed");
        let start = || match read(&file) {
            Some(seed) => Kept { seed, is_new: false, file: Some(file.clone()) },
            None => Kept::draw(Some(file.clone())),
        };

        let first = start().key(&ledger, &user).await.unwrap();
        let console = start().console_key();
        let again = start().key(&ledger, &user).await.unwrap();

        assert_eq!(first.expose_secret(), again.expose_secret());
        assert_eq!(start().console_key(), console);
        let keys = ledger.store().keys(&user).await.unwrap();
        assert_eq!(keys.len(), 1);
        ledger.store().revoke_key(&user, &keys[0].id).await.unwrap();
        let third = start().key(&ledger, &user).await.unwrap();
        assert_ne!(third.expose_secret(), first.expose_secret());
        assert_eq!(start().key(&ledger, &user).await.unwrap().expose_secret(), third.expose_secret());
        fs::remove_dir_all(folder).unwrap();
    }
}
