//! Base62: digits, capitals, small letters. A key in it is selected whole by a double click.

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The last `DIGITS` digits of `number`, most significant first, filled up with zeros.
pub(super) fn digits<const DIGITS: usize>(mut number: u128) -> String {
    let mut text = [b'0'; DIGITS];
    for place in text.iter_mut().rev() {
        *place = ALPHABET.get((number % 62) as usize).copied().unwrap_or(b'0');
        number /= 62;
    }
    text.iter().map(|digit| char::from(*digit)).collect()
}

/// Whether every character is a digit of base62.
pub(super) fn is_base62(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base62_writes_the_most_significant_digit_first() {
        assert_eq!(digits::<6>(0), "000000");
        assert_eq!(digits::<6>(61), "00000z");
        assert_eq!(digits::<6>(62), "000010");
        // The largest CRC-32 fits into six digits.
        assert_eq!(digits::<6>(u128::from(u32::MAX)), "4gfFC3");
    }
}
