//! What the tests of a world start from.

use std::ops::Deref;

use ledger::Ledger;
use records::UserId;
use store::UserChange;
use testbed::{Behind, TestDatabase};

/// A ledger over a database of its own, a pool for raw SQL beside it, and the user Ann.
pub(crate) struct Fixture {
    pub(crate) ledger: Ledger,
    behind: Behind,
    pub(crate) ann: UserId,
    pub(crate) database: TestDatabase,
}

impl Deref for Fixture {
    type Target = Behind;

    fn deref(&self) -> &Behind {
        &self.behind
    }
}

impl Fixture {
    pub(crate) async fn with(ledger: impl FnOnce(&TestDatabase) -> Ledger, ann: &UserChange) -> Self {
        Self::over(TestDatabase::new().await, ledger, ann).await
    }

    /// The same over a database with rows.
    pub(crate) async fn over(
        database: TestDatabase,
        ledger: impl FnOnce(&TestDatabase) -> Ledger,
        ann: &UserChange,
    ) -> Self {
        let ledger = ledger(&database);
        let behind = database.behind(4).await;
        let fixture = Self { ledger, behind, ann: UserId::new("ann"), database };
        assert!(fixture.ledger.store().create_user(&fixture.ann, ann).await.unwrap());
        fixture
    }
}
