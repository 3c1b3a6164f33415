//! What people say of themselves that lasts: health, family, home, work, habits, likes, plans of life.

use std::sync::LazyLock;

use records::MemoryCategory;

use crate::embedded::lexicon::{relatives, trades};
use crate::embedded::pattern::{LazyPattern, Pattern};
use crate::embedded::text::pattern;

/// How a pattern's words are written about the user: the words of the pattern, in the third person.
pub(super) struct Rule {
    /// What is said; `k` are words to keep, `v` is a verb to put into the third person, `r` is the rest. Compiled when it
    /// is first tried.
    pub(super) said: LazyPattern,
    /// `{n}` is the person.
    pub(super) told: &'static str,
    /// What it is about.
    pub(super) category: MemoryCategory,
    /// The higher, the more lasting.
    pub(super) score: u8,
}

pub(super) const ADVERBS: &str = r"(?:also\s+|still\s+|really\s+|actually\s+|currently\s+|just\s+|both\s+|already\s+|only\s+|absolutely\s+|simply\s+|now\s+|even\s+|mostly\s+|kind\s+of\s+|a\s+bit\s+)*";
/// Lasting things that a person is.
pub(super) const BEING: &str = r"(?:allergic|intolerant|lactose[\s-]intolerant|vegetarian|veggie|vegan|pescatarian|teetotal|left-handed|right-handed|coeliac|celiac|diabetic|asthmatic|epileptic|dyslexic|autistic|anaemic|anemic|colou?r[\s-]?blind|blind|deaf|hard\s+of\s+hearing|disabled|bilingual|trilingual|pregnant|expecting|married|divorced|widowed|engaged|separated|adopted|retired|self-employed|unemployed|freelance|originally\s+from|based\s+in|afraid\s+of|scared\s+of|terrified\s+of|claustrophobic|mad\s+about|crazy\s+about|obsessed\s+with|passionate\s+about|into\s+\p{L}+|keen\s+on|interested\s+in|fluent\s+in|good\s+at|hopeless\s+at|used\s+to\s+\p{L}+ing|religious|muslim|jewish|catholic|christian|buddhist|hindu|lebanese|chinese|japanese|portuguese|vietnamese|maltese|italian|german|austrian|belgian|norwegian|hungarian|romanian|bulgarian|croatian|serbian|ukrainian|russian|indian|iranian|egyptian|nigerian|ghanaian|kenyan|canadian|american|australian|brazilian|mexican|colombian|french|dutch|irish|welsh|scottish|english|british|spanish|danish|swedish|finnish|polish|turkish|greek|czech|swiss|israeli|pakistani|on\s+(?:\p{L}+\s+){0,2}?(?:tablets|pills|insulin|statins|medication|antidepressants|blood\s+thinners|beta\s+blockers|warfarin)|on\s+(?:early|late|night|day)\s+shifts?|on\s+an?\s+(?:[\p{L}-]+\s+){0,2}diet|going\s+(?:blind|deaf)|an?\s+only\s+child|the\s+(?:oldest|youngest|eldest)\s+of|in\s+(?:her|his|my|their)\s+(?:first|second|third|final|last)\s+year|(?:more\s+of\s+)?an?\s+(?:\p{L}+\s+)?person|at\s+(?:university|college|uni)|in\s+the\s+(?:army|navy|police|fire\s+brigade)|(?:\d{1,3}|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-\p{L}+)?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\p{L}+teen)\s+(?:years?\s+old|months?\s+(?:old|pregnant)))";
/// Lasting things that a person has.
pub(super) const HAVING: &str = r"(?:(?:[\p{L}\d]+[\s-]){0,2}(?:diabetes|asthma|epilepsy|migraines?|arthritis|eczema|psoriasis|hay\s+fever|blood\s+pressure|dyslexia|adhd|autism|dementia|alzheimer's|parkinson's|tinnitus|vertigo|glaucoma|anxiety|panic\s+attacks|depression|insomnia|coeliac\s+disease|heart\s+(?:disease|condition)|cancer|ms|multiple\s+sclerosis|gout|thyroid|hernia|slipped\s+disc|stents?|endometriosis|sciatica|osteoporosis|anaemia|anemia|crohn's|ibs|reflux|sleep\s+apno?ea|hearing\s+loss|heart\s+murmur|lupus|bipolar|ocd|long\s+covid|varicose\s+veins|allergies|cystic\s+fibrosis|down's\s+syndrome|asperger's|pacemaker|hearing\s+aids?|prosthesis|artificial\s+hip|stammer)|an?\s+bad\s+(?:back|knee|hip|shoulder|heart|leg|ankle)|(?:an?|my)\s+(?:[\p{L}']+\s+)?(?:allergy|intolerance|phobia|fear\s+of|degree|phd|doctorate|diploma|black\s+belt|twin|licen[cs]e|garden|allotment|boat|farm|workshop|pottery|shop|business|caravan|campervan|cottage|greenhouse|motorbike|stall|restaurant|café|salon|studio|practice|sweet\s+tooth|season\s+ticket)\b|(?:an?|one|two|three|four|five|six|seven|eight|no|twin)\s+(?:\p{L}+\s+){0,2}";
/// What is counted with [`HAVING`].
pub(super) fn had() -> String {
    let kin = relatives().collect::<Vec<_>>().join("|");
    format!(
        r"{HAVING}(?:{kin}|dogs?|cats?|horses?|rabbits?|hens|chickens|parrots?|budgies?|hamsters?|guinea\s+pigs?|goats|sheep|bees|siblings|grandkids|puppy|puppies|kittens?)\b)"
    )
}
pub(super) fn trade() -> String {
    let trades = trades()
        .filter(|word| !matches!(*word, "dog" | "cat" | "model" | "guest" | "client" | "visitor"))
        .collect::<Vec<_>>()
        .join("|");
    format!(
        r"an?\s+(?:[\p{{L}}-]+\s+){{0,2}}(?:{trades}|servant|apprentice|\p{{L}}{{3,}}(?:maker|driver|worker|grower|keeper|dresser|fitter|owner|trader|holder|player|runner|swimmer|climber|drinker|smoker|sleeper|reader|eater|cook|officer|assistant|operator)|\p{{L}}{{4,}}(?:ist|ician|eer|smith|wright)|vegetarian|vegan|student|widow|widower|twin|citizen|immigrant|veteran|volunteer|member|mother|father|grandmother|grandfather|night\s+owl|morning\s+person|early\s+riser|native\s+speaker|fan)\b"
    )
}

/// What people say of themselves, in the first person; of the rules that match, the first tells. One set of them all
/// would have more states than it could remember, and took ten times as long.
pub(super) static OWN: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    use MemoryCategory::{Core, Habits, Hobbies, Interests, Learnings, Lifestyle, Skills, Work};
    let rule = |said: &str, told, category, score| {
        let said = LazyPattern::new(format!(r"(?i)\b{said}(?P<r>.*)$").replace("{ADV}", ADVERBS));
        Rule { said, told, category, score }
    };
    let (had, trade) = (had(), trade());
    let am = r"(?:i'm|i\s+am|we're|we\s+are)\s+{ADV}";
    let have = r"(?:i|we)(?:\s+{ADV}have|'ve|\s+have)\s+(?:got\s+)?";
    vec![
        rule(r"i(?:'m|\s+am)\s+{ADV}(?P<k>allergic|intolerant)\b", "{n} is {k}{r}", Core, 10),
        rule(&format!(r"{am}(?P<k>{BEING})\b"), "{n} is {k}{r}", Core, 9),
        rule(&format!(r"{have}(?P<k>{had})"), "{n} has {k}{r}", Core, 9),
        rule(&format!(r"(?:i'm|i\s+am)\s+{{ADV}}(?P<k>{trade})"), "{n} is {k}{r}", Work, 8),
        rule(
            &format!(r"i'm\s+{{ADV}}going\s+to\s+be\s+(?P<k>{trade})"),
            "{n} is going to be {k}{r}",
            Work,
            7,
        ),
        rule(
            r"i(?:'ve|\s+have)\s+{ADV}(?:got\s+)?(?:only\s+)?(?P<k>(?:the\s+)?one\s+(?:good\s+|working\s+)?(?:lung|kidney|eye|ear|leg|arm|hand))\b",
            "{n} has only {k}{r}",
            Core,
            9,
        ),
        rule(&format!(r"i(?:'ve|\s+have)\s+been\s+(?P<k>{trade}|{BEING})"), "{n} has been {k}{r}", Work, 8),
        rule(
            r"i(?:'m|\s+am)\s+(?P<k>in\s+(?:marketing|sales|finance|it|insurance|advertising|publishing|logistics|education|construction|hospitality|retail|banking|consulting|real\s+estate|software|tech|pharma|human\s+resources|the\s+\p{L}+\s+(?:business|industry|trade)))\b",
            "{n} works {k}{r}",
            Work,
            7,
        ),
        rule(
            r"(?:i|we)(?:'ve|\s+have)?\s+(?:just\s+|recently\s+)?(?P<k>had\s+(?:an?|our|my)\s+(?:\p{L}+\s+)?(?:baby|child|son|daughter|boy|girl))\b",
            "{n} {k}{r}",
            Core,
            8,
        ),
        rule(
            r"i\s+was\s+(?P<k>an?\s+(?:[\p{L}-]+\s+){1,3}for\s+(?:(?:almost|nearly|over|about)\s+)?[\p{L}\d-]+\s+years)\b",
            "{n} was {k}{r}",
            Work,
            7,
        ),
        rule(
            r"(?:i|we)(?:\s+{ADV}have|'ve|\s+have)\s+(?:got\s+)?(?P<k>an?\s+(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\p{L}+teen)[\s-](?:year|month|week)[\s-]old\b)",
            "{n} has {k}{r}",
            Core,
            9,
        ),
        rule(
            r"(?:i|we)\s+{ADV}(?P<v>get)\s+(?P<k>(?:really\s+|very\s+|terribly\s+)?(?:seasick|carsick|airsick|travel[\s-]sick|migraines|hay\s+fever|panic\s+attacks|vertigo))\b",
            "{n} {v} {k}{r}",
            Core,
            8,
        ),
        rule(
            r"i\s+{ADV}(?P<k>can't|cannot)\s+(?P<g>have|take|tolerate|digest)\s+(?P<b>(?:any\s+)?(?:ibuprofen|aspirin|penicillin|paracetamol|codeine|antibiotics|dairy|milk|gluten|wheat|nuts|peanuts|eggs|alcohol|sugar|caffeine|shellfish|lactose|meat|soya|soy))\b",
            "{n} can't {g} {b}{r}",
            Core,
            9,
        ),
        rule(
            r"(?:i|we)(?:'ve|\s+have)\s+been\s+(?P<k>(?:with|at|in)\s+(?:the\s+)?(?:-?\p{L}+\s+){1,4}(?:for|since)\s)",
            "{n} has been {k}{r}",
            Work,
            6,
        ),
        rule(
            r"i\s+(?P<v>run|swim|train|sing|play|dance|climb|row|cycle|paint|meditate)\s+(?P<k>(?:[\p{L}'-]+\s+){0,5}on\s+(?:mon|tues|wednes|thurs|fri|satur|sun)days)\b",
            "{n} {v} {k}{r}",
            Habits,
            7,
        ),
        rule(r"i\s+{ADV}(?P<v>suffer)\s+(?P<k>from)\s", "{n} {v} {k} {r}", Core, 9),
        rule(
            r"(?:i|we)\s+{ADV}(?P<v>live)\s+(?P<k>in|at|near|with|alone|above|on\s+(?:the|an?|my|our|(?-i:\p{Lu}))|by|outside|next|together|opposite|out)\b",
            "{n} {v} {k}{r}",
            Core,
            8,
        ),
        rule(
            r"(?:i|we)(?:'ve|\s+have)\s+(?P<k>lived|worked|taught|owned|known|played|sung|been\s+(?:living|working|teaching|playing|studying|training|learning|married|together|vegetarian|vegan|sober))\s",
            "{n} has {k} {r}",
            Core,
            7,
        ),
        rule(
            r"(?:i|we)(?:'ve|\s+have)?\s+(?:just\s+)?(?P<k>moved\s+(?:here|(?:back\s+)?(?:to|from))|emigrated\s+to)\s",
            "{n} {k} {r}",
            Core,
            8,
        ),
        rule(
            r"i\s+(?P<k>used\s+to\s+(?:be|live|work|play|teach|run|row|sing|dance|swim|box|own|smoke|drink|ride|sail|ski|paint|coach|study|train)\b)",
            "{n} {k}{r}",
            Core,
            6,
        ),
        rule(
            r"i\s+(?P<k>had\s+(?:my|an?)\s+(?:[\p{L}-]+\s+){1,2}(?:out|removed|replaced|operated|taken\s+out))\b",
            "{n} {k}{r}",
            Core,
            8,
        ),
        rule(
            r"i(?:'ve|\s+have)\s+(?P<k>gone\s+(?:part[\s-]time|freelance|vegan|vegetarian|(?:down|up)\s+to\s+\p{L}+\s+(?:hours|days)))\b",
            "{n} has {k}{r}",
            Work,
            7,
        ),
        rule(
            r"(?:i|we)\s+{ADV}(?P<v>go)\s+(?P<k>(?:climbing|swimming|running|cycling|hiking|dancing|sailing|fishing|skiing|riding|rowing|walking|jogging|surfing|bouldering|camping|birdwatching)\s+(?:with|every|on|in|at|once|twice|a\s+lot)\b)",
            "{n} {v} {k}{r}",
            Habits,
            7,
        ),
        rule(r"i\s+(?P<k>was\s+born|grew\s+up|was\s+raised|was\s+adopted)\b", "{n} {k}{r}", Core, 8),
        rule(
            r"i\s+(?P<k>(?:studied|trained\s+as|graduated|retired|qualified|served)\b)",
            "{n} {k}{r}",
            Work,
            6,
        ),
        rule(
            r"i(?:'ve)?\s+(?P<k>(?:gave|given)\s+up|quit|stopped)\s+(?P<g>smoking|drinking|eating|driving|playing|sugar|alcohol|meat|caffeine|coffee)\b",
            "{n} gave up {g}{r}",
            Lifestyle,
            8,
        ),
        rule(
            r"i\s+(?P<k>tore|broke|lost|injured|ruptured|dislocated)\s+(?P<b>(?:it\s+(?:twice|once|as|when)\s|my|the\s+\p{L}+\s+in\s+my|a\s+\p{L}+\s+in\s+my)\s)",
            "{n} {k} {b}{r}",
            Core,
            8,
        ),
        rule(
            r"i\s+(?P<k>had\s+an?\s+(?:\p{L}+\s+)?(?:stroke|heart\s+attack|bypass|transplant|hip\s+replacement|knee\s+replacement|miscarriage|seizure))",
            "{n} {k}{r}",
            Core,
            9,
        ),
        rule(
            r"(?P<k>my\s+(?:(?:left|right|lower|upper)\s+)?(?:knee|hip|shoulder|back|heart|ankle|wrist|eye|ear|hand|foot)s?(?:'s|\s+(?:has|have|was|were|is|are))\s+(?:been\s+)?(?:operated|replaced|broken|damaged|bad|weak|injured|blind|deaf))",
            "{n}'s {k}{r}",
            Core,
            8,
        ),
        rule(
            r"my\s+(?P<k>birthday|name|full\s+name|first\s+language|mother\s+tongue|native\s+language|blood\s+(?:type|group)|dream|biggest\s+fear|job|hobby)(?:\s+is|'s)\s",
            "{n}'s {k} is {r}",
            Core,
            8,
        ),
        rule(
            r"(?:(?:the|a)\s+(?P<k>\p{L}+)|(?P<g>\p{L}{3,}[^s\W]s))\s+(?:are|is)\s+my\s+(?:absolute\s+|all-time\s+)?favou?rites?\b",
            "{n}'s favourites are {k}{g}{r}",
            Interests,
            7,
        ),
        rule(r"my\s+(?P<k>favou?rite)\s", "{n}'s favourite {r}", Interests, 8),
        rule(
            r"i\s+{ADV}(?P<v>work)\s+(?P<k>at|for|as|in|from|with|(?:the\s+)?(?:night|early|late|day)\s+shifts?|nights|shifts|weekends|sats|suns|(?:mon|tues|wednes|thurs|fri|satur|sun)days|part[\s-]time|full[\s-]time|remotely|freelance)\b",
            "{n} {v} {k}{r}",
            Work,
            8,
        ),
        rule(
            r"i\s+{ADV}(?P<v>manage|own|teach|coach|volunteer|commute|supervise|lead|rent)\s",
            "{n} {v} {r}",
            Work,
            7,
        ),
        rule(
            r"i\s+{ADV}(?P<v>run)\s+(?P<k>(?:an?|my\s+own|the)\s+(?:\p{L}+\s+){0,2}(?:shop|company|business|cafe|café|bakery|restaurant|farm|hotel|agency|studio|practice|club|school|salon|start-?up)|payroll)\b",
            "{n} {v} {k}{r}",
            Work,
            8,
        ),
        rule(r"i\s+{ADV}(?P<v>drive)\s+(?P<k>an?\s|to\s+work)", "{n} {v} {k}{r}", Lifestyle, 5),
        rule(
            r"i(?:'m|\s+am)\s+{ADV}(?P<k>studying|majoring\s+in|training\s+(?:to|as|for)|learning|doing\s+(?:an?|my)\s+(?:\p{L}+\s+){0,2}(?:phd|apprenticeship|degree|course|master's|masters|bachelor's|traineeship|internship|doctorate|mba)|taking\s+(?:piano|guitar|driving|language|dancing|singing)\s+lessons)\b",
            "{n} is {k}{r}",
            Learnings,
            8,
        ),
        rule(r"i\s+{ADV}(?P<v>study)\s", "{n} {v} {r}", Learnings, 8),
        rule(
            r"i(?:'ve|\s+have)\s+{ADV}(?P<k>started\s+(?:to\s+learn|learning|going\s+to\s+(?:the|an?)\s+\p{L}+)|taken\s+up|started\s+(?:playing|running|painting|yoga|therapy|swimming|doing\s+\p{L}+|going\s+to|\p{L}+\s+(?:lessons|classes)|an?\s+\p{L}+\s+course))\b",
            "{n} has {k}{r}",
            Learnings,
            8,
        ),
        rule(
            r"(?:i|we)\s+{ADV}(?P<v>speak)\s+(?P<k>(?:some\s+|fluent\s+|a\s+little\s+|good\s+)?(?-i:\p{Lu})\p{L}+|english|french|german|spanish|italian|polish|norwegian|russian|arabic|turkish)\b",
            "{n} {v} {k}{r}",
            Skills,
            7,
        ),
        rule(r"i\s+(?:can\s+)(?P<v>play\s+the|speak|juggle|sail|sew|knit)\s", "{n} can {V} {r}", Skills, 6),
        rule(r"i\s+(?:know\s+how\s+to)\s", "{n} knows how to {r}", Skills, 6),
        rule(
            r"i\s+{ADV}(?P<v>play)\s+(?P<k>(?:the\s+\p{L}+|football|soccer|tennis|chess|hockey|rugby|basketball|volleyball|badminton|squash|golf|cricket|bass|guitar|piano|drums|violin|cello|in\s+an?)\b)",
            "{n} {v} {k}{r}",
            Hobbies,
            7,
        ),
        rule(
            r"(?:i|we)\s+{ADV}(?P<v>run|climb|swim|cycle|hike|box|dance|paint|knit|ski|surf|sail|row|sing|bake|jog|fish|garden|ride|meditate|fast|pray|train|practise|practice)\s+(?P<k>(?:[\p{L}\d-]+\s+){0,4}(?:every|each|daily|once|twice|(?:three|four|five|six)\s+times|a\s+week|a\s+month|a\s+day|a\s+lot|regularly|in\s+an?\s+(?:choir|band|club|group)|on\s+\p{L}+days)\b)",
            "{n} {v} {k}{r}",
            Habits,
            7,
        ),
        rule(
            r"(?:i|we)\s+{ADV}(?P<v>collect|breed|keep|grow)\s+(?P<k>(?:old|vintage|rare|antique|my\s+own|bees|hens|chickens|stamps|coins|records|vinyl|vegetables|\p{L}+s)\b)",
            "{n} {v} {k}{r}",
            Hobbies,
            6,
        ),
        rule(
            r"(?:i|we)(?:'ve|\s+have)\s+(?:just\s+|finally\s+)?(?P<k>bought\s+(?:an?|our\s+first)\s+(?:\p{L}+\s+)?(?:house|flat|apartment|farm|boat|cottage))\b",
            "{n} has {k}{r}",
            Core,
            7,
        ),
        rule(r"i(?:'ve|\s+have)\s+(?P<k>always\s+wanted\s+to)\s", "{n} has {k} {r}", Interests, 6),
        rule(
            r"i\s+haven't\s+(?P<k>(?:had|touched|smoked)\s+an?\s+(?:\p{L}+\s+)?(?:drink|cigarette|drop)\s+(?:in|for|since))\b",
            "{n} hasn't {k}{r}",
            Lifestyle,
            8,
        ),
        rule(
            r"i\s+{ADV}(?P<v>take|cycle|walk)\s+(?P<k>(?:the\s+(?:bus|train|tube|tram|metro|subway|ferry)\s+)?to\s+(?:work|school|the\s+office))\b",
            "{n} {v} {k}{r}",
            Lifestyle,
            5,
        ),
        rule(
            r"i(?:'ve|\s+have)?\s+(?:just\s+|finally\s+)?(?P<k>got\s+(?:a\s+new|the|that)\s+job)\b",
            "{n} {k}{r}",
            Work,
            7,
        ),
        rule(
            r"(?:i|we)\s+{ADV}(?P<v>do)\s+(?P<k>(?:a\s+lot\s+of\s+)?(?:triathlons?|marathons?|yoga|pilates|judo|karate|ballet|boxing|pottery|gymnastics|athletics|archery|crossfit|taekwondo|improv|ceramics|tai\s+chi|nights|earlies|lates|(?:night|late|early|day)\s+shifts?|weekends|freelance\s+work))\b",
            "{n} {v} {k}{r}",
            Hobbies,
            7,
        ),
        rule(
            r"i(?:'m|\s+am)\s+{ADV}(?P<k>off\s+(?:sugar|dairy|gluten|meat|alcohol|caffeine|coffee|bread|the\s+(?:cigarettes|drink|booze)))\b",
            "{n} is {k}{r}",
            Lifestyle,
            7,
        ),
        rule(
            r"my\s+(?P<k>(?:car|landlord|landlady|doctor|dentist|gp|boss|surname|middle\s+name|phone\s+number|address|shoe\s+size|star\s+sign|first\s+car|school|team|club|neighbours?|cleaner|accountant|insurance|employer))(?:\s+(?:is|are)|'s)\s+(?P<g>called|named|an?\s|with\s|in\s|(?-i:\p{Lu})\p{L}+|\d)",
            "{n}'s {k} is {g}{r}",
            Core,
            6,
        ),
        rule(
            r"i\s+{ADV}(?P<v>cook|bake|knit|sew|paint|draw|fish|hunt|sail|surf|ski|skate|climb|cycle|swim|dance|sing|blog|ride|garden)\b(?P<k>(?:\s+(?:a\s+lot|mostly|with|in|for\s+fun|at|there|horses|as)\b|\W*$))",
            "{n} {v}{k}{r}",
            Hobbies,
            5,
        ),
        rule(r"i\s+{ADV}(?P<v>prefer)\s", "{n} {v} {r}", Interests, 7),
        rule(
            r"i\s+{ADV}(?P<v>love|adore|enjoy|like|hate|loathe|detest|dislike)\s",
            "{n} {v} {r}",
            Interests,
            6,
        ),
        rule(
            r"i\s+(?P<k>can't\s+stand|can\s+not\s+stand|cannot\s+stand)\s",
            "{n} can't stand {r}",
            Interests,
            6,
        ),
        rule(
            r"i\s+(?P<k>can't|cannot|can\s+not)\s+(?P<g>eat|drink|swim|drive|tolerate|digest|ride|fly|have\s+(?:dairy|gluten|nuts|milk|sugar|alcohol))\b",
            "{n} can't {g}{r}",
            Core,
            8,
        ),
        rule(
            r"i\s+{ADV}(?:don't|do\s+not)\s+(?:really\s+)?(?P<g>eat|drink|smoke|drive|fly|own|cook|speak|wear|watch|drink|play)\b",
            "{n} doesn't {g}{r}",
            Lifestyle,
            7,
        ),
        rule(
            r"i\s+never\s+(?P<v>eat|drink|smoke|drive|fly|cook|wear|watch|learned|learnt)\b",
            "{n} never {v}{r}",
            Lifestyle,
            7,
        ),
        rule(
            r"i\s+{ADV}(?P<v>take)\s+(?P<k>(?:[\p{L}\d]+\s+){0,3}(?:tablets?|pills?|insulin|medication|medicine|statins|antidepressants|blood\s+thinners|vitamins?)\b)",
            "{n} {v} {k}{r}",
            Core,
            8,
        ),
        rule(
            r"(?:i'm|i\s+am|we're|we\s+are)\s+{ADV}(?P<k>getting\s+(?:married|divorced)|expecting\s+(?:a|our|my|twins)|moving\s+(?:to|in\s+with|abroad|into|house|out|in\s+(?:january|february|march|april|may|june|july|august|september|october|november|december|the\s+(?:spring|summer|autumn|new\s+year)))|emigrating|retiring|saving\s+(?:up\s+)?for|trying\s+for\s+a\s+baby|planning\s+to\s+(?:move|retire|study|open|start|become|have|emigrate|build|buy))\b",
            "{n} is {k}{r}",
            Core,
            7,
        ),
        rule(
            r"i\s+{ADV}(?:want|hope|plan|dream\s+of|would\s+like)\s+(?:to\s+)?(?P<k>becom(?:e|ing)|be\s+an?|mov(?:e|ing)\s+(?:to|into|abroad)|liv(?:e|ing)\s+in|study(?:ing)?|retir(?:e|ing)|learn(?:ing)?|open(?:ing)?\s+an?\s|start(?:ing)?\s+an?\s+(?:family|business|company|shop|farm)|run(?:ning)?\s+(?:an?|the)\s+(?:half\s+)?(?:marathon|shop|business|café|cafe|farm)|writ(?:e|ing)\s+an?\s+(?:book|novel|memoir)|emigrat(?:e|ing))\b",
            "{n} wants to {k}{r}",
            Interests,
            6,
        ),
        rule(
            r"i\s+(?:(?P<k>always|usually|normally|mostly)\s+)(?P<v>get|wake|go|run|walk|cook|read|swim|drink|eat|have|take|start|work|sleep|buy|use|wear|play|watch|bake|sit|drive|cycle|travel|order|pay|make|do|keep|finish|train)\s",
            "{n} {k} {v} {r}",
            Habits,
            5,
        ),
    ]
});

/// A fact about the speaker has one of these.
pub(super) static OF_ONESELF: LazyLock<Pattern> = LazyLock::new(|| pattern(r"(?i)\b(?:i|we|my)\b"));

pub(super) static EVERY: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:i|we)\s+(?:usually\s+|always\s+|only\s+|both\s+)?(?P<v>\p{L}+)\s+(?P<r>(?:[\p{L}'-]+\s+){0,6}?(?:every\s+(?:single\s+|other\s+)?(?:morning|evening|night|day|week|weekend|month|summer|winter|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|(?:on\s+)?(?:mon|tues|wednes|thurs|fri|satur|sun)days|at\s+(?:the\s+)?weekends?|(?:once|twice|(?:two|three|four|five|six)\s+(?:times|days|nights|mornings))\s+a\s+(?:week|month|day|year))\b(?:\s+(?:before|after|at|in|and)\s+\p{L}+)?)",
    )
});

/// What makes an auxiliary of "have".
pub(super) static HAS_TO: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)^(?:to|been|not|never|got|had|gone|done|seen|\p{L}+ed)\b"));

/// "Loves it", "likes this": what, only the talk before says.
pub(super) static OTHERS_LIKE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:\p{L}+ly\s+|also\s+|still\s+)?(?:likes|loves|hates|adores|prefers)\s+(?:it|this|that|them|these|those|him|her|me|us|you|your|one|both)\b",
    )
});
pub(super) static NAME: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"(?:\b(?P<led>in|to|from|at|near|over|until|since)\s+)?\b(?P<n>\p{Lu}\p{Ll}{2,})\b")
});
/// Uncertainty about something else, said after a fact.
pub(super) static AFTERTHOUGHT: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i),\s+(?:maybe|perhaps|i\s+(?:think|guess|suppose)|not\s+sure)\b.*$"));
pub(super) static DOUBT: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:if|would|wish|maybe|might|could|pretend|imagine|suppose|supposing|not\s+sure|i\s+think\s+i|as\s+though|as\s+if|let's\s+say|should\s+be|whether)\b",
    )
});
/// "I would like to" is a lasting wish, and not uncertainty.
pub(super) static WISH: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)\bi(?:'d|\s+would)\s+(?:really\s+)?(?:like|love)\s+to\b"));
/// What is said of one day does not last.
pub(super) static DATED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:today|tonight|tomorrow|tmrw|yesterday|this\s+(?:morning|afternoon|evening|week|weekend|time|bit|one)|(?:next|last)\s+(?:week|weekend|night|time|\p{L}+day)|on\s+(?:mon|tues|wednes|thurs|fri|satur|sun)day|later|right\s+now|at\s+the\s+moment|for\s+(?:the\s+)?(?:week|weekend|day|night))\b",
    )
});
pub(super) static TAIL: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)(?:,\s+(?:before|after|until|then|so|and|but|i|we|he|she|they|you|it|it's|which|because|right|by|too|maybe|as\s+you|don't|do|is|isn't|can't|that's|there's|yeah|yes|no|okay|you|have|when|if|who|though|actually|mum|dad|what|remember)\b|\s+since\s+(?:i|he|she|we|they)\b|\s+(?:so|because|but|although|though|cos|by\s+the\s+way|and\s+(?:the|my|our|i|i'm|i've|he|she|we|they|it|you|never|will|that|then)|if|when)\b|[;?!]|\s+-\s).*$",
    )
});
pub(super) static FOR_NOW: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\s+(?:for\s+(?:about\s+)?(?:\w+\s+){1,2}(?:weeks?|months?)|right\s+now|now|these\s+days|at\s+the\s+moment|too|as\s+well|anyway|btw|by\s+the\s+way|lol|actually|honestly)\b(?:\s+now)?",
    )
});
/// "I love this", "I like your plan", "I hate to say it": no lasting likes.
pub(super) static PASSING: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:it|this|that|that's|them|these|those|him|her|you|your|the|how|what|when|where|to|his|our|my\s+(?:job|life|friends)|a\s+(?:good|bit)|being\s+(?:here|told|asked)|working\s+with\s+you|hearing|seeing\s+you|so|one|both|some|idea|not|more)\b",
    )
});
pub(super) static JOKE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"(?i)\b(?:(?:just|only|i'm|i\s+am)\s+(?:kidding|joking)|kidding|just\s+a\s+joke|i\s+jest|jk)\b")
});
pub(super) static FIRST_PERSON: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)\b(?:my|me|myself|i'm|i've|i|mine|we're|we've|we|our|us)\b"));
