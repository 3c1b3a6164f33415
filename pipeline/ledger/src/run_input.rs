//! What a run reads, once per revision, before its first paid call: in one statement, which sees one moment and costs
//! one way to the database. Runs that begin together read together.

use records::{Background, ConversationId, Folder, FolderId, Segment, Timestamp, UserId};
use serde_json::Value;
use sqlx::{FromRow, Row};

use crate::{
    Ledger,
    conversations::shapes::meeting_from_json,
    error::{Doing, Error},
    reading::{Keys, column},
    take::Claimed,
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
    /// When the conversation began: what its dates are counted from.
    pub started_at: Timestamp,
    /// The conversation's language.
    pub language: String,
    /// Its words.
    pub content: Content,
    /// What is known of it beside them.
    pub background: Background,
    /// What the person is called.
    pub user_name: Option<String>,
    /// The IANA name of the zone that the person lives in now.
    pub time_zone: String,
    /// The apps that the person asked for, in their order.
    pub apps: Vec<String>,
    /// The person's folders.
    pub folders: Vec<Folder>,
    /// The person's action items created in the 2 days before now, not of this conversation, newest first, at most 500.
    pub recent_items: Vec<RecentItem>,
    /// What the person's memories say, newest first, not of this conversation, at most 1,000.
    pub memories: Vec<String>,
    /// Names of the people that the user knows, by id.
    pub people: Vec<(String, String)>,
}

/// An action item, as far as new ones are compared with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecentItem {
    /// Its id.
    pub id: String,
    /// Its words.
    pub description: String,
    /// When it is due.
    pub due_at: Option<Timestamp>,
}

/// Whose conversation a run is about.
pub(crate) type About = (UserId, ConversationId);

const DOING: &str = "reading the input of runs";

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

    /// Of a batch, in its order.
    async fn run_inputs(&self, abouts: Vec<About>) -> Result<Vec<Option<RunInput>>, Error> {
        let keys = Keys::of(
            abouts.iter().enumerate().map(|(place, (user, conversation))| (place, user, conversation)),
        );
        let mut session = self.by_keys.session(&self.pool, DOING).await?;
        let rows = keys.ask(INPUTS).fetch_all(&mut *session).await.doing(DOING)?;
        session.keep();
        let mut inputs: Vec<Option<RunInput>> = abouts.iter().map(|_| None).collect();
        for row in rows {
            let place: i64 = row.try_get("place").doing(DOING)?;
            let input = usize::try_from(place).ok().and_then(|place| inputs.get_mut(place));
            if let Some(input) = input {
                *input = Some(InputRow::from_row(&row).doing(DOING)?.into());
            }
        }
        Ok(inputs)
    }
}

/// A row for each conversation that is there; what hangs on it comes column by column, null where there is nothing. An
/// aggregate keeps the order of the subquery that it reads.
const INPUTS: &str = "select k.place, c.started_at, c.language, c.private_text, \
         c.text_source, c.text_source_spec, c.external_data->'calendar_meeting_context' as meeting, u.name as user_name, u.time_zone, u.apps, \
         s.*, i.*, m.*, f.*, p.* \
     from unnest($1::text[], $2::text[], $3::bigint[]) k (user_id, conversation_id, place) \
     join conversations c on c.user_id = k.user_id and c.conversation_id = k.conversation_id \
     join users u on u.user_id = k.user_id \
     cross join lateral (select array_agg(o.segment_id) as segment_ids, array_agg(o.content) as contents, \
             array_agg(o.speaker) as speakers, array_agg(o.speaker_id) as speaker_ids, \
             array_agg(o.is_user) as by_user, array_agg(o.person_id) as person_ids, \
             array_agg(o.start_seconds) as starts, array_agg(o.end_seconds) as ends \
         from (select * from transcript_segments t \
             where t.user_id = k.user_id and t.conversation_id = k.conversation_id order by t.position) o) s \
     cross join lateral (select array_agg(o.action_item_id) as item_ids, array_agg(o.description) as descriptions, \
             array_agg(o.due_at) as items_due_at \
         from (select * from action_items a where a.user_id = k.user_id \
             and a.created_at > statement_timestamp() - interval '2 days' \
             and a.conversation_id is distinct from k.conversation_id \
             order by a.created_at desc, a.action_item_id limit 500) o) i \
     cross join lateral (select array_agg(o.content) as memories \
         from (select e.content from memories e where e.user_id = k.user_id \
             and e.conversation_id is distinct from k.conversation_id \
             order by e.created_at desc, e.memory_id limit 1000) o) m \
     cross join lateral (select array_agg(o.folder_id) as folder_ids, array_agg(o.name) as folder_names, \
             array_agg(o.description) as folder_descriptions \
         from (select * from folders d where d.user_id = k.user_id order by d.position, d.folder_id) o) f \
     cross join lateral (select array_agg(o.person_id) as known_ids, array_agg(o.name) as known_names \
         from (select * from people w where w.user_id = k.user_id order by w.person_id) o) p";

#[derive(FromRow)]
struct InputRow {
    started_at: Timestamp,
    language: String,
    private_text: Option<String>,
    #[sqlx(flatten)]
    background: BackgroundRow,
    user_name: Option<String>,
    time_zone: String,
    apps: Vec<String>,
    #[sqlx(flatten)]
    segments: Segments,
    #[sqlx(flatten)]
    items: Items,
    memories: Option<Vec<String>>,
    #[sqlx(flatten)]
    folders: Folders,
    #[sqlx(flatten)]
    people: People,
}

impl From<InputRow> for RunInput {
    fn from(row: InputRow) -> Self {
        Self {
            started_at: row.started_at,
            language: row.language,
            content: match row.private_text {
                Some(text) => Content::Text(text),
                None => Content::Segments(row.segments.rows()),
            },
            background: row.background.into(),
            user_name: row.user_name,
            time_zone: row.time_zone,
            apps: row.apps,
            folders: row.folders.rows(),
            recent_items: row.items.rows(),
            memories: row.memories.unwrap_or_default(),
            people: row.people.rows(),
        }
    }
}

#[derive(FromRow)]
struct BackgroundRow {
    text_source: Option<String>,
    text_source_spec: Option<String>,
    meeting: Option<Value>,
}

impl From<BackgroundRow> for Background {
    /// `other_text` says nothing.
    fn from(row: BackgroundRow) -> Self {
        let source = row.text_source.filter(|source| source != "other_text");
        let kind = source.into_iter().chain(row.text_source_spec).collect::<Vec<_>>().join(": ");
        Self {
            kind: Some(kind).filter(|kind| !kind.is_empty()),
            meeting: row.meeting.and_then(meeting_from_json),
        }
    }
}

#[derive(FromRow)]
struct Segments {
    segment_ids: Option<Vec<Option<String>>>,
    contents: Option<Vec<String>>,
    speakers: Option<Vec<Option<String>>>,
    speaker_ids: Option<Vec<Option<i32>>>,
    by_user: Option<Vec<bool>>,
    person_ids: Option<Vec<Option<String>>>,
    starts: Option<Vec<f64>>,
    ends: Option<Vec<f64>>,
}

impl Segments {
    fn rows(self) -> Vec<Segment> {
        let (mut ids, mut contents) = (column(self.segment_ids), column(self.contents));
        let (mut speakers, mut speaker_ids) = (column(self.speakers), column(self.speaker_ids));
        let (mut by_user, mut person_ids) = (column(self.by_user), column(self.person_ids));
        let (mut starts, mut ends) = (column(self.starts), column(self.ends));
        let next = || {
            Some(Segment {
                id: ids.next()?,
                text: contents.next()?,
                speaker: speakers.next()?,
                speaker_id: speaker_ids.next()?,
                is_user: by_user.next()?,
                person_id: person_ids.next()?,
                start: starts.next()?,
                end: ends.next()?,
            })
        };
        std::iter::from_fn(next).collect()
    }
}

#[derive(FromRow)]
struct Items {
    item_ids: Option<Vec<String>>,
    descriptions: Option<Vec<String>>,
    items_due_at: Option<Vec<Option<Timestamp>>>,
}

impl Items {
    fn rows(self) -> Vec<RecentItem> {
        let (mut ids, mut descriptions) = (column(self.item_ids), column(self.descriptions));
        let mut dues = column(self.items_due_at);
        let next =
            || Some(RecentItem { id: ids.next()?, description: descriptions.next()?, due_at: dues.next()? });
        std::iter::from_fn(next).collect()
    }
}

#[derive(FromRow)]
struct Folders {
    folder_ids: Option<Vec<String>>,
    folder_names: Option<Vec<String>>,
    folder_descriptions: Option<Vec<Option<String>>>,
}

impl Folders {
    fn rows(self) -> Vec<Folder> {
        let (mut ids, mut names) = (column(self.folder_ids), column(self.folder_names));
        let mut descriptions = column(self.folder_descriptions);
        let next = || {
            Some(Folder {
                id: FolderId::new(ids.next()?),
                name: names.next()?,
                description: descriptions.next()?,
            })
        };
        std::iter::from_fn(next).collect()
    }
}

#[derive(FromRow)]
struct People {
    known_ids: Option<Vec<String>>,
    known_names: Option<Vec<String>>,
}

impl People {
    fn rows(self) -> Vec<(String, String)> {
        column(self.known_ids).zip(column(self.known_names)).collect()
    }
}
