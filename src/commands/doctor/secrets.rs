//! How secrets are stored.

use operations::SealedSecrets;

use super::{Level, Remark, remark};

/// `has_key`: whether this command was given the key of the service.
pub(super) fn secrets(found: SealedSecrets, has_key: bool) -> Remark {
    let SealedSecrets { stored, sealed, newest, unopened } = found;
    let (level, words) = match (has_key, sealed) {
        (false, 0) => (
            Level::Fine,
            "are stored as they are; with LISTEN_SECRETS_KEY they are stored encrypted (docs/apps.md)"
                .to_owned(),
        ),
        (false, _) => (
            Level::Warning,
            format!(
                "{sealed} of {stored} are stored encrypted, and LISTEN_SECRETS_KEY is not set for this command: where the \
                 service has no key either, what they sign waits"
            ),
        ),
        (true, _) if unopened > 0 => (
            Level::Failure,
            format!(
                "no key of LISTEN_SECRETS_KEY opens {unopened} of {stored}, and what they sign waits: set the key that \
                 encrypted them, too"
            ),
        ),
        (true, _) if newest < stored => (
            Level::Warning,
            format!(
                "{} of {stored} are not encrypted with the newest key: run `listen secrets rotate`",
                stored - newest
            ),
        ),
        (true, _) => (Level::Fine, "all are stored encrypted with the newest key".to_owned()),
    };
    remark("secrets", level, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doctor_notes_a_missing_key_and_warns_of_an_unfinished_rotation() {
        let counts = |sealed, newest| SealedSecrets { stored: 3, sealed, newest, unopened: 0 };
        assert_eq!(secrets(counts(0, 0), false).level, Level::Fine);
        assert_eq!(secrets(counts(2, 0), false).level, Level::Warning);
        let halfway = secrets(counts(3, 1), true);
        assert_eq!(halfway.level, Level::Warning);
        assert!(halfway.words.starts_with("2 of 3"), "{}", halfway.words);
        assert_eq!(secrets(counts(3, 3), true).level, Level::Fine);
        let unopened = secrets(SealedSecrets { unopened: 1, ..counts(3, 2) }, true);
        assert_eq!(unopened.level, Level::Failure);
        assert!(unopened.words.contains("opens 1 of 3"), "{}", unopened.words);
    }
}
