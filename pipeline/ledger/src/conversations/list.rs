//! A conversation with what hangs on it, in one query per table and one snapshot.

use std::collections::HashMap;

use records::{ActionItem, Conversation, ConversationId, Segment, UserId};
use sqlx::{AssertSqlSafe, PgConnection, Postgres, Transaction};

use super::{
    ConversationView,
    row::{ConversationRow, read_row},
};
use crate::{
    Ledger,
    connect::bound_reading,
    error::{Doing, Error},
    items::{ITEM_COLUMNS, ItemRow},
    segments::read_segments_of,
};

const DOING: &str = "reading conversations";

impl Ledger {
    pub(super) async fn one_view(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        with_transcript: bool,
    ) -> Result<Option<ConversationView>, Error> {
        let mut snapshot = self.snapshot().await?;
        let row = read_row(&mut snapshot, user, conversation).await?;
        Ok(views(&mut snapshot, user, Vec::from_iter(row), with_transcript).await?.pop())
    }

    /// A transaction that only reads and sees one moment, so that a view is never torn by a completion or a deletion.
    pub(super) async fn snapshot(&self) -> Result<Transaction<'static, Postgres>, Error> {
        let begin = "begin isolation level repeatable read read only";
        let mut transaction = self.pool.begin_with(begin).await.doing(DOING)?;
        bound_reading(&mut transaction).await.doing(DOING)?;
        Ok(transaction)
    }
}

/// Reads what hangs on a page of conversations and puts the views together.
async fn views(
    connection: &mut PgConnection,
    user: &UserId,
    mut rows: Vec<ConversationRow>,
    with_transcript: bool,
) -> Result<Vec<ConversationView>, Error> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let apps = rows.iter_mut().map(ConversationRow::take_apps_results).collect::<Result<Vec<_>, _>>()?;
    let conversations = rows.into_iter().map(Conversation::try_from).collect::<Result<Vec<_>, _>>()?;
    let ids: Vec<&str> = conversations.iter().map(|conversation| conversation.id.as_str()).collect();
    let mut items = items_of(connection, user, &ids).await?;
    let mut segments = match with_transcript {
        true => read_segments_of(connection, user, &ids).await?,
        false => HashMap::new(),
    };
    let names = Names::read(connection, user, &conversations, &segments).await?;
    let view = |(conversation, apps_results): (Conversation, _)| {
        let id = conversation.id.as_str();
        let segments = with_transcript.then(|| segments.remove(id).unwrap_or_default());
        ConversationView {
            folder_name: conversation
                .folder_id
                .as_ref()
                .and_then(|id| names.folders.get(id.as_str()).cloned()),
            action_items: items.remove(id).unwrap_or_default(),
            people: names.people_in(segments.as_deref().unwrap_or_default()),
            segments,
            user_name: names.user.clone(),
            apps_results,
            conversation,
        }
    };
    Ok(conversations.into_iter().zip(apps).map(view).collect())
}

async fn items_of(
    connection: &mut PgConnection,
    user: &UserId,
    conversations: &[&str],
) -> Result<HashMap<String, Vec<ActionItem>>, Error> {
    let sql = format!(
        "select {ITEM_COLUMNS} from action_items where user_id = $1 and conversation_id = any($2) \
         order by created_at, action_item_id"
    );
    // Only constants of ours are in the text.
    let rows: Vec<ItemRow> = sqlx::query_as(AssertSqlSafe(sql))
        .bind(user.as_str())
        .bind(conversations)
        .fetch_all(connection)
        .await
        .doing(DOING)?;
    let mut of: HashMap<String, Vec<ActionItem>> = HashMap::new();
    for item in rows.into_iter().map(ActionItem::from) {
        if let Some(conversation) = &item.conversation_id {
            of.entry(conversation.as_str().to_owned()).or_default().push(item);
        }
    }
    Ok(of)
}

/// The names that views show instead of ids.
struct Names {
    user: Option<String>,
    folders: HashMap<String, String>,
    people: HashMap<String, String>,
}

impl Names {
    async fn read(
        connection: &mut PgConnection,
        user: &UserId,
        conversations: &[Conversation],
        segments: &HashMap<String, Vec<Segment>>,
    ) -> Result<Self, Error> {
        let folders: Vec<&str> =
            conversations.iter().filter_map(|one| one.folder_id.as_ref().map(|id| id.as_str())).collect();
        let people: Vec<&str> =
            segments.values().flatten().filter_map(|one| one.person_id.as_deref()).collect();
        let rows: Vec<(String, String, Option<String>)> = sqlx::query_as(
            "select 'user', user_id, name from users where user_id = $1 \
             union all select 'folder', folder_id, name from folders where user_id = $1 and folder_id = any($2) \
             union all select 'person', person_id, name from people where user_id = $1 and person_id = any($3)",
        )
        .bind(user.as_str())
        .bind(folders)
        .bind(people)
        .fetch_all(connection)
        .await
        .doing(DOING)?;
        let mut names = Self { user: None, folders: HashMap::new(), people: HashMap::new() };
        for (kind, id, name) in rows {
            match (kind.as_str(), name) {
                ("folder", Some(name)) => drop(names.folders.insert(id, name)),
                ("person", Some(name)) => drop(names.people.insert(id, name)),
                (_, name) => names.user = name,
            }
        }
        Ok(names)
    }

    /// Those that the segments name, each once, in the order of appearance.
    fn people_in(&self, segments: &[Segment]) -> Vec<(String, String)> {
        let mut people: Vec<(String, String)> = Vec::new();
        for id in segments.iter().filter_map(|segment| segment.person_id.as_deref()) {
            if let Some(name) = self.people.get(id)
                && people.iter().all(|(known, _)| known != id)
            {
                people.push((id.to_owned(), name.clone()));
            }
        }
        people
    }
}
