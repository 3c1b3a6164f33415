//! What a delivery's row remembers of its tries: a line each, written in the update that stores the try's end.
//!
//! A line is `number at_micros status class`, parted by single spaces, `-` for what there is not.

use records::Timestamp;

/// Lines that a row keeps; the oldest goes when one more comes. A round has eleven tries.
pub const TRIES_KEPT: i32 = 12;

/// One try of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryTry {
    /// Its number in the round of tries: a redelivery begins with 1 again.
    pub number: i32,
    /// When it ended.
    pub at: Timestamp,
    /// The status of the answer.
    pub status: Option<i32>,
    /// Why it failed: a bounded error class.
    pub error: Option<String>,
}

pub(super) fn line(number: i32, at: Timestamp, status: Option<u16>, error: Option<&str>) -> String {
    let status = status.map_or("-".to_owned(), |status| status.to_string());
    format!("{number} {} {status} {}", at.timestamp_micros(), error.unwrap_or("-"))
}

/// Reads the lines of a row; an unreadable one is left out.
pub(super) fn read(lines: &[String]) -> Vec<DeliveryTry> {
    lines.iter().filter_map(|line| read_line(line)).collect()
}

fn read_line(line: &str) -> Option<DeliveryTry> {
    let mut parts = line.split(' ');
    let number = parts.next()?.parse().ok()?;
    let at = Timestamp::from_timestamp_micros(parts.next()?.parse().ok()?)?;
    let status = parts.next()?.parse().ok();
    let error = parts.next().filter(|error| *error != "-").map(str::to_owned);
    Some(DeliveryTry { number, at, status, error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_try_is_read_as_it_was_written() {
        let at = Timestamp::UNIX_EPOCH;
        for (status, error) in [(Some(200), None), (Some(503), Some("status")), (None, Some("timeout"))] {
            let written = line(2, at, status, error);
            let tried =
                DeliveryTry { number: 2, at, status: status.map(i32::from), error: error.map(str::to_owned) };
            assert_eq!(read(&[written, "rubbish".to_owned()]), [tried]);
        }
    }
}
