//! Closed lists whose values have one name each: on the wire, in columns, labels and answers. And characters of other people's JSON.

/// Declares such a list: its names, the values in their order, and the way back from a name.
#[macro_export]
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$vdoc])* #[doc = concat!("`", $text, "`")] $variant),+ }

        impl $name {
            /// Every value, in the order in which the documents list them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Its name.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The value of that name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.as_str() == name)
            }
        }

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(name: String) -> Result<Self, String> {
                Self::from_name(&name).ok_or(name)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

/// JSON with U+FFFD in the place of halves of surrogate pairs, which JavaScript and models write where a text was cut within an emoji:
/// `serde_json` refuses the whole document for one.
pub fn whole_characters(text: &str) -> String {
    let (mut whole, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, escape)) = rest.find('\\').and_then(|at| rest.split_at_checked(at)) {
        let unit = |from: usize| {
            let hex = escape.get(from..from + 6)?.strip_prefix("\\u")?;
            u16::from_str_radix(hex, 16).ok()
        };
        let (length, is_half) = match (unit(0), unit(6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => (12, false),
            (Some(0xD800..=0xDFFF), _) => (6, true),
            _ => (escape.chars().take(2).map(char::len_utf8).sum(), false),
        };
        let (escape, after) = escape.split_at_checked(length).unwrap_or((escape, ""));
        whole.push_str(before);
        whole.push_str(if is_half { "\u{FFFD}" } else { escape });
        rest = after;
    }
    whole.push_str(rest);
    whole
}
