//! Whole sentences that stand for an order: "the books are late, take them back", "make sure that the pump works", "we're out
//! of milk".

use std::sync::LazyLock;

use crate::embedded::lexicon::{base_of_participle, is_task_verb};
use crate::embedded::pattern::Pattern;
use crate::embedded::text::{decapitalised, pattern};

/// Each with the order that it stands for.
static ORDERS: LazyLock<[(Pattern, &str); 8]> = LazyLock::new(|| {
    [
        // Someone who is found to do it does it.
        (r"(?i)\b(?:someone|somebody)\s+(?:to|who\s+can|who'll)\s+(babysit|dogsit|housesit)\b", "a ${1}ter"),
        (
            r"(?i)^(?:find|hire|pay|look\s+for)\s+(?:someone|somebody)\s+(?:to|who\s+can|who'll)\s+",
            "get somebody to ",
        ),
        // Whether it is as it should be.
        (
            r"(?i)^(?:make\s+sure|check|see|find\s+out|test|ensure)\s+(?:(?:that|if|whether)\s+)?(.{3,50}?)\s+(?:(?:is|are)\s+(?:still\s+|all\s+)?(?:okay|ok|fine|good|alright|right|working|in\s+order|correct)|(?:still\s+)?works?|(?:is|are)\s+(?:up\s+and\s+)?running)\s*(?:properly|correctly)?\W*$",
            "check $1",
        ),
        // What is used up.
        (
            r"(?i)^(?:(?:we|i)(?:'re|'m|\s+are|\s+am|'ve|\s+have)\s+(?:(?:nearly|almost|running|run)\s+)*(?:out\s+of|low\s+on|short\s+of)|(?:run|running|ran)\s+(?:out|low|short)\s+(?:of|on))\s+",
            "buy ",
        ),
        (r"(?i)^(?:(?:we|i)\s+)?(?:still\s+)?need\s+(?:some\s+|more\s+)*(?P<what>.+)$", "get ${what}"),
        // "Put clean sheets on the bed": change the sheets on it.
        (r"(?i)^(?:put|pop)\s+(?:some\s+)?(?:clean|fresh|new)\s+(\p{L}+)\s+(on|in|into)\s+", "change $1 $2 "),
        // "See about getting the tap fixed".
        (r"(?i)^(?:see\s+about|look\s+into)\s+getting\s+", "get "),
        (r"(?i)^say\s+happy\s+birthday\s+to\s+", "congratulate "),
    ]
    .map(|(said, order)| (pattern(said), order))
});

/// "Make sure that the rent gets paid": pay the rent.
static SEEN_TO: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:make\s+sure|see\s+to\s+it|see|ensure)\s+(?:that\s+)?(?P<what>.{3,50}?)\s+(?:gets?|is|are)\s+(?P<done>\p{L}+)\b(?P<rest>.*)$",
    )
});

/// "The library books are late, take them back."
static STATED_FIRST: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<what>(?:\p{L}+(?:'s)?\s+){1,4}?)(?:is|are|looks?|ha(?:s|ve)\s+(?:arrived|come|gone|expired))\s+(?-i:[^,;A-Z0-9]){3,40}[,;-]\s*(?P<verb>\p{L}+)\s+(?:it|them)\b(?P<rest>.*)$",
    )
});

/// The order that `text` stands for, or `text`.
pub(super) fn reworded(text: &str) -> String {
    let mut text = stated_first(text).unwrap_or_else(|| text.to_owned());
    for (said, order) in ORDERS.iter() {
        text = said.replace(&text, *order).into_owned();
    }
    seen_to(&text).unwrap_or(text)
}

fn seen_to(text: &str) -> Option<String> {
    let seen = SEEN_TO.captures(text)?;
    // "See if the invoice is paid" is another task than to pay it.
    let asks = ["if", "whether", "what", "which", "who", "when", "where", "how", "why"];
    if seen["what"]
        .split_whitespace()
        .next()
        .is_some_and(|first| asks.contains(&first.to_lowercase().as_str()))
    {
        return None;
    }
    let verb = base_of_participle(&seen["done"].to_lowercase())?;
    Some(format!("{verb} {}{}", &seen["what"], &seen["rest"]))
}

fn stated_first(text: &str) -> Option<String> {
    let stated = STATED_FIRST.captures(text)?;
    let verb = stated["verb"].to_lowercase();
    is_task_verb(&verb)
        .then(|| format!("{verb} {}{}", decapitalised(stated["what"].trim_end()), &stated["rest"]))
}

#[cfg(test)]
mod tests {
    use super::super::tests::same_task;

    #[test]
    fn what_stands_for_an_order_is_the_order() {
        for (one, other) in [
            ("The garden chairs are wet, bring them in", "Bring in the garden chairs"),
            ("Make sure the rent gets paid", "Pay the rent"),
            ("See if the doorbell still works", "Check the doorbell"),
            ("We're out of coffee filters", "Buy coffee filters"),
            ("Find someone to tile the shower", "Tile the shower"),
            ("Find somebody to babysit on Friday", "Sort out a babysitter for Friday"),
            ("Put new batteries in the scales", "Change the batteries in the scales"),
            ("Get the windows looked at", "Have somebody take a look at the windows"),
            ("Get the keys to Ben", "Bring Ben the keys"),
            ("Bake three dozen scones", "Bake 36 scones"),
            ("Put the sheets on the line", "Hang the sheets out"),
            ("Tell Ruth the office has moved", "Let Ruth know that the office moved"),
            ("Empty the van before handing it back", "Empty the van"),
        ] {
            assert!(same_task(one, other), "{one} / {other}");
        }
    }

    #[test]
    fn what_only_looks_like_the_order_is_another() {
        for (one, other) in [
            ("The car is for Ben, wash it", "Wash the car"),
            ("Make sure the gate is locked", "Make sure the gate is unlocked"),
            ("Get the keys to Ben", "Get the keys from Ben"),
            ("Bake two dozen scones", "Bake two scones"),
            ("Tell Ruth the office is at number six", "Tell Ruth the office is closed"),
            ("Tell Ruth the office is closed", "Tell Ruth the office is open"),
            ("Sort the photos", "Find the photos"),
            ("Arrange the flowers", "Get the flowers"),
            ("Ask for the contract", "Check the contract"),
            ("Put the list on the fridge", "Write the list"),
            ("Put the light on", "Change the light"),
            ("Draft a reply to the bank", "Reply to the bank"),
            ("Get the stain out of the rug", "Get the rug out of the loft"),
            ("Put the milk in the freezer", "Take the milk out of the freezer"),
            ("Pay Ravi for the paint", "Pay Ravi back for the brushes"),
            ("Ask the Kellers round on Sunday", "Ask the Kellers about Sunday"),
            ("Give the money to Ben", "Get the money from Ben"),
            ("Hand in the keys", "Hand out the keys"),
            ("Put in a request for leave", "Cancel the request for leave"),
            ("Put 20 chairs out", "Put 12 chairs out"),
            ("Sign both copies", "Sign three copies"),
            ("The bulbs are cracked, return them", "Plant the bulbs"),
            ("Make sure the heater works", "Make sure the lift works"),
            ("We're out of oat milk", "We're out of milk"),
            ("Get the form to Lea", "Get Lea to sign the form"),
            ("Let the water out of the pool", "Let the water into the pool"),
            ("Remind Otto that the rent is due", "Remind Otto that the rent is paid"),
            ("Ask Otto whether he can come", "Ask Otto whether he can pay"),
            ("Get the shelves put up", "Get the shelves taken down"),
            ("Get the kitchen looked over", "Get the kitchen done over"),
            ("Turn the heating down", "Turn the heating up"),
            ("Get approval for the budget", "Approve the budget"),
            ("See if the invoice is paid", "Pay the invoice"),
            ("Fix the alarm", "Set the alarm"),
            ("Anna has the photos, collect them", "Collect Anna"),
            ("Test the burglar alarm", "Test the car alarm"),
            ("Meet Olga at the train station", "Meet Olga at the bus station"),
            ("Think about getting a dog", "Get a dog"),
            ("Put the tyres on the bike", "Put the tyres on the car"),
            ("Sort out the renewal of the lease", "Sort out the end of the lease"),
            ("Find someone to paint the hall", "Find someone to rent the hall"),
            ("Look over the offer", "Turn down the offer"),
            ("Drop off the laundry", "Pick up the laundry"),
            ("Book the dog in at the vet's", "Pick the dog up at the vet's"),
            ("Save the seats", "Sell the seats"),
            ("Have the Millers over for lunch", "Have the Millers over for dinner"),
        ] {
            assert!(!same_task(one, other), "{one} / {other}");
        }
    }
}
