//! Single views: one conversation with what hangs on it, in one snapshot. Requests that come together read together.

use records::{ActionItem, ConversationId, Segment, UserId};
use sqlx::FromRow;

use super::{
    ConversationView,
    row::{ConversationRow, conversation_columns},
};
use crate::{
    Ledger,
    connect::Plans,
    error::{Doing, Error},
    items::ItemRow,
    known_people::NamedPerson,
    reading::{Keys, Reading, for_each},
    segments::SegmentRow,
};

const DOING: &str = "reading a conversation";

/// What is to be shown.
#[derive(Clone)]
pub(crate) struct Shown {
    user: UserId,
    conversation: ConversationId,
    with_transcript: bool,
}

/// What is shown; nothing of a conversation that its reader does not have.
pub(crate) type Seen = Option<ConversationView>;

impl Ledger {
    pub(super) async fn one_view(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        with_transcript: bool,
    ) -> Result<Seen, Error> {
        let shown = Shown { user: user.clone(), conversation: conversation.clone(), with_transcript };
        let all = async |ledger: Self, batch: Vec<_>| ledger.views_of(&batch).await;
        self.views.ask(self, shown, all).await
    }

    async fn views_of(&self, batch: &[Shown]) -> Result<Vec<Seen>, Error> {
        let mut snapshot = self.begin_reading(DOING, Plans::OfKeys).await?;
        let mut reading = Reading::new(&mut snapshot, batch.len(), DOING);
        let all = keys(batch, |_, _| true);
        reading.each(&all, CONVERSATIONS, |found: &mut Found, row: NamedRow| found.row = Some(row)).await?;
        reading.each(&all, ITEMS, |found, row: ItemRow| found.items.push(row.into())).await?;
        let spoken = keys(batch, |_, shown| shown.with_transcript);
        reading.each(&spoken, SEGMENTS, |found, row: SegmentRow| found.segments.push(row.into())).await?;
        let naming: Vec<bool> = reading.so_far().iter().map(Found::names_people).collect();
        let naming = keys(batch, |place, _| naming[place]);
        reading.each(&naming, PEOPLE, |found, row: NamedPerson| found.people.push(row.into())).await?;
        let found = reading.found();
        snapshot.commit().await.doing(DOING)?;
        found.into_iter().zip(batch).map(|(found, shown)| found.into_view(shown)).collect()
    }
}

/// Those of a batch that are asked about.
fn keys(batch: &[Shown], is_asked: impl Fn(usize, &Shown) -> bool) -> Keys<'_> {
    let asked = batch.iter().enumerate().filter(|(place, shown)| is_asked(*place, shown));
    Keys::of(asked.map(|(place, shown)| (place, &shown.user, &shown.conversation)))
}

const CONVERSATIONS: &str = for_each!(
    "select ",
    conversation_columns!(),
    ", (select u.name from users u where u.user_id = c.user_id) as user_name, \
     (select f.name from folders f where f.user_id = c.user_id and f.folder_id = c.folder_id) as folder_name \
     from conversations c where c.user_id = k.user_id and c.conversation_id = k.conversation_id"
);
const ITEMS: &str = for_each!(
    "select * from action_items i where i.user_id = k.user_id and i.conversation_id = k.conversation_id \
     order by i.created_at, i.action_item_id"
);
const SEGMENTS: &str = for_each!(
    "select * from transcript_segments s \
     where s.user_id = k.user_id and s.conversation_id = k.conversation_id order by s.position"
);
/// Each once, in the order of appearance.
const PEOPLE: &str = for_each!(
    "select p.person_id, p.name from people p join ( \
         select s.person_id, min(s.position) as first from transcript_segments s \
         where s.user_id = k.user_id and s.conversation_id = k.conversation_id and s.person_id is not null \
         group by s.person_id) named using (person_id) \
     where p.user_id = k.user_id order by named.first"
);

/// What was found of one.
#[derive(Default)]
struct Found {
    row: Option<NamedRow>,
    items: Vec<ActionItem>,
    segments: Vec<Segment>,
    people: Vec<(String, String)>,
}

#[derive(FromRow)]
struct NamedRow {
    #[sqlx(flatten)]
    row: ConversationRow,
    user_name: Option<String>,
    folder_name: Option<String>,
}

impl Found {
    fn names_people(&self) -> bool {
        self.segments.iter().any(|segment| segment.person_id.is_some())
    }

    fn into_view(self, shown: &Shown) -> Result<Seen, Error> {
        let Some(NamedRow { mut row, user_name, folder_name }) = self.row else { return Ok(None) };
        Ok(Some(ConversationView {
            apps_results: row.take_apps_results()?,
            conversation: row.try_into()?,
            folder_name,
            action_items: self.items,
            segments: shown.with_transcript.then_some(self.segments),
            user_name,
            people: self.people,
        }))
    }
}
