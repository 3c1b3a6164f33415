//! The last hour as two small drawings: bars of what ended, lines of how long it took.

use std::fmt::{self, Write};

use askama::filters::HtmlSafe;
use operations::MinuteView;

/// Width and height of a drawing, in its own units.
const WIDE: f64 = 600.0;
const HIGH: f64 = 120.0;

/// A drawing, as SVG. It is made of numbers alone.
#[derive(Clone, Debug)]
pub(super) struct Chart(String);

impl fmt::Display for Chart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl HtmlSafe for Chart {}

/// Bars of completed runs, with the failed ones on top.
pub(super) fn throughput(minutes: &[MinuteView]) -> Chart {
    let most = minutes.iter().map(|minute| minute.completed + minute.failed).max().unwrap_or(0).max(1) as f64;
    let step = WIDE / minutes.len().max(1) as f64;
    let mut marks = String::new();
    for (place, minute) in minutes.iter().enumerate() {
        let left = place as f64 * step;
        let done = HIGH * minute.completed as f64 / most;
        let failed = HIGH * minute.failed as f64 / most;
        bar(&mut marks, "done", left, HIGH - done, step, done);
        bar(&mut marks, "failed", left, HIGH - done - failed, step, failed);
    }
    svg("Runs that ended in each of the last 60 minutes", &marks)
}

fn bar(marks: &mut String, class: &str, left: f64, top: f64, step: f64, height: f64) {
    if height > 0.0 {
        let width = (step - 2.0).max(1.0);
        let _infallible = write!(
            marks,
            "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"1\"/>"
        );
    }
}

/// Lines of the median and of the slowest twentieth; minutes without runs are gaps.
pub(super) fn lengths(minutes: &[MinuteView]) -> Chart {
    let most = minutes.iter().filter_map(|minute| minute.p95_ms).fold(1.0, f64::max);
    let slow = line("slow", minutes, most, |minute| minute.p95_ms);
    let half = line("half", minutes, most, |minute| minute.p50_ms);
    svg("How long runs took in each of the last 60 minutes", &(slow + &half))
}

fn line(class: &str, minutes: &[MinuteView], most: f64, of: impl Fn(&MinuteView) -> Option<f64>) -> String {
    let step = WIDE / minutes.len().max(1) as f64;
    let (mut path, mut is_drawing) = (String::new(), false);
    for (place, minute) in minutes.iter().enumerate() {
        let Some(value) = of(minute) else {
            is_drawing = false;
            continue;
        };
        let (x, y) = ((place as f64 + 0.5) * step, HIGH - 4.0 - (HIGH - 8.0) * value / most);
        // A piece begins with a point, so that one minute alone is seen.
        let _infallible = match is_drawing {
            true => write!(path, "L{x:.1} {y:.1}"),
            false => write!(path, "M{x:.1} {y:.1}h0"),
        };
        is_drawing = true;
    }
    format!("<path class=\"{class}\" d=\"{path}\"/>")
}

fn svg(words: &str, marks: &str) -> Chart {
    Chart(format!(
        "<svg class=\"chart\" viewBox=\"0 0 {WIDE} {HIGH}\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{words}\"><path class=\"ground\" d=\"M0 {HIGH}H{WIDE}\"/>{marks}</svg>"
    ))
}

/// A bar that is filled so far, for progress: parts of a whole, each with its class.
pub(super) fn progress(parts: &[(&'static str, i32)], whole: i32) -> Chart {
    let (mut left, mut marks) = (0.0, String::new());
    for (class, part) in parts {
        let width = WIDE * f64::from(*part) / f64::from(whole.max(1));
        let _infallible = write!(
            marks,
            "<rect class=\"{class}\" x=\"{left:.1}\" y=\"0\" width=\"{width:.1}\" height=\"{HIGH}\"/>"
        );
        left += width;
    }
    Chart(format!(
        "<svg class=\"progress\" viewBox=\"0 0 {WIDE} {HIGH}\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"Progress\">{marks}</svg>"
    ))
}

#[cfg(test)]
mod tests {
    use job::Timestamp;

    use super::*;

    fn minute(completed: i64, failed: i64, p95_ms: Option<f64>) -> MinuteView {
        MinuteView { minute: Timestamp::UNIX_EPOCH, completed, failed, p50_ms: p95_ms, p95_ms }
    }

    #[test]
    fn a_quiet_hour_is_an_empty_drawing() {
        let quiet = vec![minute(0, 0, None); 60];
        assert!(!throughput(&quiet).to_string().contains("<rect"));
        assert!(lengths(&quiet).to_string().contains("d=\"\""));
        assert!(!lengths(&[]).to_string().contains("NaN"));
    }

    #[test]
    fn minutes_without_runs_part_the_line() {
        let parted = [minute(1, 0, Some(5.0)), minute(0, 0, None), minute(1, 1, Some(9.0))];
        let drawn = lengths(&parted).to_string();
        assert_eq!(drawn.matches('M').count(), 5, "two pieces of each of two lines, and the ground: {drawn}");
        assert_eq!(throughput(&parted).to_string().matches("class=\"failed\"").count(), 1);
    }
}
