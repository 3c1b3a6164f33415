//! What a key may do (DECISIONS §2).

use std::fmt;

macro_rules! scopes {
    ($($variant:ident = $name:literal),+ $(,)?) => {
        /// The right to read or write one kind of thing.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Scope { $(#[doc = concat!("`", $name, "`")] $variant),+ }

        impl Scope {
            /// Every scope, in canonical order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name on the wire and in the tables.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }
    };
}

scopes! {
    ConversationsRead = "conversations:read", ConversationsWrite = "conversations:write",
    ActionItemsRead = "action_items:read", ActionItemsWrite = "action_items:write",
    MemoriesRead = "memories:read", MemoriesWrite = "memories:write",
    GoalsRead = "goals:read", GoalsWrite = "goals:write",
    FoldersRead = "folders:read",
    WebhooksRead = "webhooks:read", WebhooksWrite = "webhooks:write",
    KeysRead = "keys:read", KeysWrite = "keys:write",
    ProfileRead = "profile:read", ProfileWrite = "profile:write",
    AppsRead = "apps:read", AppsWrite = "apps:write",
    ChatRead = "chat:read", ChatWrite = "chat:write",
}

impl Scope {
    /// What a key gets that was made without naming scopes.
    pub const DEFAULT: [Self; 4] =
        [Self::ConversationsRead, Self::ActionItemsRead, Self::MemoriesRead, Self::GoalsRead];

    /// The scope of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|scope| scope.as_str() == name)
    }

    /// Whether one who holds `held` may do this: folders are part of reading conversations.
    pub(crate) fn is_granted_by(self, held: Self) -> bool {
        self == held || (self == Self::FoldersRead && held == Self::ConversationsRead)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversation_read_scope_implies_folder_read_only() {
        assert!(Scope::FoldersRead.is_granted_by(Scope::ConversationsRead));
        assert!(!Scope::ConversationsRead.is_granted_by(Scope::FoldersRead));
        assert!(!Scope::ConversationsWrite.is_granted_by(Scope::ConversationsRead));
        assert!(!Scope::ConversationsRead.is_granted_by(Scope::ConversationsWrite));
    }
}
