//! What a run reads, once per revision, before its first paid call.

use records::{ActionItem, Conversation, ConversationId, Folder, Memory, Segment, UserId};
use sqlx::PgConnection;

use crate::{
    Ledger,
    conversations::row::read_conversation,
    error::{Doing, Error},
    folders::read_folders,
    items::ItemRow,
    memories::MemoryRow,
    segments::read_segments,
    take::Claimed,
    users::{User, read_user},
};

/// The words of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Created from text.
    Text(String),
    /// Transcript segments; may be empty.
    Segments(Vec<Segment>),
}

/// Everything that the stages of one run read.
#[derive(Clone, Debug, PartialEq)]
pub struct RunInput {
    /// The conversation.
    pub conversation: Conversation,
    /// Its words.
    pub content: Content,
    /// The person's settings.
    pub user: User,
    /// The person's folders.
    pub folders: Vec<Folder>,
    /// The person's action items created in the 2 days before now, not of this conversation, newest first, at most 500.
    pub recent_items: Vec<ActionItem>,
    /// The person's memories, newest first, not of this conversation, at most 1,000.
    pub memories: Vec<Memory>,
    /// Names of the people that the user knows, by id.
    pub people: Vec<(String, String)>,
}

impl Ledger {
    /// Reads the input of a run; `None` when the conversation is gone.
    ///
    /// # Errors
    /// When the database does not answer, or a row cannot be read.
    pub async fn run_input(&self, claimed: &Claimed) -> Result<Option<RunInput>, Error> {
        let (user, id) = (&claimed.user_id, &claimed.conversation_id);
        let mut connection = self.pool.acquire().await.doing("reading a run's input")?;
        let Some(conversation) = read_conversation(&mut connection, user, id).await? else { return Ok(None) };
        let Some(person) = read_user(&mut connection, user).await? else { return Ok(None) };
        let text: Option<String> = sqlx::query_scalar(
            "select private_text from conversations where user_id = $1 and conversation_id = $2",
        )
        .bind(user.as_str())
        .bind(id.as_str())
        .fetch_optional(&mut *connection)
        .await
        .doing("reading a conversation's text")?
        .flatten();
        let content = match text {
            Some(text) => Content::Text(text),
            None => Content::Segments(read_segments(&mut connection, user, id).await?),
        };
        let recent_items = recent_items(&mut connection, user, id).await?;
        let memories = other_memories(&mut connection, user, id).await?;
        let folders = read_folders(&mut connection, user).await?;
        let people = people(&mut connection, user).await?;
        Ok(Some(RunInput { conversation, content, user: person, folders, recent_items, memories, people }))
    }
}

async fn recent_items(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: &ConversationId,
) -> Result<Vec<ActionItem>, Error> {
    let rows: Vec<ItemRow> = sqlx::query_as(
        "select * from action_items where user_id = $1 and created_at > clock_timestamp() - interval '2 days' \
             and conversation_id is distinct from $2 order by created_at desc, action_item_id limit 500",
    )
    .bind(user.as_str())
    .bind(conversation.as_str())
    .fetch_all(connection)
    .await
    .doing("reading recent action items")?;
    Ok(rows.into_iter().map(ActionItem::from).collect())
}

async fn other_memories(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: &ConversationId,
) -> Result<Vec<Memory>, Error> {
    let rows: Vec<MemoryRow> = sqlx::query_as(
        "select * from memories where user_id = $1 and conversation_id is distinct from $2 \
         order by created_at desc, memory_id limit 1000",
    )
    .bind(user.as_str())
    .bind(conversation.as_str())
    .fetch_all(connection)
    .await
    .doing("reading memories")?;
    rows.into_iter().map(Memory::try_from).collect()
}

async fn people(connection: &mut PgConnection, user: &UserId) -> Result<Vec<(String, String)>, Error> {
    sqlx::query_as("select person_id, name from people where user_id = $1 order by person_id")
        .bind(user.as_str())
        .fetch_all(connection)
        .await
        .doing("reading known people")
}
