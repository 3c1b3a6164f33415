//! What an unusable answer of an app's server means for the tool that was called.

use apps::ToolFailure;
use outside::Heard;

/// How a call failed that brought no usable answer, by its status if there was one.
pub(crate) fn failure_of(heard: &Heard) -> ToolFailure {
    match heard {
        Heard::Answer { status: 300..=399, .. } => ToolFailure::Redirect,
        Heard::Answer { status: 400..=499, .. } => ToolFailure::Status4xx,
        Heard::Answer { status: 500..=599, .. } => ToolFailure::Status5xx,
        Heard::Answer { .. } | Heard::Broken => ToolFailure::Malformed,
        Heard::TooLong => ToolFailure::TooLong,
        Heard::Refused => ToolFailure::RefusedAddress,
        Heard::Timeout => ToolFailure::Timeout,
        // A user is to see no difference: it would show which inner names there are.
        Heard::RefusedAddress | Heard::Unreachable => ToolFailure::Unreachable,
    }
}
