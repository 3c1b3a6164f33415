//! The words of JSON one by one, with the faults that CPython's scanner (3.11) finds in them.

use serde_json::{Number, Value};

use super::{Fault, Node, Unread, Unrepresentable};

/// Python converts no longer integers out of text (`sys.int_info.default_max_str_digits`): it gives up.
const MOST_DIGITS: usize = 4_300;

/// A text and a place in it.
pub(super) struct Scan {
    pub(super) chars: Vec<char>,
    pub(super) at: usize,
}

impl Scan {
    /// What is neither object nor list.
    pub(super) fn scalar(&mut self) -> Result<Node, Unread> {
        if self.peek() == Some('"') {
            let (text, unrepresentable) = self.string()?;
            return Ok((Value::String(text), unrepresentable));
        }
        for (word, value) in
            [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))]
        {
            if self.word(word) {
                return Ok((value, None));
            }
        }
        // No JSON, and yet taken by Python.
        match ["NaN", "Infinity", "-Infinity"].iter().any(|word| self.word(word)) {
            true => Ok((f64::MAX.into(), Some(Unrepresentable::Number))),
            false => self.number(),
        }
    }

    /// A text; a half of a surrogate pair, which is no character, becomes U+FFFD.
    pub(super) fn string(&mut self) -> Result<(String, Option<Unrepresentable>), Fault> {
        let unterminated = Fault { at: self.at, message: "Unterminated string starting at" };
        let (mut text, mut unrepresentable) = (String::new(), None);
        self.at += 1;
        loop {
            match self.peek().ok_or(unterminated)? {
                '"' => break,
                '\\' => match self.escape(unterminated)? {
                    Some(character) => text.push(character),
                    None => {
                        text.push(char::REPLACEMENT_CHARACTER);
                        unrepresentable = Some(Unrepresentable::Text);
                    }
                },
                control if control < ' ' => return self.fault("Invalid control character at"),
                character => {
                    text.push(character);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        Ok((text, unrepresentable))
    }

    /// `None`: half of a surrogate pair.
    fn escape(&mut self, unterminated: Fault) -> Result<Option<char>, Fault> {
        let slash = self.at;
        let letter = *self.chars.get(slash + 1).ok_or(unterminated)?;
        let character = match letter {
            '"' | '\\' | '/' => letter,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            // CPython wants one character more after the four digits than it reads.
            'u' if self.chars.len() > slash + 6 => return self.numbered(slash),
            'u' => return Err(Fault { at: slash + 1, message: "Invalid \\uXXXX escape" }),
            _ => return Err(Fault { at: slash, message: "Invalid \\escape" }),
        };
        self.at += 2;
        Ok(Some(character))
    }

    /// The first half of a surrogate pair takes its second half along.
    fn numbered(&mut self, slash: usize) -> Result<Option<char>, Fault> {
        let first = self.unit(slash).ok_or(Fault { at: slash + 1, message: "Invalid \\uXXXX escape" })?;
        let pair = [first, self.unit(slash + 6).unwrap_or_default()];
        let units = if matches!(pair, [0xd800..=0xdbff, 0xdc00..=0xdfff]) { 2 } else { 1 };
        self.at += 6 * units;
        let read = char::decode_utf16(pair.into_iter().take(units)).next();
        Ok(read.and_then(Result::ok))
    }

    /// The four digits of the escape at a place.
    fn unit(&self, slash: usize) -> Option<u16> {
        let ['\\', 'u', digits @ ..] = self.chars.get(slash..slash + 6)? else { return None };
        digits.iter().try_fold(0, |unit, digit| Some(unit * 16 + u16::try_from(digit.to_digit(16)?).ok()?))
    }

    /// As far as a number goes: what follows it is the next delimiter's matter.
    fn number(&mut self) -> Result<Node, Unread> {
        let begin = self.at;
        self.eat('-');
        let digits = if self.eat('0') { 1 } else { self.digits() };
        if digits == 0 {
            return Err(Fault { at: begin, message: "Expecting value" }.into());
        }
        let whole = self.at;
        self.only_if_digits(|scan| scan.eat('.'));
        self.only_if_digits(|scan| {
            let exponent = scan.eat('e') || scan.eat('E');
            exponent && {
                let _signed = scan.eat('+') || scan.eat('-');
                true
            }
        });
        if self.at == whole && digits > MOST_DIGITS {
            return Err(Unread::TooMuch);
        }
        let number: String = self.chars.get(begin..self.at).unwrap_or_default().iter().collect();
        Ok(match number.parse::<Number>() {
            Ok(number) => (Value::Number(number), None),
            Err(_) if number.starts_with('-') => (f64::MIN.into(), Some(Unrepresentable::Number)),
            Err(_) => (f64::MAX.into(), Some(Unrepresentable::Number)),
        })
    }

    fn only_if_digits(&mut self, begins: impl FnOnce(&mut Self) -> bool) {
        let before = self.at;
        if !begins(self) || self.digits() == 0 {
            self.at = before;
        }
    }

    fn digits(&mut self) -> usize {
        let before = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - before
    }

    fn word(&mut self, word: &str) -> bool {
        let found = word.chars().enumerate().all(|(index, c)| self.chars.get(self.at + index) == Some(&c));
        if found {
            self.at += word.len();
        }
        found
    }

    pub(super) fn blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t' | '\n' | '\r')) {
            self.at += 1;
        }
    }

    pub(super) fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += 1;
        }
        found
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    pub(super) fn fault<T>(&self, message: &'static str) -> Result<T, Fault> {
        Err(Fault { at: self.at, message })
    }
}
