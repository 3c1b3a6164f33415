//! Where the string literals of a Rust source stand: a guard within one is a text of SQL.

use std::ops::Range;

/// The plain string literals of `source`, quotes included, in their order. Comments and characters are passed by; the
/// product has no raw strings where there are guards, and they are not looked for.
pub(crate) fn literals(source: &str) -> Vec<Range<usize>> {
    let bytes = source.as_bytes();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        at = match bytes[at] {
            b'/' if bytes.get(at + 1) == Some(&b'/') => line_end(bytes, at),
            b'\'' => character_end(bytes, at),
            b'"' => {
                let end = string_end(bytes, at);
                found.push(at..end);
                end
            }
            _ => at + 1,
        };
    }
    found
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |length| at + length)
}

/// Behind a character; behind the mere quote where it begins a lifetime.
fn character_end(bytes: &[u8], at: usize) -> usize {
    match (bytes.get(at + 1), bytes.get(at + 2)) {
        (Some(b'\\'), _) => {
            bytes[at + 3..].iter().position(|byte| *byte == b'\'').map_or(at + 1, |n| at + n + 4)
        }
        (Some(_), Some(b'\'')) => at + 3,
        _ => at + 1,
    }
}

fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while end < bytes.len() && bytes[end] != b'"' {
        end += if bytes[end] == b'\\' { 2 } else { 1 };
    }
    end + 1
}

#[cfg(test)]
mod checks {
    use super::literals;

    #[test]
    fn literals_are_found_and_what_only_looks_like_one_is_not() {
        let source = r#"fn f<'a>() { g("one \" \
            more", '"', '\'', b"two"); } // "no"
            "three""#;
        let found: Vec<&str> = literals(source).into_iter().map(|range| &source[range]).collect();
        assert_eq!(found, ["\"one \\\" \\\n            more\"", "\"two\"", "\"three\""]);
    }
}
