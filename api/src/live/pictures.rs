//! Pictures that come in parts (`image_chunk`).

use std::time::{Duration, Instant};

use base64::{Engine, prelude::BASE64_STANDARD};

/// Parts of a picture.
const MOST_PARTS: usize = 50;
/// Bytes of a picture.
const MOST_BYTES: usize = 2 * 1_024 * 1_024;
/// Pictures of which parts are missing.
const MOST_UNDER_WAY: usize = 3;
/// How long the parts of a picture may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The pictures of a session of which parts are missing.
#[derive(Default)]
pub(super) struct Pictures(Vec<Picture>);

struct Picture {
    id: String,
    parts: Vec<Option<String>>,
    since: Instant,
}

/// A part that does not fit, or an invalid picture.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unusable;

impl Pictures {
    /// Takes a part; the whole picture, in base64, when it was the last one that was missing.
    ///
    /// # Errors
    /// [`Unusable`]: what came of that picture so far is forgotten.
    pub(super) fn take(
        &mut self,
        (id, index, total): (String, usize, usize),
        data: String,
        now: Instant,
    ) -> Result<Option<(String, String)>, Unusable> {
        self.0.retain(|picture| now.saturating_duration_since(picture.since) < PATIENCE);
        let place = self.0.iter().position(|picture| picture.id == id);
        let place = match place {
            Some(place) => place,
            None if total > MOST_PARTS || self.0.len() >= MOST_UNDER_WAY => return Err(Unusable),
            None => {
                self.0.push(Picture { id, parts: vec![None; total], since: now });
                self.0.len() - 1
            }
        };
        let Some(picture) = self.0.get_mut(place) else { return Err(Unusable) };
        let fits = picture.parts.len() == total;
        match picture.parts.get_mut(index) {
            Some(part) if fits => *part = Some(data),
            _ => {
                self.0.remove(place);
                return Err(Unusable);
            }
        }
        let held: usize = picture.parts.iter().flatten().map(String::len).sum();
        let is_whole = picture.parts.iter().all(Option::is_some);
        if held > MOST_BYTES.div_ceil(3) * 4 {
            self.0.remove(place);
            return Err(Unusable);
        }
        if !is_whole {
            return Ok(None);
        }
        let Picture { id, parts, .. } = self.0.remove(place);
        let base64: String = parts.into_iter().flatten().collect();
        let bytes = BASE64_STANDARD.decode(&base64).map_err(|_| Unusable)?;
        let is_picture = bytes.starts_with(b"\xff\xd8\xff") || bytes.starts_with(b"\x89PNG\r\n\x1a\n");
        if is_picture { Ok(Some((id, base64))) } else { Err(Unusable) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(
        pictures: &mut Pictures,
        index: usize,
        total: usize,
        data: &str,
    ) -> Result<Option<(String, String)>, Unusable> {
        pictures.take(("p".to_owned(), index, total), data.to_owned(), Instant::now())
    }

    #[test]
    fn picture_chunks_are_assembled_in_any_order() {
        let base64 = BASE64_STANDARD.encode(b"\x89PNG\r\n\x1a\nrest of it");
        let (one, two) = base64.split_at(7);
        let mut pictures = Pictures::default();
        assert_eq!(part(&mut pictures, 1, 2, two), Ok(None));
        assert_eq!(part(&mut pictures, 1, 2, two), Ok(None), "a repeat changes nothing");
        assert_eq!(part(&mut pictures, 0, 2, one), Ok(Some(("p".to_owned(), base64))));
        assert!(pictures.0.is_empty());
    }

    #[test]
    fn invalid_oversized_and_stalled_pictures_are_dropped() {
        let mut pictures = Pictures::default();
        assert_eq!(part(&mut pictures, 0, 1, &BASE64_STANDARD.encode("GIF89a")), Err(Unusable));
        assert_eq!(part(&mut pictures, 0, 1, "no base64!"), Err(Unusable));
        assert_eq!(part(&mut pictures, 0, 51, "aGk="), Err(Unusable));
        assert_eq!(part(&mut pictures, 0, 3, "aGk="), Ok(None));
        assert_eq!(part(&mut pictures, 1, 4, "aGk="), Err(Unusable), "two totals");
        assert_eq!(part(&mut pictures, 0, 2, &"A".repeat(2_800_000)), Err(Unusable));
        assert_eq!(part(&mut pictures, 0, 2, "aGk="), Ok(None));
        let later = Instant::now() + PATIENCE;
        assert_eq!(pictures.take(("q".to_owned(), 0, 2), String::new(), later), Ok(None));
        assert_eq!(pictures.0.len(), 1);
    }
}
