//! Capitals that speech recognizers and chat leave out, in what is written down: "I", days, months and languages.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Captures;

use super::pattern::Pattern;
use super::text::{capitalised, pattern};

/// Words that are always written so. Those that mean other things in lower case (may, march, polish) are not here.
static PROPER: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?x)\b(?:i(?:\s|'(?:ll|m|ve|d)\b|$)|(?:mon|tues|wednes|thurs|fri|satur|sun)day(?:s|'s)?\b
        |(?:january|february|april|june|july|september|october|november|december|christmas|easter)\b
        |(?:english|french|german|spanish|italian|portuguese|dutch|swedish|danish|norwegian|finnish|russian|ukrainian|greek
            |turkish|arabic|hebrew|chinese|mandarin|japanese|korean|hindi|american|british|european|african|asian)\b)",
    )
});

/// `text` with them.
pub(super) fn restored(text: &str) -> Cow<'_, str> {
    PROPER.replace_all(text, |found: &Captures<'_>| capitalised(&found[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_always_written_with_a_capital_gets_it() {
        for (said, written) in [
            ("we meet on monday and i'll bring it, i think", "we meet on Monday and I'll bring it, I think"),
            ("she is learning portuguese since december", "she is learning Portuguese since December"),
            ("polish the floor in may, i.e. soon", "polish the floor in may, i.e. soon"),
            ("the iris and the ice", "the iris and the ice"),
        ] {
            assert_eq!(restored(said), written);
        }
    }
}
