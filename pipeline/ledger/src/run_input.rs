//! What a run reads, once per revision, before its first paid call. Runs that begin together read together.

use records::{ActionItem, Conversation, ConversationId, Folder, Memory, Segment, UserId};
use sqlx::{FromRow, PgConnection, Row, postgres::PgRow};

use crate::{
    Ledger,
    conversations::row::ConversationRow,
    error::{Doing, Error},
    folders::FolderRow,
    items::ItemRow,
    memories::MemoryRow,
    segments::SegmentRow,
    take::Claimed,
    users::{User, UserRow},
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

/// Whose conversation a run is about.
pub(crate) type About = (UserId, ConversationId);

impl Ledger {
    /// Reads the input of a run; `None` when the conversation is gone.
    ///
    /// # Errors
    /// When the database does not answer, or a row cannot be read.
    pub async fn run_input(&self, claimed: &Claimed) -> Result<Option<RunInput>, Error> {
        let about = (claimed.user_id.clone(), claimed.conversation_id.clone());
        let all = async |ledger: Self, abouts| ledger.run_inputs(abouts).await;
        self.inputs.ask(self, about, all).await
    }

    /// One statement per table, for all runs at once; in a transaction for the sake of its bounds and plans.
    async fn run_inputs(&self, abouts: Vec<About>) -> Result<Vec<Option<RunInput>>, Error> {
        let (mut transaction, _) = self.begin(DOING).await?;
        let mut reading = Reading {
            connection: &mut transaction,
            users: abouts.iter().map(|(user, _)| user.as_str()).collect(),
            conversations: abouts.iter().map(|(_, conversation)| conversation.as_str()).collect(),
            found: abouts.iter().map(|_| Found::default()).collect(),
        };
        reading
            .each(CONVERSATIONS, |found, row: ConversationWithText| found.conversation = Some(row))
            .await?;
        reading.each(USERS, |found, row: UserRow| found.user = Some(row.into())).await?;
        reading.each(SEGMENTS, |found, row: SegmentRow| found.segments.push(row.into())).await?;
        reading.each(RECENT_ITEMS, |found, row: ItemRow| found.recent_items.push(row.into())).await?;
        reading.each(OTHER_MEMORIES, |found, row: MemoryRow| found.memories.push(row)).await?;
        reading.each(FOLDERS, |found, row: FolderRow| found.folders.push(row.into())).await?;
        reading.each(PEOPLE, |found, row: PersonRow| found.people.push((row.person_id, row.name))).await?;
        let found = reading.found;
        transaction.commit().await.doing(DOING)?;
        found.into_iter().map(Found::into_input).collect()
    }
}

const DOING: &str = "reading the input of runs";

/// A statement over the conversations of a batch; `k` names them, with their places. Rows that have an order keep it:
/// a subquery with an `order by` is never merged into the join around it, it is run for one `k` after the other.
macro_rules! for_each {
    ($rows:literal) => {
        concat!(
            "select k.place, t.* from unnest($1::text[], $2::text[]) with ordinality \
             k (user_id, conversation_id, place) cross join lateral (",
            $rows,
            ") t"
        )
    };
}

const CONVERSATIONS: &str = for_each!(
    "select * from conversations c where c.user_id = k.user_id and c.conversation_id = k.conversation_id"
);
const USERS: &str = for_each!("select * from users u where u.user_id = k.user_id");
const SEGMENTS: &str = for_each!(
    "select * from transcript_segments s \
     where s.user_id = k.user_id and s.conversation_id = k.conversation_id order by s.position"
);
const RECENT_ITEMS: &str = for_each!(
    "select * from action_items i where i.user_id = k.user_id \
         and i.created_at > clock_timestamp() - interval '2 days' \
         and i.conversation_id is distinct from k.conversation_id \
     order by i.created_at desc, i.action_item_id limit 500"
);
const OTHER_MEMORIES: &str = for_each!(
    "select * from memories m where m.user_id = k.user_id \
         and m.conversation_id is distinct from k.conversation_id \
     order by m.created_at desc, m.memory_id limit 1000"
);
const FOLDERS: &str =
    for_each!("select * from folders f where f.user_id = k.user_id order by f.position, f.folder_id");
const PEOPLE: &str = for_each!("select * from people p where p.user_id = k.user_id order by p.person_id");

/// A batch while it is read.
struct Reading<'a> {
    connection: &'a mut PgConnection,
    users: Vec<&'a str>,
    conversations: Vec<&'a str>,
    /// In the order of the batch.
    found: Vec<Found>,
}

impl Reading<'_> {
    /// Reads the rows of one table and gives each to the run that it is for, in the order of the statement.
    async fn each<R>(&mut self, sql: &'static str, mut give: impl FnMut(&mut Found, R)) -> Result<(), Error>
    where
        R: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        let query = sqlx::query(sql).bind(&self.users).bind(&self.conversations);
        for row in query.fetch_all(&mut *self.connection).await.doing(DOING)? {
            let place: i64 = row.try_get("place").doing(DOING)?;
            let found = usize::try_from(place - 1).ok().and_then(|place| self.found.get_mut(place));
            if let Some(found) = found {
                give(found, R::from_row(&row).doing(DOING)?);
            }
        }
        Ok(())
    }
}

/// What was found for one run.
#[derive(Default)]
struct Found {
    conversation: Option<ConversationWithText>,
    user: Option<User>,
    segments: Vec<Segment>,
    recent_items: Vec<ActionItem>,
    memories: Vec<MemoryRow>,
    folders: Vec<Folder>,
    people: Vec<(String, String)>,
}

impl Found {
    fn into_input(self) -> Result<Option<RunInput>, Error> {
        let (Some(conversation), Some(user)) = (self.conversation, self.user) else { return Ok(None) };
        let content = match conversation.private_text {
            Some(text) => Content::Text(text),
            None => Content::Segments(self.segments),
        };
        let memories: Result<Vec<Memory>, Error> = self.memories.into_iter().map(Memory::try_from).collect();
        Ok(Some(RunInput {
            conversation: conversation.row.try_into()?,
            content,
            user,
            folders: self.folders,
            recent_items: self.recent_items,
            memories: memories?,
            people: self.people,
        }))
    }
}

#[derive(FromRow)]
struct ConversationWithText {
    #[sqlx(flatten)]
    row: ConversationRow,
    private_text: Option<String>,
}

#[derive(FromRow)]
struct PersonRow {
    person_id: String,
    name: String,
}
