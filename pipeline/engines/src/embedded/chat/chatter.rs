//! What asks for nothing: greetings, thanks, and what the assistant can do.

use std::sync::LazyLock;

use assistant::Step;

use super::{Turn, answer};
use crate::embedded::pattern::Pattern;
use crate::embedded::text::pattern;

static GREETING: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:hi|hello|hey|hiya|howdy|yo|good (?:morning|afternoon|evening|day)|greetings|moin|servus)(?:\s+(?:there|again|assistant|listen|everyone))?[\s!.,:)]*$",
    )
});
static THANKS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:ok(?:ay)?[\s,.!]*|great[\s,.!]*|perfect[\s,.!]*)*(?:thanks|thank you|thx|cheers|ty|much appreciated|ok|okay|great|perfect|cool|nice|good|never ?mind|bye|goodbye|good night)\b(?:[\s,]*(?:a lot|so much|very much|for (?:that|your help|the help|everything)|that(?:'s| is)? (?:helps|helpful|great|all|it|good|perfect)|that helped|again|then))*[\s!.]*$",
    )
});
static HELP: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:help(?: me)?|what (?:can|do) you (?:do|offer|understand)(?: for me)?|what (?:can|could|may|should) i (?:ask|say)(?: you)?|how (?:do|does|can) (?:you|this|i use you|it) (?:work|help)(?: me)?|who are you|what are you)[\s?!.]*$",
    )
});

const CAN: &str = "I look through what you have here. For example:\n\
    - \"What did I talk about yesterday?\"\n\
    - \"What did Priya say about the budget?\"\n\
    - \"What is due this week?\" or \"Which tasks are overdue?\"\n\
    - \"Remind me to call the bank tomorrow at 9\"\n\
    - \"Mark call the bank as done\"\n\
    - \"Remember that Tom is allergic to shellfish\"\n\
    - \"What do you know about Tom?\"\n\
    - \"How are my goals going?\"\n\
    Words in double quotes are searched as they stand.";

pub(super) fn step(turn: &Turn<'_>) -> Option<Step> {
    let text = &turn.message.text;
    if HELP.is_match(text) {
        let mut can = CAN.to_owned();
        let mut apps: Vec<&str> = turn
            .round
            .tools
            .iter()
            .filter_map(|tool| match &tool.origin {
                assistant::Origin::App(tool) => Some(tool.app_name.as_str()),
                assistant::Origin::Data(_) => None,
            })
            .collect();
        apps.dedup();
        if !apps.is_empty() {
            can.push_str(&format!("\nYour apps, by name: {}.", apps.join(", ")));
        }
        return Some(answer(can));
    }
    if THANKS.is_match(text) {
        return Some(answer("You're welcome."));
    }
    GREETING.is_match(text).then(|| match &turn.round.context.user_name {
        Some(name) => answer(format!("Hello {name}. What would you like to know?")),
        None => answer("Hello. What would you like to know?"),
    })
}
