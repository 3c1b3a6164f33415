//! A database with Ann, who owns an app, and Bob, who installs it.

use std::ops::Deref;

use db::Secrets;
use ledger::{Ledger, Settings};
use records::UserId;
use secrecy::SecretString;
use store::{AppFields, AppVisibility, KeptManifest, NewApp, UserChange};
use testbed::TestDatabase;

use crate::fixture::Fixture;

pub(crate) const APP: &str = "01993b1e-6f0a-7c31-9d55-1f6a2b7c8d90";

/// The bearer token of the app's MCP server.
pub(crate) const MCP_TOKEN: &str = "t0ken-of-the-mcp-server";

pub(crate) struct World {
    fixture: Fixture,
    pub(crate) bob: UserId,
}

impl Deref for World {
    type Target = Fixture;

    fn deref(&self) -> &Fixture {
        &self.fixture
    }
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(Secrets::default()).await
    }

    pub(crate) async fn with(secrets: Secrets) -> Self {
        let ledger = |database: &TestDatabase| process(database, secrets);
        let fixture = Fixture::with(ledger, &UserChange::default()).await;
        let bob = UserId::new("bob");
        assert!(fixture.ledger.store().create_user(&bob, &UserChange::default()).await.unwrap());
        Self { fixture, bob }
    }

    /// Creates Ann's public app, which writes to the main chat and receives conversations, and installs it for Bob.
    pub(crate) async fn app(&self) {
        let fields = fields();
        let manifest = manifest();
        let secret = SecretString::from("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDbGmhWzS6Y6M=");
        let mcp_token = Some(SecretString::from(MCP_TOKEN));
        let new = NewApp { id: APP.to_owned(), fields, mcp_token, manifest: Some(manifest), secret };
        self.ledger.store().create_app(&self.ann, &new).await.unwrap().unwrap();
        self.ledger.store().install_app(&self.bob, APP).await.unwrap().unwrap();
    }
}

pub(crate) fn fields() -> AppFields {
    AppFields {
        name: "Writer".to_owned(),
        visibility: AppVisibility::Public,
        webhook_url: Some("https://writer.example/hook".to_owned()),
        mcp_url: Some("https://writer.example/mcp".to_owned()),
        ..AppFields::default()
    }
}

pub(crate) fn manifest() -> KeptManifest {
    KeptManifest {
        text: "{}".to_owned(),
        sha256: [0; 32],
        chat_enabled: true,
        chat_target: "main",
        chat_notify: true,
    }
}

/// Another process on the same database.
pub(crate) fn process(database: &TestDatabase, secrets: Secrets) -> Ledger {
    Ledger::new(database.options(), Settings { secrets, ..Settings::default() })
}
