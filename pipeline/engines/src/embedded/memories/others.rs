//! What lasts of what is said of others: of the speaker's people, and of those who are named.

use std::sync::LazyLock;

use super::rules::{ADVERBS, BEING, had, trade};
use crate::embedded::lexicon::{relatives, trades};
use crate::embedded::pattern::Pattern;
use crate::embedded::text::pattern;

/// Lasting things said of another person.
fn state() -> String {
    let (had, trade) = (had(), trade());
    let plural = trades().map(|word| format!("{word}s")).collect::<Vec<_>>().join("|");
    let plural = format!(
        r"(?:both\s+)?(?:[\p{{L}}-]+\s+){{0,2}}(?:{plural}|rowers|vegetarians|vegans|twins|students)"
    );
    format!(
        r"(?:(?:is|'s|are|'re|was|were|ha(?:s|ve)\s+been)\s+{ADVERBS}(?:all\s+)?(?:{BEING}|{trade}|{plural}|from\s+(?-i:\p{{Lu}})|called\s)|(?:has|have|'s\s+got|'ve\s+got|has\s+got|have\s+got|had)\s+{ADVERBS}(?:{had})|had\s+(?:his|her|their|my)\s+(?:[\p{{L}}-]+\s+)?(?:hip|knee|appendix|tonsils|gallbladder|eyes?|cataracts?)\b|used\s+to\s+(?:be|live|work|play|teach|run|row|sing|dance|box|own|coach)\b|(?:'s|has|have|'ve)\s+(?:just\s+|already\s+)?moved\s+(?:to|from|back|into)|(?:is|'s)\s+(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\p{{L}}+teen)\s+(?:now|in\s+\p{{L}}+)|came\s+from|had\s+(?:an?|her|his|their|another)\s+(?:\p{{L}}+\s+)?(?:stroke|heart\s+attack|bypass|transplant)|got\s+(?:an?|the)\s+(?:new\s+)?job|{ADVERBS}(?:lives?|lived|works?|worked)\s+(?:in|at|for|as|from|with|near|alone|on|by|abroad|nights|shifts|part)|does\s+have\s+(?:{had})|(?:(?:'s|has)\s+)?(?:just\s+|even\s+|also\s+|recently\s+)?(?:started|taken\s+up)\s+(?:\p{{L}}+\s+(?:lessons|classes)|school|university|nursery|kindergarten|going\s+to|learning|playing|painting|running|swimming|dancing|singing|knitting|yoga|therapy)|(?:is|'s|are|'re)\s+doing\s+(?:her|his|their|an?)\s+(?:a[\s-]levels|gcses|phd|master's|masters|degree|apprenticeship|finals|abitur)|(?:is|'s)\s+(?:learning|studying|training\s+(?:to|as|for)|getting\s+(?:married|divorced)|moving\s+(?:to|into|abroad|out)|expecting\s+a|in\s+year\s+\p{{L}}+)|(?:is|'s|are|'re)\s+(?:starting|going\s+to)\s+(?:school|university|college|nursery|kindergarten)|wants?\s+to\s+(?:be(?:come)?\s+an?|study|learn|move\s+to|emigrate|retire)|{ADVERBS}(?:likes|speaks?|plays?|studies|study|teach(?:es)?|coach(?:es)?|sings?|owns?|collects?|hates|loves|adores|prefers|suffers?\s+from|volunteers?|commutes?|runs?\s+(?:an?|the|their|his|her|our)\s|manages?\s|paints|breeds?|comes?\s+from|go(?:es)?\s+to\s+(?:the\s+)?(?:\p{{L}}+\s+)?(?:school|university|college|kindergarten)|starts\s+(?:school|university|college|uni)|studied|taught|has\s+(?:sung|played|worked|lived|taught)|grew\s+up|was\s+born|was\s+raised|moved\s+(?:to|from|back|into)|emigrated|retired|graduated|died|passed\s+away|got\s+(?:married|divorced)|can't\s+(?:eat|drink|swim|drive|walk|hear|see|read|climb|stand)|cannot\s+(?:eat|drink|swim|drive|walk|hear|see)|do(?:es)?n't\s+(?:eat|drink|drive|smoke|speak|like|hear|walk)|never\s+(?:eats|drinks|smokes|drives|learned|learnt)|{ADVERBS}(?:cooks|designs|rides|dances|draws|writes|knits|sews|swims|climbs|cycles|fishes|gardens|hunts|sails|skis|surfs|skates|trains|drives\s+(?:an?|the)|sells|builds|repairs|fixes|travels|snores|stutters|stammers|limps|sleeps|smokes|bakes|competes|races|rows|boxes|acts|translates|interprets|struggles\s+with|lost\s+(?:his|her|their)\s|can\s+(?:play|speak|swim|read|drive|hardly|barely))|(?:is|'s)\s+(?:\p{{L}}+ly\s+)?(?:ill|sick|in\s+hospital|in\s+prison|bedridden|housebound|shy|homesick|overweight|in\s+a\s+(?:care|nursing)\s+home|in\s+a\s+wheelchair|on\s+dialysis|mad\s+about|into)\b|gets?\s+(?:really\s+|very\s+)?(?:seasick|carsick|airsick|travel\s+sick|migraines|panic\s+attacks)|can't\s+(?:have|take)\s+(?:any\s+)?(?:nuts|dairy|milk|gluten|eggs|sugar|penicillin|aspirin|ibuprofen|alcohol|shellfish)|(?:is|'s)\s+terrified|(?:is|'s)\s+saving|(?:needs|uses|has)\s+an?\s+(?:wheelchair|hearing\s+aid|walking\s+frame|inhaler|pacemaker)|(?:is|'s|has\s+been|'s\s+been)\s+my\s+(?:best\s+|oldest\s+|old\s+|closest\s+)?(?:friend|neighbou?r|boss|mentor|godmother|godfather)))\b"
    )
}

/// "My sister Jo lives in Leeds", "our drummer Otto has tinnitus", "Dad doesn't drive any more".
pub(super) static KIN: LazyLock<Pattern> = LazyLock::new(|| {
    let kin = relatives()
        .filter(|word| !matches!(*word, "baby" | "boy" | "girl" | "ex" | "boys" | "girls" | "folks"))
        .collect::<Vec<_>>()
        .join("|");
    let state = state();
    Pattern::large(&format!(
        r"\b(?:(?i:my|our)\s+(?P<who>(?:[\p{{L}}-]+\s+){{0,1}}?(?i:{kin}|youngest|eldest|oldest|dog|dogs|cat|cats|horse|puppy|boss|best\s+friend|colleague|landlady|wife's\s+\p{{L}}+|husband's\s+\p{{L}}+|mother's\s+\p{{L}}+|drummer|teacher|landlord|whole\s+family|half\s+of\s+my\s+family)(?:\s+\p{{Lu}}\p{{Ll}}+)?)|(?P<bare>Mum|Mom|Dad|Grandma|Grandpa|Granny|Nan|Gran|Grandad|Granddad))\b(?:,\s+\p{{Lu}}\p{{Ll}}+,)?\s*(?P<r>(?i:{state}).*)$"
    ))
});
/// Where one of the speaker's people may be named.
pub(super) static MAY_BE_KIN: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"(?i)\b(?:my|our|mum|mom|dad|grandma|grandpa|granny|nan|gran|grandad|granddad)\b")
});
/// Where a person who was named before may be meant.
pub(super) static MAY_BE_MEANT: LazyLock<Pattern> = LazyLock::new(|| pattern(r"(?i)\b(?:he|she|they)\b"));
/// What is said of others, by name.
pub(super) static OTHERS: LazyLock<Pattern> = LazyLock::new(|| {
    let state = state();
    Pattern::large(&format!(
        r"\b(?P<n>(?:(?:Mr|Mrs|Ms|Miss|Dr|Aunt|Auntie|Uncle|Grandma|Grandpa)\.?\s)?\p{{Lu}}\p{{Ll}}+)\b\s*(?P<r>(?i:{state}).*)$"
    ))
});
/// "She speaks Spanish": of the last name before it, in the same sentence or the one before.
pub(super) static PRONOUN: LazyLock<Pattern> = LazyLock::new(|| {
    let state = state();
    Pattern::large(&format!(r"(?i)\b(?:he|she|(?P<many>they))\s*(?P<r>{state}.*)$"))
});
/// "My sister", "we've got one daughter": the speaker's people, whom the next sentence calls "she".
pub(super) static THEIR_KIN: LazyLock<Pattern> = LazyLock::new(|| {
    let kin = relatives()
        .filter(|word| {
            !matches!(*word, "family" | "folks" | "in-laws" | "kids" | "children" | "boys" | "girls")
        })
        .collect::<Vec<_>>()
        .join("|");
    pattern(&format!(
        r"(?i)\b(?P<whose>my|our|your|(?:i|we)(?:'ve|\s+have)(?:\s+got)?\s+(?:an?|one))\s+(?:[\p{{L}}-]+\s+)?(?P<who>{kin})\b"
    ))
});
