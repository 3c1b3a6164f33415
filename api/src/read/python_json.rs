//! JSON as Python's `json` takes it, for the bodies that our own parser refuses: either the offset (in characters) and
//! the words of the fault that clients of the original know, or what Python would read. That is a little more than we do:
//! numbers beyond 64-bit floats, halves of surrogate pairs, `NaN`, and nine hundred levels. Where they stand in a field
//! that is not read they are ignored; in a field that is read they are refused by name ([`Unrepresentable`]).

mod scan;

use std::collections::HashMap;

use serde_json::{Map, Value};

use self::scan::Scan;
use crate::error::Step;

/// What makes a value unrepresentable; a representable one replaces it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Unrepresentable {
    /// A number beyond 64-bit floats, or none at all; in its place stands the outermost float.
    Number,
    /// A text with half of a surrogate pair; in its place stands U+FFFD.
    Text,
    /// Something inside.
    Inside(HashMap<Step, Unrepresentable>),
}

impl Unrepresentable {
    /// The unrepresentable part at a position, relative to this value.
    pub(crate) fn at(&self, position: &[Step]) -> Option<&Self> {
        position.iter().try_fold(self, |unrepresentable, step| match unrepresentable {
            Self::Inside(values) => values.get(step),
            Self::Number | Self::Text => None,
        })
    }
}

/// Deeper than this Python's parser gives up (measured: between 950 and 990 levels, by what called it).
const DEEPEST: usize = 980;
/// More unrepresentable values than this are no accident; the request is refused.
const MOST_UNREPRESENTABLE: usize = 10_000;

/// A value, and its unrepresentable parts.
type Node = (Value, Option<Unrepresentable>);

/// Why a text is not JSON, in Python's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Offset in characters.
    pub(super) at: usize,
    /// Python's message.
    pub(super) message: &'static str,
}

/// Why Python does not read a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is not JSON.
    Broken(Fault),
    /// It has too many levels, too many unrepresentable values, or an integer of too many digits.
    TooMuch,
}

impl From<Fault> for Unread {
    fn from(fault: Fault) -> Self {
        Self::Broken(fault)
    }
}

/// Reads a text as Python does. The levels that are open are kept in a list, and not on the stack.
pub(super) fn read(text: &str) -> Result<Node, Unread> {
    let mut reader = Reader { scan: Scan { chars: text.chars().collect(), at: 0 }, unrepresentable: 0 };
    reader.scan.blanks();
    let node = reader.value()?;
    reader.scan.blanks();
    match reader.scan.peek() {
        None => Ok(node),
        Some(_) => Ok(reader.scan.fault("Extra data")?),
    }
}

struct Reader {
    scan: Scan,
    /// How many unrepresentable values there were so far.
    unrepresentable: usize,
}

/// An object or a list of which the end has not been seen.
enum Open {
    Object { fields: Map<String, Value>, unrepresentable: HashMap<Step, Unrepresentable>, name: String },
    List { items: Vec<Value>, unrepresentable: HashMap<Step, Unrepresentable> },
}

/// What begins at a place.
enum Begun {
    Level(Open),
    Whole(Node),
}

impl Reader {
    fn value(&mut self) -> Result<Node, Unread> {
        let mut levels: Vec<Open> = Vec::new();
        'value: loop {
            let mut node = match self.begin(levels.len())? {
                Begun::Level(open) => {
                    levels.push(open);
                    continue 'value;
                }
                Begun::Whole(node) => node,
            };
            // Where a value ends, what it stands in may end, too.
            while let Some(mut open) = levels.pop() {
                open.put(node);
                if self.goes_on(&mut open)? {
                    levels.push(open);
                    continue 'value;
                }
                node = open.close();
            }
            return Ok(node);
        }
    }

    fn begin(&mut self, depth: usize) -> Result<Begun, Unread> {
        let Some(bracket @ ('{' | '[')) = self.scan.peek() else { return self.scalar().map(Begun::Whole) };
        if depth >= DEEPEST {
            return Err(Unread::TooMuch);
        }
        self.scan.at += 1;
        self.scan.blanks();
        Ok(match bracket {
            '{' if self.scan.eat('}') => Begun::Whole((Value::Object(Map::new()), None)),
            '{' => Begun::Level(Open::Object {
                fields: Map::new(),
                unrepresentable: HashMap::new(),
                name: self.name()?,
            }),
            _ if self.scan.eat(']') => Begun::Whole((Value::Array(Vec::new()), None)),
            _ => Begun::Level(Open::List { items: Vec::new(), unrepresentable: HashMap::new() }),
        })
    }

    fn scalar(&mut self) -> Result<Node, Unread> {
        let node = self.scan.scalar()?;
        self.unrepresentable += usize::from(node.1.is_some());
        if self.unrepresentable > MOST_UNREPRESENTABLE { Err(Unread::TooMuch) } else { Ok(node) }
    }

    /// A field's name, and all that stands before its value.
    fn name(&mut self) -> Result<String, Fault> {
        if self.scan.peek() != Some('"') {
            return self.scan.fault("Expecting property name enclosed in double quotes");
        }
        let (name, _) = self.scan.string()?;
        self.scan.blanks();
        if !self.scan.eat(':') {
            return self.scan.fault("Expecting ':' delimiter");
        }
        self.scan.blanks();
        Ok(name)
    }

    /// Behind a value: whether another one follows.
    fn goes_on(&mut self, open: &mut Open) -> Result<bool, Fault> {
        self.scan.blanks();
        if self.scan.eat(open.closer()) {
            return Ok(false);
        }
        if !self.scan.eat(',') {
            return self.scan.fault("Expecting ',' delimiter");
        }
        self.scan.blanks();
        if let Open::Object { name, .. } = open {
            *name = self.name()?;
        }
        Ok(true)
    }
}

impl Open {
    const fn closer(&self) -> char {
        match self {
            Self::Object { .. } => '}',
            Self::List { .. } => ']',
        }
    }

    /// Of two fields of one name the last one counts, with all that is unrepresentable about it.
    fn put(&mut self, (value, is_odd): Node) {
        match self {
            Self::Object { fields, unrepresentable, name } => {
                if is_odd.is_some() || !unrepresentable.is_empty() {
                    let step = Step::Name(name.clone().into());
                    match is_odd {
                        Some(it) => unrepresentable.insert(step, it),
                        None => unrepresentable.remove(&step),
                    };
                }
                fields.insert(std::mem::take(name), value);
            }
            Self::List { items, unrepresentable } => {
                if let Some(it) = is_odd {
                    unrepresentable.insert(Step::Index(items.len()), it);
                }
                items.push(value);
            }
        }
    }

    fn close(self) -> Node {
        let (value, unrepresentable) = match self {
            Self::Object { fields, unrepresentable, .. } => (Value::Object(fields), unrepresentable),
            Self::List { items, unrepresentable } => (Value::Array(items), unrepresentable),
        };
        (value, (!unrepresentable.is_empty()).then_some(Unrepresentable::Inside(unrepresentable)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

    use super::*;

    #[test]
    fn python_json_reads_valid_json_as_serde_json_does() {
        for text in [
            r#" {"a": [1, -0, 2.50, 1e3, 18446744073709551615, 1e-400], "b": {}, "c": [], "a": null} "#,
            r#"["\u00e9\ud83d\ude00\n\t\b\f\r\/\\\"", "é🧠", [[{"x": [true, false]}]]]"#,
            "5",
            "\"\"",
        ] {
            let (value, unrepresentable) = read(text).unwrap();
            assert_eq!(value, serde_json::from_str::<Value>(text).unwrap(), "{text}");
            assert!(unrepresentable.is_none(), "{text}");
        }
    }

    #[test]
    fn python_json_records_unrepresentable_values_by_path() {
        let (value, unrepresentable) =
            read(r#"{"a": [0, -1e400], "b": "x\ud800y", "c": {"d": NaN}, "c": 3}"#).unwrap();
        assert_eq!(value["a"][1], f64::MIN);
        assert_eq!(value["b"], "x\u{fffd}y");
        let unrepresentable = unrepresentable.unwrap();
        assert_eq!(unrepresentable.at(&["a".into(), 1.into()]), Some(&Unrepresentable::Number));
        assert_eq!(unrepresentable.at(&["a".into(), 0.into()]), None);
        assert_eq!(unrepresentable.at(&["b".into()]), Some(&Unrepresentable::Text));
        assert_eq!(unrepresentable.at(&["c".into(), "d".into()]), None);
        assert_eq!(read(r#"["\udc00\ud83d\ude00"]"#).unwrap().0[0], "\u{fffd}\u{1f600}");
    }

    #[test]
    fn python_json_bounds_nesting_and_unrepresentable_values() {
        let tower = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(read(&tower(DEEPEST)).is_ok());
        assert_eq!(read(&tower(DEEPEST + 1)), Err(Unread::TooMuch));
        assert_eq!(read(&"{\"a\":".repeat(600_000)), Err(Unread::TooMuch));
        assert_eq!(read(&format!("[{}1]", "NaN,".repeat(MOST_UNREPRESENTABLE + 1))), Err(Unread::TooMuch));
        assert!(read(&format!("[{}1]", "NaN,".repeat(MOST_UNREPRESENTABLE))).is_ok());
        let digits = "7".repeat(4_300);
        assert!(read(&digits).is_ok() && read(&format!("-{digits}")).is_ok());
        assert_eq!(read(&format!("7{digits}")), Err(Unread::TooMuch));
        assert_eq!(read(&format!("{{\"a\": [-7{digits}]}}")), Err(Unread::TooMuch));
        assert!(
            read(&format!("7{digits}.0")).is_ok() && read(&format!("7{digits}e1")).is_ok(),
            "a float has no such limit"
        );
    }
}
