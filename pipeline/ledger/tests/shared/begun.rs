//! How the world of each of these tests begins.

use std::ops::Deref;

use ledger::Ledger;
use records::UserId;
use store::UserChange;
use testbed::{Behind, TestDatabase};

/// A ledger over a database of its own, with a pool to look behind it, and Ann in it.
pub(crate) struct Begun {
    pub(crate) ledger: Ledger,
    behind: Behind,
    pub(crate) ann: UserId,
    pub(crate) database: TestDatabase,
}

impl Deref for Begun {
    type Target = Behind;

    fn deref(&self) -> &Behind {
        &self.behind
    }
}

impl Begun {
    pub(crate) async fn with(ledger: impl FnOnce(&TestDatabase) -> Ledger, ann: &UserChange) -> Self {
        let database = TestDatabase::new().await;
        let ledger = ledger(&database);
        let behind = database.behind(4).await;
        let begun = Self { ledger, behind, ann: UserId::new("ann"), database };
        assert!(begun.ledger.store().create_user(&begun.ann, ann).await.unwrap());
        begun
    }
}
