//! A prefix cache as large providers have it: what an earlier, finished call began with is read cheaply, in
//! steps of 128 tokens from 1,024 on. Calls that start together do not warm it for each other.

use std::collections::VecDeque;

const BYTES_PER_TOKEN: usize = 4;
const FROM_TOKENS: usize = 1_024;
const STEP: usize = 128;
const REMEMBERED: usize = 128;

/// Tokens of a text, four characters each.
pub(crate) fn tokens(text: &str) -> u64 {
    text.chars().count().div_ceil(BYTES_PER_TOKEN) as u64
}

/// The prompts that were answered.
#[derive(Default)]
pub(crate) struct Cache(VecDeque<String>);

impl Cache {
    /// How many tokens of `prompt` an earlier one began with.
    pub(crate) fn held(&self, prompt: &str) -> u64 {
        let shared =
            |old: &String| old.bytes().zip(prompt.bytes()).take_while(|(one, other)| one == other).count();
        let tokens = self.0.iter().map(shared).max().unwrap_or(0) / BYTES_PER_TOKEN;
        if tokens < FROM_TOKENS { 0 } else { (tokens / STEP * STEP) as u64 }
    }

    /// `prompt` was answered.
    pub(crate) fn warm(&mut self, prompt: String) {
        self.0.push_back(prompt);
        if self.0.len() > REMEMBERED {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mock_model_caches_long_prefixes_in_steps() {
        let mut cache = Cache::default();
        let shared = "x".repeat(4 * 1_200);
        assert_eq!(cache.held(&shared), 0);
        cache.warm(format!("{shared}a"));
        assert_eq!(cache.held(&format!("{shared}b")), 1_152);
        assert_eq!(cache.held("y"), 0);
        assert_eq!(cache.held(&shared[..4_000]), 0, "too short to be cached");
    }
}
