//! The items so far: one per task, with what later sentences add to them.

use std::sync::{Arc, LazyLock};

use stages::ItemDraft;

use super::{Found, WITHIN_REACH};
use crate::embedded::dates::Reference;
use crate::embedded::pattern::Pattern;
use crate::embedded::same::Task;
use crate::embedded::text::{Sentence, content_stems, pattern};

/// The items so far. A long talk has many, so that only the latest are compared: one that comes up
/// again after so many others is a new reminder of it, and completion compares once more.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) all: Vec<ItemDraft>,
    /// What each is compared by.
    tasks: Vec<Arc<Task>>,
    /// The sentence and the speaker of each.
    said: Vec<(usize, Option<String>)>,
    /// Whether the sentence that made the open proposal was an offer.
    offered: bool,
    /// Whether the present sentence is one.
    offers: bool,
    /// The line of the open proposal.
    line: usize,
    /// The present line.
    present: usize,
    /// Of each item: whether its description is the sentence as it was said.
    as_said: Vec<bool>,
    /// Of the item that is being added.
    is_said: bool,
    /// How many sentences were heard.
    sentences: usize,
    /// The latest item or proposal that nobody has taken on, who said it, and how many sentences ago.
    open: Option<(Open, Option<String>, usize)>,
    /// Who spoke the previous sentence, if it states a need or asks for a volunteer.
    needed: Option<Option<String>>,
    /// The present sentence answers it.
    answers_need: bool,
    /// The item that was added last, for the date that its speaker says after it, and how many sentences ago.
    latest: Option<(usize, usize)>,
    /// The present sentence asks.
    asks: bool,
    /// The item that the last sentence asked for or offered in a question, and who spoke.
    asked: Option<(usize, Option<String>)>,
}

/// What may be taken on.
enum Open {
    /// The item at a place, without an owner.
    Asked(usize),
    /// What was proposed without a date.
    Proposed(ItemDraft),
    /// What was proposed to all without a date.
    Joint(ItemDraft),
}

/// How many of the latest items a new one is compared with.
const COMPARED: usize = 40;

/// Within how many sentences a request is taken on in other words.
const ANSWERED: usize = 6;

/// How many items back what is likely one may be the same once more.
const REPEATED: usize = 6;

/// "Will do", "on it", "leave it with me": the speaker takes on what was asked.
static TAKES_ON: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:ok|okay|oh|yes|yeah|yep|yup|sure|fine|right|alright|great|absolutely|certainly|aye|no|nope|not yet|of course|no problem|no worries|no bother|nae bother|nae problem|sure thing|go on|me|that's me)\W+)*(?:will do|on it|i'm on it|deal|it's a deal|you're on|leave (?:it|that) (?:with|to) me|consider it done|i(?:'ll| will| can| could)(?: (?:do|handle|manage|sort|take|see to|take care of|get) (?:it|that|this|them|care of it)(?: (?:out|then|now|right away|straight away|if you like))?)?|happy to|count on me|me|i am|that's me|that's mine|mine|that'd be me|that one's mine|i'll look into (?:it|that)|i don't mind|my job|my turn|i've got (?:it|that)|i'd be glad to)(?:\W+(?:by|on|before|tomorrow|today|tonight|next|this|at|in|over|after|first\s+thing|later)\b(?:\W*[\p{L}\d:'-]+){0,4})?\W*$",
    )
});

/// "Sure, by Friday", "yes, tomorrow".
static DATES_IT: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:ok|okay|yes|yeah|yep|sure|of course|no problem|will do)\W+(?:by|on|before|tomorrow|today|tonight|next|this|at|in|first\s+thing)\b(?:\W*[\p{L}\d:'-]+){0,4}\W*$",
    )
});

/// "By Friday, please.": a date alone.
static DATE_ALONE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:and|but|well|so|say|let's\s+say|ideally|preferably|if\s+possible)\W+)*(?:by|before|on|no\s+later\s+than|not\s+later\s+than|latest|at\s+the\s+latest|today|tomorrow|tonight|this|next|first\s+thing|within)\b(?:\W*[\p{L}\d:'-]+){0,7}\W*$",
    )
});

/// "Please do", "that would be great": an offer is accepted.
static ACCEPTS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:ok|okay|oh|yes|yeah|yep|sure)\W+)*(?:let's\s+do\s+(?:it|that)|please|great|perfect|lovely|brilliant|wonderful|excellent|fantastic|thanks|thank you|cheers|go ahead|sounds good|good idea|deal|do it|do that|by all means|why not|definitely|(?:that|it)(?:'d| would) (?:be|help)|(?:i'd|i would) (?:appreciate|love) (?:it|that)|would you|could you|if you (?:could|would|don't mind|like)|oh would you|that's (?:very |so |really )?(?:kind|nice|sweet|lovely)|you're (?:a star|an angel|a lifesaver|the best|a legend))\b|^\W*(?:yes|yeah|yep|yup|sure|ok|okay)\W*$",
    )
});

/// "Good idea", "agreed": a proposal to all is taken up.
static AGREES: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:oh|ok|okay|yes|yeah|yep|sure|right|absolutely)\W+)*(?:good\s+(?:idea|plan|point|call|thinking)|great\s+idea|agreed|deal|let's(?:\s+do\s+(?:that|it))?|sounds\s+(?:good|great|fine|like\s+a\s+plan)|works\s+for\s+me|fine\s+(?:by|with)\s+me|i\s+agree|why\s+not|perfect|definitely|absolutely|we\s+should|yes,?\s+(?:let's|please|we\s+should))\b|^\W*(?:ok|okay|yes|yeah|yep|sure|fine|great)\W*$",
    )
});

/// "We need volunteers", "who could drive?", "can anyone bring a tent?".
static NEEDS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:we(?:'ll|'d)?\s+(?:still\s+|also\s+)?need|we're\s+(?:short\s+of|missing|looking\s+for)|who(?:'s|\s+is|\s+can|\s+could|\s+wants|\s+will|'ll)|(?:can|could|would)\s+(?:anyone|anybody|someone|somebody)|(?:someone|somebody)\s+(?:needs|has|should|must)|any\s+volunteers)\b",
    )
});

/// "Not yet", "no, I haven't": what was asked about is still to be done.
static NOT_YET: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:oh|no|um|uh|er|well|damn|sorry|ah|gosh)\W+)*(?:not\s+yet|(?:no|nope)\W+i\s+haven't|i\s+haven't(?:\s+yet)?|i\s+(?:totally\s+|completely\s+)?forgot|still\s+not|nobody\s+has)\b",
    )
});

/// "No, sorry, I can't", "no need": what was asked for is refused, or done already.
static REFUSES: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:oh|um|well|sorry|ah|actually|no|nope|nah|thanks|thank\s+you|i'm\s+sorry|i'm\s+afraid)\W+)*(?:no\s+need\b|not\s+necessary|i\s+(?:can't|cannot|won't|couldn't)\b|(?:i(?:'ve|\s+have)?|we(?:'ve|\s+have)?|it's|that's)\s+already\b|already\s+(?:done|did|have)\b|don't\s+bother|no\W+(?:thanks|thank\s+you|it's\s+(?:fine|ok|okay|all\s+right)|don't\s+worry|leave\s+it|you\s+don't\s+have\s+to)\b|(?:it|that)(?:'s|\s+has)\s+been\s+\p{L}+)",
    )
});
/// "Shall I", "do you want me to".
static OFFERS_IT: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"(?i)\b(?:(?:shall|should)\s+i|i\s+(?:can|could)|me\s+to|do\s+i\s+(?:have|need)\s+to)\b")
});
/// "I could book the room if you like."
static OFFERS: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)\bif\s+you(?:'d)?\s+(?:like|want|wish|prefer)\b|\bif\s+that\s+helps\b"));
/// "I can't today, but tomorrow."
static LATER: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)\b(?:but|i'll|i\s+will|until|till|before|after|only)\b"));

impl Kept {
    /// Whether `sentence` may be by another speaker than `speaker`: where nobody is named, a new line may be.
    fn is_other(&self, sentence: &Sentence<'_>, speaker: Option<&str>) -> bool {
        match sentence.speaker {
            None => speaker.is_none() && self.line != sentence.line,
            one => one != speaker,
        }
    }

    /// Takes back what the last sentence asked for, where another refuses it.
    fn take_back(&mut self, sentence: &Sentence<'_>) {
        let Some((at, asker)) = self.asked.take() else { return };
        let another = self.is_other(sentence, asker.as_deref());
        let refused = REFUSES.is_match(&sentence.text) && !LATER.is_match(&sentence.text);
        if another && refused && at + 1 == self.all.len() {
            self.all.pop();
            self.tasks.pop();
            self.said.pop();
            self.as_said.pop();
            (self.open, self.latest) = (None, None);
        }
    }

    /// A sentence may take on what was asked or proposed last, or accept what was offered.
    pub(super) fn heard(&mut self, sentence: &Sentence<'_>, reference: &Reference) {
        self.sentences += 1;
        self.take_back(sentence);
        self.present = sentence.line;
        self.offers = sentence.speaker.is_none() && OFFERS_IT.is_match(&sentence.text);
        self.asks = sentence.text.ends_with('?') || OFFERS.is_match(&sentence.text);
        if let Some((at, ago)) = self.latest.take() {
            let due = || reference.due(&sentence.text).map(|(_, moment)| moment);
            match self.all.get_mut(at) {
                Some(item)
                    if ago == 0 && !sentence.text.ends_with('?') && DATE_ALONE.is_match(&sentence.text) =>
                {
                    item.due_at = item.due_at.or_else(due);
                }
                _ => self.latest = Some((at, ago + 1)).filter(|(_, ago)| *ago < 1),
            }
        }
        let needs = NEEDS.is_match(&sentence.text).then(|| sentence.speaker.map(str::to_owned));
        let answers = std::mem::replace(&mut self.needed, needs);
        self.answers_need = answers.is_some_and(|speaker| speaker.as_deref() != sentence.speaker);
        let Some((open, said_by, ago)) = self.open.take() else { return };
        self.is_said = false;
        let another = self.is_other(sentence, said_by.as_deref());
        let taken = another && TAKES_ON.is_match(&sentence.text);
        let owner = sentence.speaker.map(str::to_owned);
        let dates_it = !sentence.text.ends_with('?') && DATE_ALONE.is_match(&sentence.text);
        // "Sure, by Friday."
        let dates = taken || another && DATES_IT.is_match(&sentence.text);
        let dated = dates.then(|| reference.due(&sentence.text)).flatten();
        match open {
            Open::Asked(at) if taken || dated.is_some() => {
                if let Some(item) = self.all.get_mut(at) {
                    item.owner = owner;
                    item.due_at = item.due_at.or(dated.map(|(_, moment)| moment));
                }
            }
            // "I need the form. - By Friday."
            Open::Proposed(item) | Open::Joint(item)
                if item.owner.is_none() && ago == 0 && dates_it && !another =>
            {
                let due_at = reference.due(&sentence.text).map(|(_, moment)| moment);
                self.insert(ItemDraft { due_at, ..item }, said_by.as_deref());
            }
            Open::Proposed(item)
                if (item.owner.is_some() || sentence.speaker.is_none() && self.offered)
                    && another
                    && ACCEPTS.is_match(&sentence.text) =>
            {
                self.insert(item, said_by.as_deref());
            }
            // "Let's get a second quote. - Good idea."
            Open::Joint(item) if another && (taken || AGREES.is_match(&sentence.text)) => {
                let owner = item.owner.clone().or(owner.filter(|_| taken));
                self.insert(ItemDraft { owner, ..item }, said_by.as_deref());
            }
            // "Has anyone told them? - Not yet."
            Open::Proposed(item) if another && item.owner.is_none() && NOT_YET.is_match(&sentence.text) => {
                self.insert(item, said_by.as_deref());
            }
            // "Did you ring your sister? - Tomorrow, first thing."
            Open::Proposed(item) if dates_it && another && item.owner.is_none() => {
                let due_at = reference.due(&sentence.text).map(|(_, moment)| moment).or(item.due_at);
                self.insert(ItemDraft { owner, due_at, ..item }, sentence.speaker);
            }
            Open::Proposed(item) if taken && item.owner.is_none() => {
                let due_at = item.due_at.or(dated.map(|(_, moment)| moment));
                self.insert(ItemDraft { owner, due_at, ..item }, sentence.speaker);
            }
            open => self.open = Some((open, said_by, ago + 1)).filter(|(_, _, ago)| *ago < WITHIN_REACH),
        }
    }

    /// Adds what `speaker` said.
    pub(super) fn add(
        &mut self,
        Found { item, refers, proposed, joint, as_said, .. }: Found,
        speaker: Option<&str>,
    ) {
        self.is_said = as_said;
        let Some(verb) = refers else {
            // "We need volunteers. - I can bake two cakes."
            let offered = self.answers_need && item.owner.is_some() && item.owner.as_deref() == speaker;
            if proposed && !offered {
                let open = if joint { Open::Joint(item) } else { Open::Proposed(item) };
                self.open = Some((open, speaker.map(str::to_owned), 0));
                self.line = self.present;
                self.offered = self.offers;
            } else {
                self.insert(item, speaker);
            }
            return;
        };
        // "I can introduce you to her. I'll do that this afternoon."
        let proposes = |open: &(Open, Option<String>, usize)| match &open.0 {
            Open::Proposed(known) | Open::Joint(known) => {
                verb == "do" || first_word(known).eq_ignore_ascii_case(&verb)
            }
            Open::Asked(_) => false,
        };
        if let Some((Open::Proposed(known) | Open::Joint(known), _, _)) =
            self.open.take_if(|open| proposes(open))
        {
            self.insert(ItemDraft { owner: item.owner, due_at: item.due_at, ..known }, speaker);
        } else if let Some(known) = self.meant_by(&verb) {
            known.due_at = known.due_at.or(item.due_at);
            known.owner = known.owner.take().or(item.owner);
        } else if verb != "do" && proposed {
            let open = if joint { Open::Joint(item) } else { Open::Proposed(item) };
            self.open = Some((open, speaker.map(str::to_owned), 0));
            (self.line, self.offered) = (self.present, self.offers);
        } else if verb != "do" {
            self.insert(item, speaker);
        }
    }

    /// The task that an item means whose object is a pronoun: the latest with its verb, and of "do it" the latest.
    fn meant_by(&mut self, verb: &str) -> Option<&mut ItemDraft> {
        let same = |known: &&mut ItemDraft| verb == "do" || first_word(known).eq_ignore_ascii_case(verb);
        self.all.iter_mut().rev().take(WITHIN_REACH).find(same)
    }

    /// Whether one of the latest items is about all that `item` is about.
    pub(super) fn has_said(&self, item: &ItemDraft) -> bool {
        let (_, object) = item.description.split_once(' ').unwrap_or_default();
        let about = content_stems(object);
        let holds = |known: &ItemDraft| {
            let known = content_stems(&known.description);
            about.iter().all(|stem| known.contains(stem))
        };
        self.all.iter().rev().take(REPEATED).any(holds)
    }

    fn insert(&mut self, item: ItemDraft, speaker: Option<&str>) {
        let task = Task::of(&item.description);
        let from = self.all.len().saturating_sub(COMPARED);
        let mut latest = self.all.iter_mut().zip(&mut self.tasks).skip(from);
        // Said of two days, it is to be done twice; but what one asks for, another takes on for a day of his own.
        let days = |known: &ItemDraft| match (known.due_at, item.due_at) {
            _ if known.owner.is_none() && item.owner.is_some() => true,
            (Some(one), Some(other)) => one.date_naive() == other.date_naive(),
            _ => true,
        };
        if let Some((known, read)) = latest.find(|(item, known)| known.is_same(&task) && days(item)) {
            merge(known, item);
            *read = Task::of(&known.description);
            return;
        }
        if let Some(at) = self.hinted(&item)
            && let (Some(known), Some(read)) = (self.all.get_mut(at), self.tasks.get_mut(at))
        {
            let due_at = item.due_at.or(known.due_at);
            (*known, *read) = (ItemDraft { due_at, ..item }, task);
            self.latest = Some((at, 0));
            if let Some(as_said) = self.as_said.get_mut(at) {
                *as_said = false;
            }
            return;
        }
        if let Some(at) = self.restated(&task, speaker)
            && let (Some(known), Some(read)) = (self.all.get_mut(at), self.tasks.get_mut(at))
        {
            let object = known.description.split_once(' ').map_or("", |(_, object)| object);
            let whole = format!("{} {object}", first_word(&item));
            if item.description.split(' ').count() > whole.split(' ').count() {
                (known.description, *read) = (item.description, task);
            } else {
                *read = Task::of(&whole);
                known.description = whole;
            }
            known.owner = item.owner;
            known.due_at = item.due_at.or(known.due_at);
            self.latest = Some((at, 0));
            return;
        }
        if let Some(at) = self.answered(&item, &task, speaker)
            && let (Some(known), Some(read)) = (self.all.get_mut(at), self.tasks.get_mut(at))
        {
            // "Review my request. - I'll do your request after lunch."
            if read.leaves_open() {
                (known.description, *read) = (item.description, task);
            }
            known.owner = item.owner;
            known.due_at = item.due_at.or(known.due_at);
            return;
        }
        self.open = item.owner.is_none().then(|| {
            let asked = Open::Asked(self.all.len());
            (asked, speaker.map(str::to_owned), 0)
        });
        self.latest = Some((self.all.len(), 0));
        self.line = self.present;
        self.asked = self.asks.then(|| (self.all.len(), speaker.map(str::to_owned)));
        self.all.push(item);
        self.tasks.push(task);
        self.said.push((self.sentences, speaker.map(str::to_owned)));
        self.as_said.push(self.is_said);
    }

    /// The item that was only said, without a verb, and that `item` says in other words: "the invite bug is still there".
    fn hinted(&self, item: &ItemDraft) -> Option<usize> {
        let (_, object) = item.description.split_once(' ').unwrap_or_default();
        let about = content_stems(object);
        let from = self.all.len().saturating_sub(REPEATED);
        (from..self.all.len()).rev().filter(|_| !self.is_said).find(|at| {
            let (Some(known), Some((said, _)), Some(true)) =
                (self.all.get(*at), self.said.get(*at), self.as_said.get(*at))
            else {
                return false;
            };
            let ago = self.sentences - said;
            let known = content_stems(&known.description);
            let shared = about.iter().filter(|stem| known.contains(stem)).count();
            let alike = shared == about.len() || 2 * shared >= about.len() && (shared > 1 || ago <= 2);
            ago <= ANSWERED && shared > 0 && alike
        })
    }

    /// What the same speaker has just asked for: "I need ten examples, could you collect some?"
    fn restated(&self, task: &Task, speaker: Option<&str>) -> Option<usize> {
        let at = self.all.len().checked_sub(1)?;
        let (said, asker) = self.said.get(at)?;
        let read = self.tasks.get(at)?;
        let same = asker.as_deref() == speaker && self.sentences - said <= 1;
        (same && read.leaves_open() && !task.leaves_open() && read.is_taken_on_by(task)).then_some(at)
    }

    /// The item that another asked for in the last sentences, which `item` takes on in other words.
    fn answered(&self, item: &ItemDraft, task: &Task, speaker: Option<&str>) -> Option<usize> {
        let own = speaker.is_some() && item.owner.as_deref() == speaker;
        let from = self.all.len().saturating_sub(REPEATED);
        (from..self.all.len()).rev().filter(|_| own).find(|at| {
            let (Some(known), Some(read), Some((said, asker))) =
                (self.all.get(*at), self.tasks.get(*at), self.said.get(*at))
            else {
                return false;
            };
            let free = known.owner.is_none() || known.owner.as_deref() == speaker;
            let near = self.sentences - said <= ANSWERED;
            free && near && asker.as_deref() != speaker && read.is_taken_on_by(task)
        })
    }
}

fn first_word(item: &ItemDraft) -> &str {
    item.description.split(' ').next().unwrap_or_default()
}

/// The fuller wording, the first date and the first owner.
fn merge(known: &mut ItemDraft, again: ItemDraft) {
    let length = |item: &ItemDraft| item.description.split_whitespace().count();
    let taken = known.owner.is_none() && again.owner.is_some();
    if length(&again) > length(known) || taken && length(&again) == length(known) {
        known.description = again.description;
    }
    known.due_at = known.due_at.or(again.due_at);
    known.owner = known.owner.take().or(again.owner);
}
