//! The pages that travel with the program, as they stand in `docs/`.

/// Words, their meanings, and nothing else.
pub(super) const GLOSSARY: &str = include_str!("../../docs/glossary.md");

/// A page per failure code.
pub(super) const FAILURES: [(&str, &str); 17] = [
    ("app_failed", include_str!("../../docs/failures/app_failed.md")),
    ("byok_key_rejected", include_str!("../../docs/failures/byok_key_rejected.md")),
    ("byok_session_abandoned", include_str!("../../docs/failures/byok_session_abandoned.md")),
    ("cancelled_by_operator", include_str!("../../docs/failures/cancelled_by_operator.md")),
    ("conversation_missing", include_str!("../../docs/failures/conversation_missing.md")),
    ("database_unavailable", include_str!("../../docs/failures/database_unavailable.md")),
    ("internal", include_str!("../../docs/failures/internal.md")),
    ("invalid_job", include_str!("../../docs/failures/invalid_job.md")),
    ("model_malformed", include_str!("../../docs/failures/model_malformed.md")),
    ("model_rate_limited", include_str!("../../docs/failures/model_rate_limited.md")),
    ("model_rejected", include_str!("../../docs/failures/model_rejected.md")),
    ("model_timeout", include_str!("../../docs/failures/model_timeout.md")),
    ("model_unavailable", include_str!("../../docs/failures/model_unavailable.md")),
    ("no_content", include_str!("../../docs/failures/no_content.md")),
    ("poison_crash", include_str!("../../docs/failures/poison_crash.md")),
    ("run_timeout", include_str!("../../docs/failures/run_timeout.md")),
    ("stage_timeout", include_str!("../../docs/failures/stage_timeout.md")),
];

/// A page per alert.
pub(super) const RUNBOOKS: [(&str, &str); 24] = [
    ("ListenApiAway", include_str!("../../docs/runbooks/ListenApiAway.md")),
    ("ListenAudioWebhookMemory", include_str!("../../docs/runbooks/ListenAudioWebhookMemory.md")),
    ("ListenCollectorDown", include_str!("../../docs/runbooks/ListenCollectorDown.md")),
    ("ListenConversationsSwept", include_str!("../../docs/runbooks/ListenConversationsSwept.md")),
    ("ListenDeadLettersRising", include_str!("../../docs/runbooks/ListenDeadLettersRising.md")),
    ("ListenDeliveriesRefused", include_str!("../../docs/runbooks/ListenDeliveriesRefused.md")),
    ("ListenJobsParked", include_str!("../../docs/runbooks/ListenJobsParked.md")),
    ("ListenJobsStandStill", include_str!("../../docs/runbooks/ListenJobsStandStill.md")),
    ("ListenJobsUnfinished", include_str!("../../docs/runbooks/ListenJobsUnfinished.md")),
    ("ListenLeasesChurn", include_str!("../../docs/runbooks/ListenLeasesChurn.md")),
    ("ListenMetricsAbsent", include_str!("../../docs/runbooks/ListenMetricsAbsent.md")),
    ("ListenModelsFailing", include_str!("../../docs/runbooks/ListenModelsFailing.md")),
    ("ListenOrphans", include_str!("../../docs/runbooks/ListenOrphans.md")),
    ("ListenQueueAgeBurning", include_str!("../../docs/runbooks/ListenQueueAgeBurning.md")),
    ("ListenReconcilerSilent", include_str!("../../docs/runbooks/ListenReconcilerSilent.md")),
    ("ListenRequestsFailing", include_str!("../../docs/runbooks/ListenRequestsFailing.md")),
    ("ListenShardAway", include_str!("../../docs/runbooks/ListenShardAway.md")),
    ("ListenSpeechFailing", include_str!("../../docs/runbooks/ListenSpeechFailing.md")),
    ("ListenSpeechGivenUp", include_str!("../../docs/runbooks/ListenSpeechGivenUp.md")),
    ("ListenTaskKeysNotFetched", include_str!("../../docs/runbooks/ListenTaskKeysNotFetched.md")),
    ("ListenTasksNotHandedOver", include_str!("../../docs/runbooks/ListenTasksNotHandedOver.md")),
    ("ListenVacuumHeldBack", include_str!("../../docs/runbooks/ListenVacuumHeldBack.md")),
    ("ListenWebhooksGivenUp", include_str!("../../docs/runbooks/ListenWebhooksGivenUp.md")),
    ("ListenWebhooksLate", include_str!("../../docs/runbooks/ListenWebhooksLate.md")),
];
