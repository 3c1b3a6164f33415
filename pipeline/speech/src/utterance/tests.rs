//! All speech is in one utterance, and only in one.

#![allow(clippy::panic, reason = "tests")]

use proptest::prelude::*;

use super::*;
use crate::voice::END_FRAMES;

const VOICED: Judged = Judged { speaking: true, voiced: true, score: 0.9 };
const QUIET: Judged = Judged { speaking: true, voiced: false, score: 0.1 };
const SILENT: Judged = Judged { speaking: false, voiced: false, score: 0.0 };

/// A cutter and what it cut; every frame holds its own number.
#[derive(Default)]
struct World {
    cutter: Option<Cutter>,
    frames: u64,
    cut: Vec<Utterance>,
}

impl World {
    fn hear(&mut self, frames: usize, judged: Judged) -> &mut Self {
        for _ in 0..frames {
            let number = i16::try_from(self.frames % 30_000).unwrap_or(0);
            let cutter = self.cutter.get_or_insert_with(|| Cutter::new(1));
            self.cut.extend(cutter.take(self.frames * FRAME as u64, &[number; FRAME], judged));
            self.frames += 1;
        }
        self
    }

    fn flush(&mut self) {
        self.cut.extend(self.cutter.as_mut().and_then(Cutter::flush));
    }

    /// The frames of an utterance, by their numbers, which must be those of its place.
    fn frames_of(utterance: &Utterance) -> std::ops::Range<u64> {
        let first = utterance.start / FRAME as u64;
        for (offset, frame) in utterance.samples.chunks(FRAME).enumerate() {
            let expected = i16::try_from((first + offset as u64) % 30_000).unwrap_or(0);
            assert!(frame.iter().all(|sample| *sample == expected), "the audio is that of the time");
        }
        first..first + (utterance.samples.len() / FRAME) as u64
    }
}

#[test]
fn utterance_has_300_ms_of_padding_on_both_sides() {
    let mut world = World::default();
    world.hear(100, SILENT).hear(50, VOICED).hear(END_FRAMES as usize - 1, QUIET).hear(100, SILENT);
    let [utterance] = &world.cut[..] else { panic!("one utterance") };
    assert_eq!(World::frames_of(utterance), 100 - BEFORE as u64..150 + PAD as u64);
    assert_eq!((utterance.track, utterance.voiced), (1, (50 + BEGIN_WINDOW - 1) * FRAME as u32));
}

#[test]
fn utterance_detection_ignores_clicks() {
    let mut world = World::default();
    world.hear(100, SILENT).hear(3, VOICED).hear(43, QUIET).hear(100, SILENT);
    assert_eq!(world.cut.len(), 0);
}

#[test]
fn utterances_in_quick_succession_do_not_overlap() {
    let mut world = World::default();
    for _ in 0..5 {
        world.hear(30, VOICED).hear(END_FRAMES as usize - 1, QUIET).hear(1, SILENT);
    }
    assert_eq!(world.cut.len(), 5);
    for pair in world.cut.windows(2) {
        assert!(World::frames_of(&pair[0]).end <= World::frames_of(&pair[1]).start);
    }
}

#[test]
fn utterance_without_pauses_is_cut_at_its_quietest_point() {
    let mut world = World::default();
    world.hear(1_600, VOICED).hear(1, Judged { score: 0.4, ..VOICED }).hear(3_000, VOICED);
    world.flush();
    let lengths: Vec<usize> = world.cut.iter().map(|utterance| utterance.samples.len()).collect();
    assert_eq!(lengths[0], 1_601 * FRAME);
    assert!(lengths.iter().all(|length| *length <= LONGEST));
    assert_eq!(lengths.iter().sum::<usize>(), 4_601 * FRAME);
}

#[test]
fn utterance_flush_followed_by_silence_starts_none() {
    let mut world = World::default();
    world.hear(100, VOICED);
    world.flush();
    world.hear(END_FRAMES as usize - 1, QUIET).hear(10, SILENT);
    assert_eq!(world.cut.len(), 1);
}

#[test]
fn utterance_flush_ends_it_and_speech_continues_in_the_next() {
    let mut world = World::default();
    world.hear(100, VOICED);
    world.flush();
    world.flush();
    world.hear(100, VOICED);
    world.flush();
    let ranges: Vec<_> = world.cut.iter().map(World::frames_of).collect();
    assert_eq!(ranges, [0..100, 100..200]);
}

proptest! {
    #[test]
    fn any_speech_is_in_exactly_one_utterance(
        parts in prop::collection::vec((1_usize..2_500, 0_usize..43, 1_usize..200), 1..6),
        flushes in prop::collection::vec(any::<bool>(), 6),
    ) {
        let mut world = World::default();
        let mut spoken = Vec::new();
        for ((voiced, pause, silent), flush) in parts.into_iter().zip(flushes) {
            for (frames, is_last) in [(voiced + 10, false), (12, true)] {
                spoken.push(world.frames..world.frames + frames as u64);
                world.hear(frames, VOICED);
                if flush {
                    world.flush();
                }
                world.hear(if is_last { END_FRAMES as usize - 1 } else { pause }, QUIET);
            }
            world.hear(silent, SILENT);
        }
        let ranges: Vec<_> = world.cut.iter().map(World::frames_of).collect();
        for pair in ranges.windows(2) {
            prop_assert!(pair[0].end <= pair[1].start, "{:?}", pair);
        }
        for frame in spoken.into_iter().flatten() {
            prop_assert!(ranges.iter().any(|range| range.contains(&frame)), "frame {} of {:?}", frame, ranges);
        }
    }
}
