//! Pictures that come in parts (`image_chunk`).

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use records::UserId;

use crate::state::{Budget, Reservation};

/// Parts of a picture.
const MOST_PARTS: usize = 50;
/// Bytes of a picture.
const MOST_BYTES: usize = 2 * 1_024 * 1_024;
/// Pictures of which parts are missing.
const MOST_UNDER_WAY: usize = 3;
/// How long the parts of a picture may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The pictures of a session of which parts are missing. They count in the memory that their user may hold in the process: one
/// who has many sessions holds no more.
pub(super) struct Pictures {
    under_way: Vec<Picture>,
    budget: Arc<Budget>,
    user: UserId,
}

struct Picture {
    id: String,
    parts: Vec<Option<String>>,
    since: Instant,
    held: Reservation,
}

/// A picture that has come whole, in base64.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) id: String,
    pub(super) base64: String,
    /// Its memory.
    _until_stored: Reservation,
}

/// A part that does not fit, or an invalid picture.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unusable;

impl Pictures {
    pub(super) fn new(budget: &Arc<Budget>, user: &UserId) -> Self {
        Self { under_way: Vec::new(), budget: Arc::clone(budget), user: user.clone() }
    }

    /// Gives the memory of pictures back whose parts do not come any more.
    pub(super) fn forget_stalled(&mut self, now: Instant) {
        self.under_way.retain(|picture| now.saturating_duration_since(picture.since) < PATIENCE);
    }

    /// Takes a part; the whole picture when it was the last one that was missing.
    ///
    /// # Errors
    /// [`Unusable`]: what came of that picture so far is forgotten.
    pub(super) fn take(
        &mut self,
        (id, index, total): (String, usize, usize),
        data: String,
        now: Instant,
    ) -> Result<Option<Whole>, Unusable> {
        self.forget_stalled(now);
        let place = self.under_way.iter().position(|picture| picture.id == id);
        let mut picture = match place {
            Some(place) => self.under_way.remove(place),
            None if total > MOST_PARTS || self.under_way.len() >= MOST_UNDER_WAY => return Err(Unusable),
            None => {
                let held = Reservation::none(&self.budget, &self.user);
                Picture { id, parts: vec![None; total], since: now, held }
            }
        };
        let fits = picture.parts.len() == total;
        match picture.parts.get_mut(index) {
            Some(part) if fits => *part = Some(data),
            _ => return Err(Unusable),
        }
        let bytes = picture.parts.iter().flatten().map(String::len).sum();
        if bytes > MOST_BYTES.div_ceil(3) * 4 {
            return Err(Unusable);
        }
        picture.held.resize(bytes).map_err(|_| Unusable)?;
        if picture.parts.iter().any(Option::is_none) {
            self.under_way.push(picture);
            return Ok(None);
        }
        let Picture { id, parts, held, .. } = picture;
        let base64: String = parts.into_iter().flatten().collect();
        let bytes = BASE64_STANDARD.decode(&base64).map_err(|_| Unusable)?;
        let is_picture = bytes.starts_with(b"\xff\xd8\xff") || bytes.starts_with(b"\x89PNG\r\n\x1a\n");
        if is_picture { Ok(Some(Whole { id, base64, _until_stored: held })) } else { Err(Unusable) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use super::*;

    fn pictures(budget: usize, user: &str) -> Pictures {
        let gauge = prometheus::IntGauge::new("held", "Held.").unwrap();
        Pictures::new(&Budget::new(budget, gauge), &UserId::new(user))
    }

    /// Beside others of the same process.
    fn beside(other: &Pictures, user: &str) -> Pictures {
        Pictures::new(&other.budget, &UserId::new(user))
    }

    fn part(
        pictures: &mut Pictures,
        index: usize,
        total: usize,
        data: &str,
    ) -> Result<Option<(String, String)>, Unusable> {
        let taken = pictures.take(("p".to_owned(), index, total), data.to_owned(), Instant::now());
        taken.map(|whole| whole.map(|whole| (whole.id, whole.base64)))
    }

    #[test]
    fn picture_chunks_are_assembled_in_any_order() {
        let base64 = BASE64_STANDARD.encode(b"\x89PNG\r\n\x1a\nrest of it");
        let (one, two) = base64.split_at(7);
        let mut pictures = pictures(4_000, "ann");
        assert_eq!(part(&mut pictures, 1, 2, two), Ok(None));
        assert_eq!(part(&mut pictures, 1, 2, two), Ok(None), "a repeat changes nothing");
        assert_eq!(part(&mut pictures, 0, 2, one), Ok(Some(("p".to_owned(), base64))));
        assert!(pictures.under_way.is_empty());
    }

    #[test]
    fn invalid_oversized_and_stalled_pictures_are_dropped() {
        let mut pictures = pictures(100_000_000, "ann");
        assert_eq!(part(&mut pictures, 0, 1, &BASE64_STANDARD.encode("GIF89a")), Err(Unusable));
        assert_eq!(part(&mut pictures, 0, 1, "no base64!"), Err(Unusable));
        assert_eq!(part(&mut pictures, 0, 51, "aGk="), Err(Unusable));
        assert_eq!(part(&mut pictures, 0, 3, "aGk="), Ok(None));
        assert_eq!(part(&mut pictures, 1, 4, "aGk="), Err(Unusable), "two totals");
        assert_eq!(part(&mut pictures, 0, 2, &"A".repeat(2_800_000)), Err(Unusable));
        assert_eq!(part(&mut pictures, 0, 2, "aGk="), Ok(None));
        let later = Instant::now() + PATIENCE;
        assert!(matches!(pictures.take(("q".to_owned(), 0, 2), "aGk=".to_owned(), later), Ok(None)));
        assert_eq!((pictures.under_way.len(), pictures.budget.held(&pictures.user)), (1, 4));
        pictures.forget_stalled(later + PATIENCE);
        assert_eq!(pictures.budget.held(&pictures.user), 0, "although no other picture comes");
    }

    #[test]
    fn parts_of_pictures_over_many_sockets_take_the_memory_of_one_user() {
        let data = "A".repeat(600);
        let mut first = pictures(4_000, "ann");
        let (mut second, mut others) = (beside(&first, "ann"), beside(&first, "bob"));
        assert_eq!(part(&mut first, 0, 2, &data), Ok(None));
        assert_eq!(
            part(&mut second, 0, 2, &data),
            Err(Unusable),
            "1,200 bytes are more than a quarter of it"
        );
        assert_eq!(part(&mut others, 0, 2, &data), Ok(None), "another user has a quarter, too");
        assert_eq!(part(&mut first, 1, 2, &data), Err(Unusable));
        assert_eq!(part(&mut second, 0, 2, &data), Ok(None), "what was dropped was given back");
        let png = BASE64_STANDARD.encode(b"\x89PNG\r\n\x1a\nrest of it");
        let whole = others.take(("q".to_owned(), 0, 1), png.clone(), Instant::now());
        drop(others);
        let held = |user: &UserId| first.budget.held(user);
        assert_eq!(held(&UserId::new("bob")), png.len(), "a whole picture is counted until it is stored");
        drop(whole);
        assert_eq!(held(&UserId::new("bob")), 0);
    }
}
