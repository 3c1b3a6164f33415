//! Lengths of time, as alerts, `doctor` and the console tell them.

/// A length of time in two units at most.
pub(crate) fn lasting(seconds: f64) -> String {
    let whole = seconds.max(0.0) as i64;
    match whole {
        0..=119 => format!("{whole} s"),
        120..=7_199 => format!("{} min", whole / 60),
        7_200..=172_799 => format!("{} h {} min", whole / 3_600, whole % 3_600 / 60),
        _ => format!("{} d {} h", whole / 86_400, whole % 86_400 / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_units_at_most() {
        let shown = [0.4, 300.0, 9_000.0, 200_000.0].map(lasting);
        assert_eq!(shown, ["0 s", "5 min", "2 h 30 min", "2 d 7 h"]);
    }
}
