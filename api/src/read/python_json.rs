//! Where and why Python's `json` gives up on a text: the offset (in characters) and the words that clients of
//! the original know. Asked only after our own parser has refused; follows CPython's scanner (3.11).

/// Deeper than this our own parser refuses, and so the scan ends there too.
const DEEPEST: usize = 128;

/// Why a text is not JSON, in Python's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Offset in characters.
    pub(super) at: usize,
    /// Python's message.
    pub(super) message: &'static str,
}

/// Finds the fault of a text that is not JSON. Python takes a little more than we do (`NaN`, numbers beyond 64-bit
/// floats, halves of surrogate pairs): where it finds no fault, the first of these is told, in words of our own.
pub(super) fn fault(text: &str) -> Fault {
    let chars: Vec<char> = text.chars().collect();
    let mut scan = Scan { chars: &chars, at: 0, taken_by_python: None };
    match scan.document() {
        Err(fault) => fault,
        Ok(()) => scan.taken_by_python.unwrap_or(Fault { at: 0, message: "Expecting value" }),
    }
}

struct Scan<'a> {
    chars: &'a [char],
    at: usize,
    /// The first place where Python goes on and we do not.
    taken_by_python: Option<Fault>,
}

impl Scan<'_> {
    fn document(&mut self) -> Result<(), Fault> {
        self.blanks();
        self.value(0)?;
        self.blanks();
        match self.peek() {
            None => Ok(()),
            Some(_) => self.fault("Extra data"),
        }
    }

    fn value(&mut self, depth: usize) -> Result<(), Fault> {
        match self.peek() {
            Some('"') => self.string(),
            Some('{' | '[') if depth >= DEEPEST => self.fault("Too many levels"),
            Some('{') => self.object(depth),
            Some('[') => self.array(depth),
            Some(_) if ["null", "true", "false"].iter().any(|word| self.word(word)) => Ok(()),
            Some(_) => {
                let begin = self.at;
                if ["NaN", "Infinity", "-Infinity"].iter().any(|word| self.word(word)) {
                    self.refuse(begin, "Expecting value");
                    return Ok(());
                }
                self.number()
            }
            None => self.number(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<(), Fault> {
        self.at += 1;
        self.blanks();
        if self.eat('}') {
            return Ok(());
        }
        loop {
            if self.peek() != Some('"') {
                return self.fault("Expecting property name enclosed in double quotes");
            }
            self.string()?;
            self.blanks();
            if !self.eat(':') {
                return self.fault("Expecting ':' delimiter");
            }
            self.blanks();
            self.value(depth + 1)?;
            self.blanks();
            if self.eat('}') {
                return Ok(());
            }
            self.comma()?;
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), Fault> {
        self.at += 1;
        self.blanks();
        if self.eat(']') {
            return Ok(());
        }
        loop {
            self.value(depth + 1)?;
            self.blanks();
            if self.eat(']') {
                return Ok(());
            }
            self.comma()?;
        }
    }

    fn comma(&mut self) -> Result<(), Fault> {
        if !self.eat(',') {
            return self.fault("Expecting ',' delimiter");
        }
        self.blanks();
        Ok(())
    }

    fn string(&mut self) -> Result<(), Fault> {
        let begin = self.at;
        let unterminated = Fault { at: begin, message: "Unterminated string starting at" };
        self.at += 1;
        loop {
            match self.peek().ok_or(unterminated)? {
                '"' => break,
                '\\' => self.escape(unterminated)?,
                control if control < ' ' => return self.fault("Invalid control character at"),
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Ok(())
    }

    fn escape(&mut self, unterminated: Fault) -> Result<(), Fault> {
        let slash = self.at;
        match self.chars.get(slash + 1).ok_or(unterminated)? {
            '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' => self.at += 2,
            'u' => {
                let digits = self.chars.get(slash + 2..slash + 6).unwrap_or_default();
                // CPython wants one character more after the four digits than it reads.
                let complete = digits.len() == 4 && self.chars.len() > slash + 6;
                if !complete || !digits.iter().all(char::is_ascii_hexdigit) {
                    return Err(Fault { at: slash + 1, message: "Invalid \\uXXXX escape" });
                }
                self.at += 6;
                self.pair(slash);
            }
            _ => return Err(Fault { at: slash, message: "Invalid \\escape" }),
        }
        Ok(())
    }

    /// Behind an escape: the first half of a surrogate pair takes its second half along; a half alone is no character.
    fn pair(&mut self, slash: usize) {
        let half = |place: usize| {
            let digits: String = self.chars.get(place + 2..place + 6)?.iter().collect();
            let is_escape = self.chars.get(place..place + 2)? == ['\\', 'u'];
            is_escape.then(|| u16::from_str_radix(&digits, 16).ok())?
        };
        match half(slash) {
            Some(0xd800..=0xdbff) if matches!(half(slash + 6), Some(0xdc00..=0xdfff)) => self.at += 6,
            Some(0xd800..=0xdfff) => self.refuse(slash, "Unpaired surrogate"),
            _ => {}
        }
    }

    fn refuse(&mut self, at: usize, message: &'static str) {
        self.taken_by_python.get_or_insert(Fault { at, message });
    }

    /// As far as a number goes: what follows it is the next delimiter's matter.
    fn number(&mut self) -> Result<(), Fault> {
        let begin = self.at;
        self.eat('-');
        if !self.eat('0') && self.digits() == 0 {
            return Err(Fault { at: begin, message: "Expecting value" });
        }
        self.only_if_digits(|scan| scan.eat('.'));
        self.only_if_digits(|scan| {
            let exponent = scan.eat('e') || scan.eat('E');
            exponent && {
                let _signed = scan.eat('+') || scan.eat('-');
                true
            }
        });
        let number: String = self.chars.get(begin..self.at).unwrap_or_default().iter().collect();
        if number.parse::<f64>().is_ok_and(f64::is_infinite) {
            self.refuse(begin, "Number out of range");
        }
        Ok(())
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

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t' | '\n' | '\r')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += 1;
        }
        found
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn fault<T>(&self, message: &'static str) -> Result<T, Fault> {
        Err(Fault { at: self.at, message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_python_takes_and_we_do_not_is_told_where_it_stands() {
        for (text, at, message) in [
            (r#"{"a": 1, "x": [-1e400]}"#, 15, "Number out of range"),
            (r#"{"é": "\ud83d\ude00 \ud800"}"#, 20, "Unpaired surrogate"),
            (r#"{"a": "\udc00\ud83d\ude00"}"#, 7, "Unpaired surrogate"),
            (r#"{"a": NaN, "b": 1e400}"#, 6, "Expecting value"),
        ] {
            assert_eq!(fault(text), Fault { at, message }, "{text}");
            assert!(serde_json::from_str::<serde_json::Value>(text).is_err(), "{text}");
        }
    }
}
