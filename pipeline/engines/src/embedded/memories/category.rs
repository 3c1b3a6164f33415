//! What a written-down fact is about. Facts come in the first person ("I live in Porto"), in the third
//! ("Ada lives in Porto") or as notes ("vegetarian"), so the rules look at what is said, not at who says it.

use std::sync::LazyLock;

use crate::embedded::pattern::Pattern;
use records::MemoryCategory;

use crate::embedded::text::pattern;

/// The category whose rule is the most telling one among those that fit; of equals, the earlier. Without any: other.
/// `system` is for the service's own notes and never found.
pub(in crate::embedded) fn category_of(content: &str) -> MemoryCategory {
    let mut best = (0, MemoryCategory::Other);
    for (score, category, said) in RULES.iter() {
        if *score > best.0 && said.is_match(content) {
            best = (*score, *category);
        }
    }
    best.1
}

/// What is said, what it is about, and how telling that is.
static RULES: LazyLock<Vec<(u8, MemoryCategory, Pattern)>> = LazyLock::new(|| {
    use MemoryCategory::{Core, Habits, Hobbies, Interests, Learnings, Lifestyle, Skills, Work};
    let rule = |score, category, said: &str| (score, category, pattern(&format!(r"(?i)\b(?:{said})\b")));
    vec![
        rule(10, Core, r"allerg\w+|intoleran\w+|diabet\w+|asthma\w*|epilep\w+|blood\s+type|chronic"),
        rule(10, Core, r"born|birthday|years\s+old|named?\s+after|(?:my|full|first|last|middle)\s+name"),
        rule(
            9,
            Core,
            concat!(
                r"wife|husband|spouse|fianc[eé]e?|partner|sisters?|brothers?|siblings?|mother|mum|mom|father|dad|parents?|",
                r"sons?|daughters?|kids?|child(?:ren)?|girlfriend|boyfriend|grand\w+|aunt|uncle|cousins?|nephew|niece|",
                r"dogs?|cats?",
            ),
        ),
        rule(
            9,
            Core,
            r"married|engaged|divorced|widow\w*|pregnant|religio\w+|values?|believes?|identif(?:y|ies)",
        ),
        rule(
            8,
            Core,
            r"lives?|living\s+in|grew\s+up|originally\s+from|moved\s+(?:to|from)|hometown|citizen\w*",
        ),
        rule(
            9,
            Habits,
            concat!(
                r"(?:every|each)\s+(?:single\s+|other\s+)?(?:day|morning|afternoon|evening|night|week|weekend|month|summer|winter|",
                r"spring|autumn|year|mon|tues|wednes|thurs|fri|satur|sun)(?:day)?|on\s+(?:mon|tues|wednes|thurs|fri|satur|",
                r"sun)days|daily|weekly|routine|habits?|before\s+(?:bed|breakfast|work)|(?:wakes?|gets?)\s+up|",
                r"(?:once|twice|times)\s+a\s+(?:day|week|month)",
            ),
        ),
        rule(5, Habits, r"always|usually|often|never|tends?\s+to|regularly"),
        rule(
            9,
            Learnings,
            concat!(
                r"learn(?:s|ed|t|ing)?|stud(?:y|ies|ied|ying)|majoring|training\s+to|(?:taking|takes?|took)\s+(?:an?\s+)?(?:\w+\s+)?",
                r"(?:course|class|lessons?)|found\s+out|discovered|reali[sz]ed|lessons?\s+learn\w+|book\s+taught",
            ),
        ),
        rule(
            9,
            Skills,
            concat!(
                r"speaks?|fluent\w*|knows?\s+how\s+to|(?:good|great|skilled|expert|proficient|experienced)\s+(?:at|in|with)|",
                r"certified|licen[cs]ed|can\s+(?:play|read|write|speak|code|program|cook|drive|fly|sail|draw|paint|sing|swim|",
                r"ski|juggle|type|repair|sew|knit|bake)|skills?|black\s+belt",
            ),
        ),
        rule(
            9,
            Lifestyle,
            concat!(
                r"vegetarian|vegan|pescatarian|teetotal|gluten[\s-]free|diet|smok(?:e|es|er|ing)|(?:doesn't|don't|does\s+not|do\s+not|",
                r"never)\s+(?:eat|drink|smoke|drive|fly)s?|left-handed|minimalis[tm]|retired|early\s+bird|night\s+owl",
            ),
        ),
        rule(
            6,
            Lifestyle,
            r"commut\w+|rents?|flat|apartment|owns?|car|bik(?:e|es)|gym|sleeps?|coffee|tea|alcohol|meal\w*",
        ),
        rule(
            8,
            Work,
            concat!(
                r"works?\s+(?:at|for|as|in|from|with|on|remotely|part[\s-]time|full[\s-]time)|job|career|boss|manage[rs]?|manages|",
                r"colleagues?|co-?workers?|employ\w+|company|start-?up|clients?|customers?|salary|promot\w+|deadlines?|",
                r"office|business|founder|ceo|cto|leads?\s+(?:the|a)|project|meetings?",
            ),
        ),
        rule(
            8,
            Work,
            concat!(
                r"(?:is|am|'m|as)\s+(?:an?\s+)?(?:\w+\s+){0,2}(?:teacher|nurse|doctor|engineer|developer|designer|lawyer|",
                r"translator|architect|accountant|writer|musician|chef|manager|scientist|pharmacist|plumber|electrician|",
                r"carpenter|journalist|photographer|pilot|dentist|programmer|consultant|researcher|librarian|farmer|",
                r"firefighter|paramedic|therapist|analyst|student)",
            ),
        ),
        rule(
            7,
            Hobbies,
            concat!(
                r"hobb(?:y|ies)|free\s+time|collects?|plays?\s+(?:the\s+)?\w+|playing|hik(?:es?|ing)|running|runs?|swim(?:s|ming)|",
                r"cycl(?:es|ing)|climb(?:s|ing)|garden(?:s|ing)|paint(?:s|ing)|draw(?:s|ing)|photography|knit(?:s|ting)|",
                r"bak(?:es|ing)|cook(?:s|ing)|sing(?:s|ing)|danc(?:es|ing)|fish(?:es|ing)|sail(?:s|ing)|ski(?:s|ing)|surf(?:s|ing)|",
                r"camping|chess|gam(?:es|ing)|reading|reads?|yoga|travell?ing",
            ),
        ),
        rule(8, Interests, r"favou?rite|interest(?:s|ed)?|fascinat\w+|curious|fan\s+of|passionate|obsessed"),
        rule(
            6,
            Interests,
            r"prefers?|likes?|loves?|adores?|enjoys?|hates?|dislikes?|follows|listens?\s+to|watch(?:es)?|wants?\s+to|dreams?\s+of",
        ),
    ]
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_is_filed_under_what_it_is_about_whoever_tells_it() {
        use MemoryCategory::{Core, Habits, Hobbies, Interests, Learnings, Lifestyle, Other, Skills, Work};
        for (content, category) in [
            ("I am allergic to peanuts", Core),
            ("Ada lives in Porto", Core),
            ("My sister works at the university library", Core),
            ("Her birthday is on May 4th", Core),
            ("Works as a nurse in Leeds", Work),
            ("I'm a senior software engineer", Work),
            ("The quarterly deadline is in March", Work),
            ("Speaks Spanish and a little Catalan", Skills),
            ("Knows how to repair bicycles", Skills),
            ("Is learning Rust", Learnings),
            ("I studied the history of Lisbon", Learnings),
            ("Runs five kilometres every morning", Habits),
            ("I usually skip breakfast", Habits),
            ("vegetarian", Lifestyle),
            ("Doesn't drink coffee after noon", Lifestyle),
            ("Enjoys hiking and climbing", Hobbies),
            ("Plays the cello", Hobbies),
            ("Favourite composer is Satie", Interests),
            ("Likes old maps", Interests),
            ("The spare key is under the blue pot", Other),
            ("El perro se llama Rufo", Other),
            ("", Other),
        ] {
            assert_eq!(category_of(content), category, "{content}");
        }
    }
}
