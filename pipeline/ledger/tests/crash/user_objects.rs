//! Objects that a user creates, changes and deletes: conversations, folders, goals, items, memories, people, turns.

use chrono::TimeDelta;
use db::{Error, TurnLease};
use ledger::{ItemChange, Ledger, MemoryChange, NewActionItem, NewPersonMemory};
use records::{ActionItemId, FolderId, GoalId, GoalType, MemoryCategory, MemoryId, UserId};
use store::{ConversationChange, FinishedTurn, FolderChange, GoalChange, NewFolder, NewGoal, NewTurn};

use crate::{
    CrashOperation,
    keyed_requests::request_key,
    pushes::{item, remind},
    world::{World, conversation},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UserObject {
    Rename,
    CreateFolder,
    ChangeFolder,
    DeleteFolder,
    CreateGoal,
    ChangeGoal,
    Progress,
    DeleteGoal,
    CreateItems,
    ChangeDueDate,
    CompleteItem,
    DeleteItem,
    CreateMemories,
    ChangeMemory,
    DeleteMemory,
    AddPerson,
    RenamePerson,
    ForgetPerson,
    BeginTurn,
    RenewTurn,
    WriteInTurn,
    FinishTurn,
    ClearChat,
    Index,
    IndexItems,
}

impl CrashOperation for UserObject {
    type Setup = UserId;

    /// `Index` uses a completed conversation without a job, which is quicker to create.
    fn keeps_job_rules(self) -> bool {
        self != Self::Index
    }

    async fn prepare(self, world: &World, user_id: &str) -> UserId {
        let user = world.user(user_id).await;
        let ledger = world.ledger();
        let before = match self {
            Self::ChangeFolder | Self::DeleteFolder => Some(Self::CreateFolder),
            Self::ChangeGoal | Self::Progress | Self::DeleteGoal => Some(Self::CreateGoal),
            Self::ChangeMemory | Self::DeleteMemory => Some(Self::CreateMemories),
            Self::RenamePerson | Self::ForgetPerson => Some(Self::AddPerson),
            Self::RenewTurn | Self::WriteInTurn | Self::FinishTurn | Self::ClearChat => Some(Self::BeginTurn),
            _ => None,
        };
        if let Some(before) = before {
            before.execute(&ledger, &user).await.unwrap();
        }
        match self {
            Self::Rename => world.deferred(&user).await,
            Self::ClearChat => Self::FinishTurn.execute(&ledger, &user).await.unwrap(),
            Self::Index => {
                world.deferred(&user).await;
                world.run("update conversations set status = 'completed' where user_id = $1", &user).await;
            }
            Self::IndexItems => {
                Self::CreateItems.execute(&ledger, &user).await.unwrap();
                ledger.create_memories(&user, &[new_memory(&user)]).await.map(drop).unwrap();
            }
            Self::ChangeDueDate | Self::CompleteItem | Self::DeleteItem => remind(&ledger, &user).await,
            Self::DeleteFolder => {
                world.deferred(&user).await;
                let into = ConversationChange { folder_id: Some(Some(folder(&user))), ..Default::default() };
                assert!(
                    ledger.store().change_conversation(&user, &conversation(&user), &into).await.unwrap()
                );
            }
            _ => {}
        }
        user
    }

    async fn execute(self, ledger: &Ledger, user: &UserId) -> Result<(), Error> {
        let named = || ledger.under_key(request_key(user));
        let item_id = ActionItemId::new(format!("item-{user}"));
        match self {
            Self::Rename => {
                let change = ConversationChange { title: Some("Monday".to_owned()), ..Default::default() };
                ledger.store().change_conversation(user, &conversation(user), &change).await.map(drop)
            }
            Self::CreateFolder => ledger.store().create_folder(user, &new_folder(user)).await.map(drop),
            Self::ChangeFolder => {
                let change = FolderChange { name: Some("Other".to_owned()), ..Default::default() };
                ledger.store().change_folder(user, &folder(user), &change).await.map(drop)
            }
            Self::DeleteFolder => ledger.store().delete_folder(user, &folder(user)).await.map(drop),
            Self::CreateGoal => named().store().create_goal(user, &new_goal(user)).await.map(drop),
            Self::ChangeGoal => {
                let change = GoalChange { title: Some("Walk".to_owned()), ..Default::default() };
                ledger.store().change_goal(user, &goal(user), &change).await.map(drop)
            }
            Self::Progress => ledger.store().set_goal_progress(user, &goal(user), 7.0).await.map(drop),
            Self::DeleteGoal => ledger.store().delete_goal(user, &goal(user)).await.map(drop),
            Self::CreateItems => {
                let other = ActionItemId::new(format!("other-{user}"));
                let new = [item(user), NewActionItem { id: other, completed: true, ..item(user) }];
                named().create_action_items(user, &new).await.map(drop)
            }
            Self::ChangeDueDate => {
                // A fixed date, so that a repeat changes nothing.
                let due_at = chrono::DateTime::UNIX_EPOCH + TimeDelta::days(40_000);
                let change = ItemChange { due_at: Some(Some(due_at)), ..Default::default() };
                ledger.change_action_item(user, &item_id, &change).await.map(drop)
            }
            Self::CompleteItem => {
                let change = ItemChange { completed: Some(true), ..Default::default() };
                ledger.change_action_item(user, &item_id, &change).await.map(drop)
            }
            Self::DeleteItem => ledger.delete_action_item(user, &item_id).await.map(drop),
            Self::CreateMemories => named().create_memories(user, &[new_memory(user)]).await.map(drop),
            Self::ChangeMemory => {
                let change = MemoryChange { content: Some("Likes coffee".to_owned()), ..Default::default() };
                ledger.change_memory(user, &memory(user), &change).await.map(drop)
            }
            Self::DeleteMemory => ledger.delete_memory(user, &memory(user)).await.map(drop),
            Self::AddPerson => named().store().know_person(user, &friend(user), "Bob").await.map(drop),
            Self::RenamePerson => ledger.store().rename_person(user, &friend(user), "Rob").await.map(drop),
            Self::ForgetPerson => ledger.store().forget_person(user, &friend(user)).await.map(drop),
            Self::BeginTurn => ledger.store().begin_turn(user, &new_turn()).await.map(drop),
            Self::RenewTurn => ledger.store().renew_turn(&turn_of(user), &answered()).await.map(drop),
            Self::WriteInTurn => {
                let ledger = named().in_turn(turn_of(user));
                ledger.create_memories(user, &[new_memory(user)]).await.map(drop)
            }
            Self::FinishTurn => {
                ledger.store().finish_turn(user, &new_turn().reply_id, &answered()).await.map(drop)
            }
            Self::ClearChat => ledger.store().clear_chat(user, "main").await.map(drop),
            Self::Index => ledger.store().index_conversations(9, 0).await.map(drop),
            Self::IndexItems => ledger.store().index_things(9, 0).await.map(drop),
        }
    }
}

fn new_turn() -> NewTurn {
    NewTurn {
        thread: "main".to_owned(),
        app_id: None,
        request_id: Some("once".to_owned()),
        question_id: "0199c0de-0000-7000-8000-00000000000a".to_owned(),
        reply_id: "0199c0de-0000-7000-8000-00000000000b".to_owned(),
        text: "What is due?".to_owned(),
        lease: std::time::Duration::from_secs(20),
    }
}

fn turn_of(user: &UserId) -> TurnLease {
    let NewTurn { reply_id, lease, .. } = new_turn();
    TurnLease { user: user.clone(), reply_id, lease }
}

fn answered() -> FinishedTurn {
    FinishedTurn {
        status: "completed",
        trouble: None,
        engine: "test".to_owned(),
        sources: serde_json::json!([]),
        tools: serde_json::json!([]),
        text: "Nothing.".to_owned(),
    }
}

fn folder(user: &UserId) -> FolderId {
    FolderId::new(format!("folder-{user}"))
}

fn goal(user: &UserId) -> GoalId {
    GoalId::new(format!("goal-{user}"))
}

fn memory(user: &UserId) -> MemoryId {
    MemoryId::new(format!("memory-{user}"))
}

fn friend(user: &UserId) -> String {
    format!("friend-{user}")
}

fn new_folder(user: &UserId) -> NewFolder {
    NewFolder {
        id: folder(user),
        name: "Mine".to_owned(),
        description: None,
        color: None,
        icon: None,
        order: None,
    }
}

fn new_goal(user: &UserId) -> NewGoal {
    NewGoal {
        id: goal(user),
        title: "Run".to_owned(),
        goal_type: GoalType::Numeric,
        target_value: 10.0,
        current_value: 0.0,
        min_value: 0.0,
        max_value: 10.0,
        unit: None,
    }
}

fn new_memory(user: &UserId) -> NewPersonMemory {
    NewPersonMemory {
        id: memory(user),
        content: "Likes tea".to_owned(),
        category: MemoryCategory::Other,
        public: false,
        tags: Vec::new(),
    }
}
