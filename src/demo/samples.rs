//! The demo's conversations: real-looking, of several kinds, none of them from the engine's own corpus.

use serde::Serialize;
use serde_json::{Value, json};

/// A conversation to be shown, and what may be expected of it.
pub(super) struct Sample {
    pub(super) name: &'static str,
    pub(super) route: Route,
    pub(super) kept: bool,
    pub(super) least_items: usize,
}

/// How a conversation comes in.
pub(super) enum Route {
    /// Stored, then finalized through the outbox (its owner insists: nothing is discarded).
    Outbox(Value),
    /// Created from text: judged first.
    Create(&'static str),
}

impl Sample {
    /// How many characters were said.
    pub(super) fn characters(&self) -> usize {
        match &self.route {
            Route::Create(text) => text.chars().count(),
            Route::Outbox(segments) => segments
                .as_array()
                .into_iter()
                .flatten()
                .map(|segment| segment["text"].as_str().unwrap_or_default().chars().count())
                .sum(),
        }
    }
}

/// Everything that is shown before the interruption, in order.
pub(super) fn all() -> Vec<Sample> {
    vec![
        outbox("a meeting", MEETING, 3),
        outbox("a family call", FAMILY, 2),
        outbox("a doctor's visit", DOCTOR, 2),
        Sample { name: "noise", route: Route::Create(NOISE), kept: false, least_items: 0 },
        Sample { name: "a mic test", route: Route::Create(MIC_TEST), kept: false, least_items: 0 },
        Sample { name: "a long talk", route: Route::Outbox(long_talk()), kept: true, least_items: 3 },
    ]
}

/// The conversation whose worker is killed.
pub(super) fn interrupted() -> Value {
    segments(INTERRUPTED, 6.0)
}

/// The conversation that is spoken over the live socket.
pub(super) fn spoken() -> &'static [Line] {
    SPOKEN
}

fn outbox(name: &'static str, lines: &[Line], least_items: usize) -> Sample {
    Sample { name, route: Route::Outbox(segments(lines, 6.0)), kept: true, least_items }
}

/// (the user speaks, words).
pub(super) type Line = (bool, &'static str);

/// Lines that begin `apart` seconds from each other.
fn segments<T: Serialize>(lines: &[(bool, T)], apart: f64) -> Value {
    let segment = |(index, (is_user, text)): (usize, &(bool, T))| {
        let start = index as f64 * apart;
        json!({
            "text": text, "start": start, "end": start + apart - 0.5, "is_user": is_user,
            "speaker": if *is_user { "SPEAKER_00" } else { "SPEAKER_01" },
        })
    };
    lines.iter().enumerate().map(segment).collect()
}

/// 500 segments near 100,000 characters: a workshop that goes over every room of a house, with tasks in between.
fn long_talk() -> Value {
    let mut lines = Vec::new();
    for index in 0..500_usize {
        let room = ROOMS[index % ROOMS.len()];
        let remark = REMARKS[(index / ROOMS.len()) % REMARKS.len()];
        let opinion = OPINIONS[(index * 7 + index / 3) % OPINIONS.len()];
        let memory = STORIES[(index * 3 + index / 11) % STORIES.len()];
        let task = if index % 100 == 50 { TASKS[(index / 100) % TASKS.len()] } else { "" };
        lines.push((
            index % 2 == 0,
            format!("About {room}: {remark} {opinion} {memory} {task}").trim().to_owned(),
        ));
    }
    segments(&lines, 7.0)
}

const MEETING: &[Line] = &[
    (true, "Good morning. Let's go through the release plan for the mobile app."),
    (false, "The beta went out to two hundred testers, and the crash rate is down to half a percent."),
    (true, "That's good news. We agreed to keep the old login screen for this release."),
    (false, "I will send the test report to Helena by Wednesday."),
    (true, "Great. I need to update the pricing page before the end of the month."),
    (true, "Marcus, could you review the privacy policy by Friday?"),
    (false, "Sure. The launch meeting is scheduled for December 8 at 2pm."),
    (true, "We decided to translate the store listing into French and Spanish first."),
];

const FAMILY: &[Line] = &[
    (false, "Hi darling, how is the new flat?"),
    (true, "It's lovely, Mum. I moved to Hamburg in October and the neighbours are friendly."),
    (false, "Your father wants to visit. Can you book the guest room for next weekend?"),
    (true, "Yes, I'll book the guest room tonight. I'm allergic to cats, so please leave Minka at home."),
    (false, "Of course. Don't forget to call your grandmother on Sunday, it's her birthday."),
    (true, "I always call her on Sundays. My brother works at the university library now, by the way."),
];

const DOCTOR: &[Line] = &[
    (false, "Your blood pressure is a little high, one hundred and forty over ninety."),
    (true, "I have been drinking a lot of coffee, and I sleep badly."),
    (
        false,
        "I'd like you to take these tablets every morning. Please make an appointment for a blood test next week.",
    ),
    (true, "OK. I need to pick up the prescription from the pharmacy tomorrow."),
    (false, "And please cut down on salt. The follow-up appointment is on December 15th at 9:30."),
    (true, "I run every Tuesday evening, is that still all right?"),
    (false, "Running is excellent for your heart, keep doing it."),
];

const NOISE: &str = "Uh. Mm-hmm. Yeah. Okay. Right. Bye.";

const MIC_TEST: &str = "Testing, testing. One two, one two. Hello? Is this on? Okay, testing.";

const SPOKEN: &[Line] = &[
    (true, "Before we start the bakery's Christmas orders, how many loaves are on the list?"),
    (false, "Eighty loaves and forty stollen, and the hotel wants theirs by eight in the morning."),
    (true, "Then I will order two more sacks of flour by Thursday."),
    (false, "Please call the hotel on Friday and confirm the delivery time."),
    (true, "We decided to close at noon on Christmas Eve."),
    (false, "I will print the sign for the door tomorrow."),
];

const INTERRUPTED: &[Line] = &[
    (true, "Let's plan the garden for spring."),
    (false, "The apple tree needs pruning, and the shed has a hole in the roof."),
    (true, "I will order new roof tiles by Friday."),
    (false, "Can you ask the neighbour about the ladder on Saturday?"),
    (true, "Yes. I love gardening, my favourite flowers are dahlias."),
    (false, "We need to empty the rain barrel before the first frost."),
];

const ROOMS: [&str; 10] = [
    "the kitchen",
    "the hallway",
    "the attic",
    "the bathroom",
    "the cellar",
    "the living room",
    "the staircase",
    "the balcony",
    "the study",
    "the workshop",
];

const REMARKS: [&str; 10] = [
    "the floor was laid in nineteen sixty and has never been sanded since.",
    "the window frames let the wind in, and the putty is falling out.",
    "the electrician found old wiring behind the panel on the north wall.",
    "the plaster is sound, although the paint has faded near the ceiling.",
    "the previous owners painted the shelves green, and years later brown.",
    "the radiator is loud at night, probably because there is air in the pipes.",
    "the light is best in the morning, when the sun comes over the roofs.",
    "the door sticks in summer, so the carpenter planed it twice already.",
    "the tiles were made by a factory that closed a long time ago.",
    "the damp patch has not grown since the gutter was repaired.",
];

const OPINIONS: [&str; 9] = [
    "Honestly it is a quiet corner of the house with a lot of charm and it deserves some patience.",
    "The architect says that it would cost about four thousand to do it properly.",
    "In my opinion a warm white would suit it better than the grey that was there before.",
    "It took three weekends to clear it, and the skip was full each time.",
    "The insulation is thin there, which is why the heating bill was so high.",
    "Some people would knock the wall through, but the beam carries the whole upper floor.",
    "It smells of old wood and linseed oil, which everybody seems to like.",
    "The photographs from the archive show that it once had a green stove.",
    "There is enough room for two desks and a sofa once the boxes are gone.",
];

const STORIES: [&str; 5] = [
    "The neighbour told us a story about it.",
    "That was before the road was built.",
    "It is marked in red on the plan.",
    "We looked at it twice on the tour.",
    "The surveyor measured it with a laser.",
];

const TASKS: [&str; 5] = [
    "I need to call the chimney sweep on Monday.",
    "Please send the floor plan to the architect by Thursday.",
    "We need to order the oak boards before the end of the month.",
    "I will cancel the storage unit next week.",
    "Can you compare the three offers for the windows by Friday?",
];
