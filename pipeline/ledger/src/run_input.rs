//! What a run reads, once per revision, before its first paid call. Runs that begin together read together.

use records::{ActionItem, Conversation, ConversationId, Folder, Memory, Segment, UserId};
use sqlx::FromRow;

use crate::{
    Ledger,
    connect::Plans,
    conversations::row::ConversationRow,
    error::{Doing, Error},
    folders::FolderRow,
    items::ItemRow,
    known_people::NamedPerson,
    memories::MemoryRow,
    reading::{Keys, Reading, for_each},
    segments::{SEGMENTS, SegmentRow},
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
        let all = async |ledger: Self, abouts| ledger.in_time(ledger.run_inputs(abouts)).await;
        self.inputs.ask(self, about, all).await
    }

    /// One statement per table, for all runs at once, in one snapshot.
    async fn run_inputs(&self, abouts: Vec<About>) -> Result<Vec<Option<RunInput>>, Error> {
        let mut transaction = self.begin_reading(DOING, Plans::OfKeys).await?;
        let all = Keys::of(
            abouts.iter().enumerate().map(|(place, (user, conversation))| (place, user, conversation)),
        );
        let mut reading = Reading::new(&mut transaction, abouts.len(), DOING);
        reading
            .each(&all, CONVERSATIONS, |found: &mut Found, row: ConversationWithText| {
                found.conversation = Some(row)
            })
            .await?;
        reading.each(&all, USERS, |found, row: UserRow| found.user = Some(row.into())).await?;
        reading.each(&all, SEGMENTS, |found, row: SegmentRow| found.segments.push(row.into())).await?;
        reading.each(&all, RECENT_ITEMS, |found, row: ItemRow| found.recent_items.push(row.into())).await?;
        reading.each(&all, OTHER_MEMORIES, |found, row: MemoryRow| found.memories.push(row)).await?;
        reading.each(&all, FOLDERS, |found, row: FolderRow| found.folders.push(row.into())).await?;
        reading.each(&all, PEOPLE, |found, row: NamedPerson| found.people.push(row.into())).await?;
        let found = reading.found();
        transaction.commit().await.doing(DOING)?;
        found.into_iter().map(Found::into_input).collect()
    }
}

const DOING: &str = "reading the input of runs";

const CONVERSATIONS: &str = for_each!(
    "select * from conversations c where c.user_id = k.user_id and c.conversation_id = k.conversation_id"
);
const USERS: &str = for_each!("select * from users u where u.user_id = k.user_id");
const RECENT_ITEMS: &str = for_each!(
    "select * from action_items i where i.user_id = k.user_id \
         and i.created_at > statement_timestamp() - interval '2 days' \
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
