//! What one result says twice is written once: pure, because what is kept is compared elsewhere.

use super::{NewItem, NewMemory};

/// Answers whether two texts say the same.
type Same<'a> = &'a (dyn Fn(&str, &str) -> bool + Sync);

/// The items of one result without those that repeat an earlier one of it. A due date that only the repetition
/// knows goes over to the item that stays.
pub(super) fn distinct_items(items: &[NewItem], same_task: Same<'_>) -> Vec<NewItem> {
    let mut distinct: Vec<NewItem> = Vec::with_capacity(items.len());
    for item in items {
        match distinct.iter_mut().find(|kept| same_task(&kept.description, &item.description)) {
            Some(kept) => kept.due_at = kept.due_at.or(item.due_at),
            None => distinct.push(item.clone()),
        }
    }
    distinct
}

/// The memories of one result without those that repeat an earlier one of it.
pub(super) fn distinct_memories<'a>(memories: &'a [NewMemory], same_fact: Same<'_>) -> Vec<&'a NewMemory> {
    let mut distinct: Vec<&NewMemory> = Vec::with_capacity(memories.len());
    for memory in memories {
        if !distinct.iter().any(|kept| same_fact(&kept.content, &memory.content)) {
            distinct.push(memory);
        }
    }
    distinct
}

#[cfg(test)]
mod tests {
    use job::Timestamp;
    use records::MemoryCategory;

    use super::*;

    fn same(one: &str, other: &str) -> bool {
        one.eq_ignore_ascii_case(other)
    }

    fn item(description: &str, due_at: Option<Timestamp>) -> NewItem {
        NewItem { description: description.to_owned(), due_at }
    }

    #[test]
    fn an_item_that_is_said_twice_is_one_with_the_date_of_either() {
        let friday = Timestamp::from_timestamp(1_700_000_000, 0);
        let later = Timestamp::from_timestamp(1_800_000_000, 0);
        let said = [
            item("Call Tom", None),
            item("Buy milk", later),
            item("call tom", friday),
            item("CALL TOM", later),
        ];
        assert_eq!(distinct_items(&said, &same), [item("Call Tom", friday), item("Buy milk", later)]);
    }

    #[test]
    fn a_fact_that_is_said_twice_is_kept_in_its_first_words() {
        let fact =
            |content: &str| NewMemory { content: content.to_owned(), category: MemoryCategory::Interests };
        let said = [fact("Likes dahlias"), fact("Has a dog"), fact("likes DAHLIAS")];
        assert_eq!(distinct_memories(&said, &same), [&said[0], &said[1]]);
    }
}
