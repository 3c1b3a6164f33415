//! A page of conversations: with everything that a list shows of them in one statement, which sees one moment and
//! costs one way to the database. Transcripts are a second one, in the same snapshot.

use db::{Error, query_as, query_scalar};
use futures::TryStreamExt;
use records::{ActionItem, Conversation, ConversationId, Segment, UserId};
use sqlx::{FromRow, PgConnection, Postgres, QueryBuilder};

use super::{ConversationFilter, ConversationView, StatusFilter, row::ConversationRow};
use crate::{
    Store,
    columns::ItemColumns,
    paging::{load_within, push_after, push_page},
    segments::weight,
};

/// How many bytes of words one reading holds at most: some pages of the longest talks, and every page of usual ones.
const MOST_WORDS: usize = 32 * 1024 * 1024;
/// What [`ConversationRow`] reads, for the one statement here that is put together.
const CONVERSATION_COLUMNS: &str = "user_id, conversation_id, created_at, updated_at, started_at, finished_at, language, \
     source, status, title, overview, emoji, category, nullif(events, '[]') as events, \
     nullif(apps_results, '[]') as apps_results, folder_id, starred, visibility, discarded, geolocation, \
     finalization_revision";

impl Store {
    /// [`conversations`](Self::conversations), where `reserve` is asked for the memory that they take as they are loaded, and for
    /// what their transcripts will take before these are. Returns its refusal.
    ///
    /// # Errors
    /// When the database does not answer, or a row cannot be read; [`Error::TooMuch`].
    pub async fn conversations_within<R>(
        &self,
        user: &UserId,
        filter: &ConversationFilter,
        mut reserve: impl FnMut(usize) -> Result<(), R>,
    ) -> Result<Result<Vec<ConversationView>, R>, Error> {
        let mut query = page(user, filter);
        let query = query.build_query_as::<PageRow>();
        if !filter.with_transcript {
            return load_within(query.fetch(self.db.pool()), PageRow::view, words, reserve).await;
        }
        let mut snapshot = self.db.begin_reading().await?;
        let loaded = load_within(query.fetch(&mut *snapshot), PageRow::view, words, &mut reserve).await?;
        let mut views = match loaded {
            Ok(views) => views,
            Err(refused) => return Ok(Err(refused)),
        };
        // The sizes are asked first: streaming the rows to the client instead would hold this session for as long as a
        // slow client takes to read its answer.
        let ids: Vec<&ConversationId> = views.iter().map(|view| &view.conversation.id).collect();
        if let Err(refused) = reserve(transcripts_size(&mut snapshot, user, &ids).await?) {
            return Ok(Err(refused));
        }
        let spoken = read_spoken(&mut snapshot, user, &ids).await?;
        for (view, spoken) in views.iter_mut().zip(spoken) {
            view.people = spoken.people;
            view.segments = Some(spoken.segments);
        }
        Ok(Ok(views))
    }
}

/// The bytes of a conversation's words in a list, its transcript apart, and what its action items take besides.
fn words(view: &ConversationView) -> usize {
    let structured = &view.conversation.structured;
    let events = structured.events.iter().map(|event| event.title.len() + event.description.len());
    let items = view.action_items.iter().map(|item| size_of::<ActionItem>() + item.description.len());
    let results = view.apps_results.iter().map(|(_, content)| content.len());
    structured.overview.len() + events.chain(items).chain(results).sum::<usize>()
}

pub(super) fn page(user: &UserId, filter: &ConversationFilter) -> QueryBuilder<Postgres> {
    let mut query = QueryBuilder::new("with page as materialized (select ");
    query.push(CONVERSATION_COLUMNS).push(" from conversations where ");
    match filter.page.skipped() {
        0 => listed(&mut query, user, filter),
        _ => {
            // What is skipped is read from the index alone; only the page's rows are fetched.
            query.push("user_id = ").push_bind(user.as_str());
            query.push(" and conversation_id = any(array(select conversation_id from conversations where ");
            listed(&mut query, user, filter);
            query.push("))");
        }
    }
    query.push(
        ") select page.*, f.name as folder_name, \
             (select u.name from users u where u.user_id = ",
    );
    query.push_bind(user.as_str()).push(") as user_name, i.* from page left join folders f on f.user_id = ");
    query.push_bind(user.as_str()).push(
        " and f.folder_id = page.folder_id \
         left join lateral (select array_agg(a.action_item_id) as item_ids, array_agg(a.description) as item_descriptions, \
             array_agg(a.completed) as item_completed, array_agg(a.created_at) as item_created_at, \
             array_agg(a.updated_at) as item_updated_at, array_agg(a.due_at) as item_due_at, \
             array_agg(a.completed_at) as item_completed_at, array_agg(a.position) as item_positions \
             from (select * from action_items o where o.user_id = ",
    );
    query.push_bind(user.as_str()).push(
        " and o.conversation_id = page.conversation_id order by o.position, o.created_at, o.action_item_id) a) i on true \
         order by page.created_at desc, page.conversation_id",
    );
    query
}

/// The list's conditions, order and rows; the order and the two constant conditions are those of its index.
fn listed(query: &mut QueryBuilder<Postgres>, user: &UserId, filter: &ConversationFilter) {
    query.push(match filter.status {
        StatusFilter::Completed => "status = 'completed' and not discarded",
        StatusFilter::Processing => "status = 'processing'",
        StatusFilter::Failed => "status = 'failed'",
        StatusFilter::InProgress => "status = 'in_progress'",
        StatusFilter::Any => "true",
    });
    query.push(" and user_id = ").push_bind(user.as_str());
    if let Some(start) = filter.page.start {
        query.push(" and created_at >= ").push_bind(start);
    }
    if let Some(end) = filter.page.end {
        query.push(" and created_at <= ").push_bind(end);
    }
    if !filter.categories.is_empty() {
        let names: Vec<&str> = filter.categories.iter().map(|category| category.as_str()).collect();
        query.push(" and category = any(").push_bind(names).push(")");
    }
    if let Some(folder) = &filter.folder_id {
        query.push(" and folder_id = ").push_bind(folder.as_str());
    }
    if let Some(starred) = filter.starred {
        // In the text: a partial index holds the starred ones, and one plan serves every such list.
        query.push(if starred { " and starred" } else { " and not starred" });
    }
    push_after(query, filter.page.after.as_ref(), "(0, conversation_id)");
    query.push(" order by created_at desc, conversation_id");
    push_page(query, &filter.page);
}

/// A conversation with the names and the action items that a list shows.
#[derive(FromRow)]
pub(super) struct PageRow {
    #[sqlx(flatten)]
    conversation: ConversationRow,
    folder_name: Option<String>,
    user_name: Option<String>,
    #[sqlx(flatten)]
    items: ItemColumns,
}

impl PageRow {
    pub(super) fn view(mut self) -> Result<ConversationView, Error> {
        let apps_results = self.conversation.take_apps_results()?;
        let conversation = Conversation::try_from(self.conversation)?;
        Ok(ConversationView {
            folder_name: self.folder_name,
            action_items: self.items.of(&conversation.id),
            segments: None,
            user_name: self.user_name,
            people: Vec::new(),
            apps_results,
            conversation,
        })
    }
}

/// The bytes of memory that the transcripts of conversations take once they are loaded.
pub(super) async fn transcripts_size(
    connection: &mut PgConnection,
    user: &UserId,
    conversations: &[&ConversationId],
) -> Result<usize, Error> {
    let ids: Vec<&str> = conversations.iter().map(|id| id.as_str()).collect();
    let size: i64 = query_scalar!("conversations/transcript_bytes.sql", user, ids, SEGMENT_OVERHEAD)
        .fetch_one(connection)
        .await?;
    Ok(usize::try_from(size).unwrap_or(usize::MAX))
}

/// The bytes that a loaded segment takes besides its texts: a list that grows holds up to twice its items, and an answer
/// is made of a third one.
const SEGMENT_OVERHEAD: i64 = 3 * size_of::<Segment>() as i64;

/// What was said in one conversation.
#[derive(Default)]
struct Spoken {
    segments: Vec<Segment>,
    /// Known people whom they name, by id: each once, in the order of appearance.
    people: Vec<(String, String)>,
}

#[derive(FromRow)]
struct PlacedSegment {
    place: i64,
    #[sqlx(flatten)]
    segment: Segment,
}

#[derive(FromRow)]
struct PlacedPerson {
    place: i64,
    person_id: String,
    name: String,
}

/// Reads the segments of each of `conversations`, in their order. People are not queried when no segment names one.
///
/// # Errors
/// [`Error::TooMuch`] when more was said than one answer may hold.
async fn read_spoken(
    connection: &mut PgConnection,
    user: &UserId,
    conversations: &[&ConversationId],
) -> Result<Vec<Spoken>, Error> {
    let ids: Vec<&str> = conversations.iter().map(|id| id.as_str()).collect();
    let mut found: Vec<Spoken> = ids.iter().map(|_| Spoken::default()).collect();
    let place = |place: i64| usize::try_from(place).unwrap_or(usize::MAX);
    let (mut bytes, mut names_people) = (0, false);
    let mut rows = query_as!("conversations/page_segments.sql", user, &ids).fetch(&mut *connection);
    // The rows come one by one, and none is kept beside what was made of it.
    while let Some(row) = rows.try_next().await? {
        let PlacedSegment { place: nth, segment } = row;
        bytes += weight(&segment);
        if bytes > MOST_WORDS {
            return Err(Error::TooMuch);
        }
        names_people |= segment.person_id.is_some();
        if let Some(spoken) = found.get_mut(place(nth)) {
            spoken.segments.push(segment);
        }
    }
    drop(rows);
    if names_people {
        let people: Vec<PlacedPerson> =
            query_as!("conversations/page_people.sql", user, &ids).fetch_all(connection).await?;
        for person in people {
            if let Some(spoken) = found.get_mut(place(person.place)) {
                spoken.people.push((person.person_id, person.name));
            }
        }
    }
    Ok(found)
}
