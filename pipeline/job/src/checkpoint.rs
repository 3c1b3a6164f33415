//! What a run paid for is kept for the next one.

/// Under which a step's output is kept, within its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CheckpointKey {
    /// The stage's name.
    pub stage: &'static str,
    /// The shape of its output.
    pub version: u16,
    /// SHA-256 of what the revision fixes, of the engine's id and prompt version.
    pub digest: [u8; 32],
}
