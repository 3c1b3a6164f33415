//! What ended lately as two small drawings with axes: bars of what ended, lines of how long it took. And bars of shares.

use std::fmt::{self, Write};

use askama::filters::HtmlSafe;
use operations::MinuteView;

use super::{count, words::millis};

/// Width and height of a drawing, in its own units.
const WIDE: f64 = 600.0;
const HIGH: f64 = 120.0;

/// A drawing, as SVG. It is made of numbers alone.
#[derive(Clone, Debug)]
pub(super) struct Chart(String);

/// A drawing with its axes.
#[derive(Clone, Debug)]
pub(super) struct Plot {
    pub(super) chart: Chart,
    /// The labels of the upright axis: its end, its middle, its beginning.
    pub(super) upright: [String; 3],
    /// The moments under the drawing: its beginning, its middle, its end.
    pub(super) level: [String; 3],
}

impl fmt::Display for Chart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl HtmlSafe for Chart {}

/// Bars of completed runs, with the failed ones on top.
pub(super) fn throughput(steps: &[MinuteView]) -> Plot {
    let most = steps.iter().map(|step| step.completed + step.failed).max().unwrap_or(0);
    // A middle of half a run would be no label.
    let most = even(round_up(most as f64).max(2.0));
    let width = WIDE / steps.len().max(1) as f64;
    let mut marks = String::new();
    for (place, step) in steps.iter().enumerate() {
        let left = place as f64 * width;
        let done = HIGH * step.completed as f64 / most;
        let failed = HIGH * step.failed as f64 / most;
        bar(&mut marks, "done", left, HIGH - done, width, done);
        bar(&mut marks, "failed", left, HIGH - done - failed, width, failed);
    }
    let label = |number: f64| count(number as i64);
    plot("Runs that ended, over time", &marks, steps, [label(most), label(most / 2.0), label(0.0)])
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

/// Lines of the median and of the slowest twentieth; steps without runs are gaps.
pub(super) fn lengths(steps: &[MinuteView]) -> Plot {
    let most = round_up(steps.iter().filter_map(|step| step.p95_ms).fold(1.0, f64::max));
    let slow = line("slow", steps, most, |step| step.p95_ms);
    let half = line("half", steps, most, |step| step.p50_ms);
    let labels = [millis(most), millis(most / 2.0), "0".to_owned()];
    plot("How long runs took, over time", &(slow + &half), steps, labels)
}

fn line(class: &str, steps: &[MinuteView], most: f64, of: impl Fn(&MinuteView) -> Option<f64>) -> String {
    let width = WIDE / steps.len().max(1) as f64;
    let (mut path, mut is_drawing) = (String::new(), false);
    for (place, step) in steps.iter().enumerate() {
        let Some(value) = of(step) else {
            is_drawing = false;
            continue;
        };
        let (x, y) = ((place as f64 + 0.5) * width, HIGH - HIGH * value / most);
        // A piece begins with a point, so that one step alone is seen.
        let _infallible = match is_drawing {
            true => write!(path, "L{x:.1} {y:.1}"),
            false => write!(path, "M{x:.1} {y:.1}h0"),
        };
        is_drawing = true;
    }
    format!("<path class=\"{class}\" d=\"{path}\"/>")
}

/// The next of 1, 2, 5, 10, 20, …: an end of an axis that can be read.
fn round_up(number: f64) -> f64 {
    let decade = 10_f64.powf(number.max(1.0).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade);
    steps.into_iter().find(|step| *step >= number).unwrap_or(10.0 * decade)
}

fn even(number: f64) -> f64 {
    if number % 2.0 == 0.0 { number } else { number + 1.0 }
}

fn plot(words: &str, marks: &str, steps: &[MinuteView], upright: [String; 3]) -> Plot {
    let middle = HIGH / 2.0;
    let chart = Chart(format!(
        "<svg class=\"chart\" viewBox=\"0 0 {WIDE} {HIGH}\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{words}\"><path class=\"ground\" d=\"M0 0H{WIDE}M0 {middle}H{WIDE}M0 {HIGH}H{WIDE}\"/>{marks}</svg>"
    ));
    let at =
        |place: usize| steps.get(place).map_or(String::new(), |step| step.minute.format("%H:%M").to_string());
    Plot { chart, upright, level: [at(0), at(steps.len() / 2), "now".to_owned()] }
}

/// A bar that is filled so far: parts of a whole, each with its class.
pub(super) fn progress(parts: &[(&'static str, i32)], whole: i32) -> Chart {
    shares("Progress", parts, whole)
}

/// A bar of one share of a whole.
pub(super) fn share(words: &'static str, part: i32, whole: i32) -> Chart {
    shares(words, &[("going", part)], whole)
}

fn shares(words: &'static str, parts: &[(&'static str, i32)], whole: i32) -> Chart {
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
         aria-label=\"{words}\">{marks}</svg>"
    ))
}

#[cfg(test)]
mod tests {
    use job::Timestamp;

    use super::*;

    fn minute(completed: i64, failed: i64, p95_ms: Option<f64>) -> MinuteView {
        MinuteView {
            minute: Timestamp::UNIX_EPOCH,
            completed,
            failed,
            p50_ms: p95_ms,
            p95_ms,
            lengths: Vec::new(),
        }
    }

    #[test]
    fn chart_of_a_quiet_hour_is_empty() {
        let quiet = vec![minute(0, 0, None); 60];
        assert!(!throughput(&quiet).chart.to_string().contains("<rect"));
        assert!(lengths(&quiet).chart.to_string().contains("d=\"\""));
        assert!(!lengths(&[]).chart.to_string().contains("NaN"));
    }

    #[test]
    fn chart_line_is_interrupted_by_minutes_without_runs() {
        let parted = [minute(1, 0, Some(5.0)), minute(0, 0, None), minute(1, 1, Some(9.0))];
        let drawn = lengths(&parted).chart.to_string();
        assert_eq!(drawn.matches("h0").count(), 4, "two pieces of each of two lines: {drawn}");
        assert_eq!(throughput(&parted).chart.to_string().matches("class=\"failed\"").count(), 1);
    }

    #[test]
    fn chart_axis_ends_at_a_round_number_and_shows_times() {
        let busy = [minute(30, 7, Some(1_234.0)), minute(1, 0, None)];
        assert_eq!(throughput(&busy).upright, ["50", "25", "0"]);
        assert_eq!(lengths(&busy).upright, ["2.0 s", "1.0 s", "0"]);
        assert_eq!(throughput(&busy).level, ["00:00", "00:00", "now"]);
        assert_eq!(throughput(&[minute(1, 0, None)]).upright, ["2", "1", "0"]);
        assert_eq!(
            [round_up(0.0), round_up(10.0), round_up(11.0), round_up(999.0)],
            [1.0, 10.0, 20.0, 1_000.0]
        );
    }
}
