//! Identities: opaque strings on the wire, distinct types inside.

use std::fmt;

macro_rules! opaque_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, sqlx::Type)]
        #[sqlx(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps the text as it is; ids are opaque (spec, "Resources and their fields").
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The text of the id, as the wire and the tables hold it.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

opaque_id!(
    /// A person whose conversations are kept.
    UserId
);
opaque_id!(
    /// A conversation of one person.
    ConversationId
);
opaque_id!(
    /// An action item of one person.
    ActionItemId
);
opaque_id!(
    /// A memory of one person.
    MemoryId
);
opaque_id!(
    /// A folder of one person.
    FolderId
);
opaque_id!(
    /// A goal of one person.
    GoalId
);
