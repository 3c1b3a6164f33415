//! Texts that the rules cannot compare, because they are not English: two of them are the same when they say the same words in the
//! same order. "Brot kaufen" is one object less than "Brot und Milch kaufen", and no English rule knows that.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::embedded::lexicon::{LANGUAGES, is_task_verb};
use crate::embedded::text::{is_stop, words};

/// Words that carry no topic in languages other than English, and are none of its own.
static FOREIGN: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let all = LANGUAGES.iter().filter_map(|(code, ..)| stop_words::lookup(code)).flatten().copied();
    all.filter(|word| !is_stop(word)).collect()
});

/// The words of a task that is not English.
pub(super) fn task(text: &str) -> Option<String> {
    let said: Vec<String> = words(text).collect();
    let is_order = said.first().is_some_and(|verb| is_task_verb(verb));
    (!is_order && is_foreign(&said)).then(|| said.join(" "))
}

/// The words of a fact that is not English.
pub(super) fn fact(text: &str) -> Option<String> {
    let said: Vec<String> = words(text).collect();
    is_foreign(&said).then(|| said.join(" "))
}

/// More words of other languages than of English, or letters that no English word has.
fn is_foreign(said: &[String]) -> bool {
    let count = |is: &dyn Fn(&str) -> bool| said.iter().filter(|word| is(word)).count();
    let others = count(&|word| word.chars().any(|letter| letter.is_alphabetic() && letter > '\u{24f}'));
    2 * others > said.len() || count(&|word| FOREIGN.contains(word)) > count(&is_stop)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{same_fact, same_task};

    #[test]
    fn what_is_not_english_is_the_same_only_word_by_word() {
        for (one, other) in [
            ("Brot kaufen", "Brot und Milch kaufen"),
            ("Anna anrufen", "Anna nicht anrufen"),
            ("Ekmek al", "Ekmek ve süt al"),
            ("给王明打电话", "给王明打电话改时间"),
            ("从东京到大阪", "从大阪到东京"),
            ("佐藤さんに電話する", "佐藤さんに電話で見積もりの話をする"),
            ("โทรหาสมชาย", "โทรหาสมชายพรุ่งนี้"),
            ("Купить хлеб", "Купить хлеб и молоко"),
            ("اتصل بأحمد", "لا تتصل بأحمد"),
        ] {
            assert!(!same_task(one, other), "{one} / {other}");
            assert!(!same_task(other, one), "{other} / {one}");
            assert!(same_task(one, one) && same_task(other, other), "{one} / {other}");
        }
        assert!(same_task("田中さんに電話する", "田中さんに電話する。"), "without the stop");
        for (one, other) in [
            ("用户喜欢在周末爬山", "用户不喜欢在周末爬山"),
            ("用户的女儿每周三下午学习钢琴", "用户的女儿每周四下午学习钢琴"),
            (
                "Die Schwester des Nutzers arbeitet nachts im Krankenhaus",
                "Die Schwester des Nutzers arbeitet nicht nachts im Krankenhaus",
            ),
            (
                "Пользователь каждое утро пьёт чёрный кофе дома",
                "Пользователь каждое утро не пьёт чёрный кофе дома",
            ),
        ] {
            assert!(!same_fact(one, other), "{one} / {other}");
            assert!(same_fact(one, one), "{one}");
        }
    }
}
