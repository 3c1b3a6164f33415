//! What cleaning promises: examples, and properties of any text.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::markup::one_line;
use super::text::{line, text, title, words};

#[test]
fn markup_links_and_hidden_characters_are_removed() {
    for (raw, clean) in [
        ("See ![x](https://evil.example/?q=1) now", "See x now"),
        ("See [the plan](https://evil.example) now", "See the plan now"),
        ("broken ](https://evil.example) link", "broken link"),
        ("Go to https://evil.example/a?b=c or www.evil.example.", "Go to or"),
        ("<img src=x onerror=alert(1)>Hello <b>Tom</b><!-- x -->", "Hello Tom"),
        ("<script", "script"),
        ("a\u{0}b\u{1b}[31m\u{202e}c\u{200b}d\te\nf", "ab[31mcd e f"),
        ("tag\u{e0041}\u{e0042}ged", "tagged"),
        ("<<b>script>alert(1)</script>", "alert(1)"),
        ("<<<i>b>script src=//x>", ""),
        ("[x]<b>(javascript:alert(1))", "x)"),
        ("![x]<b>(//host/a.png) now", "x now"),
        ("<[b](x)>bold", "bold"),
        ("[x]\u{200b}(//host)", "x"),
        ("<\u{200b}b>x", "x"),
        ("[x]: //evil.example [x]", "x: [x]"),
        ("![x][ref]\n[ref]: javascript:alert(1)", "![x][ref] ref:"),
        ("<https://evil.example> <?php echo 1 ?> <a@b.example>", ""),
        ("click javascript:alert(1) or JavaScript:x or data:text/html,x or (//host/x)", "click or or or"),
    ] {
        assert_eq!(line(raw, 500), clean, "{raw:?}");
    }
    assert_eq!(text("- one  \n\n- https://x.example two\u{7}\n", 500), "- one\n\n- two");
}

#[test]
fn markup_cleaning_keeps_ordinary_text() {
    for plain in [
        "3 < 5 and 7 > 6",
        "I <3 you",
        "if a <= b || c >= d",
        "the list [1, 2] (see below)",
        "[1][2] and [note] too",
        "The data: five rows",
        "and/or, 1//2, half // whole",
        "mail ann@example.com at 10:30",
        "می‌خواهم به خانه بروم 👩‍🚀 ❤️",
        "*important* _very_ `x[0]`",
    ] {
        assert_eq!(line(plain, 500), plain);
    }
}

/// Text out of the parts of which markup is made, and of anything else.
fn hostile() -> impl Strategy<Value = String> {
    const PARTS: [&str; 62] = [
        "<",
        ">",
        "<b>",
        "</b>",
        "<!--",
        "-->",
        "<?",
        "/",
        "!",
        "?",
        "[",
        "]",
        "(",
        ")",
        "[x]",
        "](",
        "](x)",
        "![",
        "]:",
        "[x]: ",
        "//host",
        "javascript:",
        "data:",
        "vbscript:",
        "http://",
        "://",
        "www",
        ".",
        "www.",
        ":",
        "script",
        "a",
        "B",
        "1",
        "3",
        " ",
        "\n",
        "\t",
        "\"",
        "“",
        "”",
        "…",
        "。",
        "\u{0}",
        "\u{200b}",
        "\u{200c}",
        "\u{200d}",
        "\u{fe0f}",
        "\u{e0041}",
        "\u{e0101}",
        "\u{ad}",
        "\u{202e}",
        "\u{2800}",
        "\u{fffe}",
        "\u{e000}",
        "❤",
        "👩",
        "م",
        "क्",
        "é",
        "İ",
        "ſ",
    ];
    let part =
        prop_oneof![9 => prop::sample::select(&PARTS[..]).prop_map(str::to_owned), 1 => any::<String>()];
    prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

fn is_clean(text: &str) -> Result<(), TestCaseError> {
    for (at, _) in text.match_indices('<') {
        let after = text[at + 1..].chars().next();
        prop_assert!(!after.is_some_and(|c| c.is_ascii_alphabetic() || "/!?".contains(c)), "a tag: {text:?}");
    }
    let small = text.to_ascii_lowercase();
    for sign in ["](", "]:", "://", "www.", "javascript:", "vbscript:", " //h"] {
        prop_assert!(!small.contains(sign), "{sign}: {text:?}");
    }
    prop_assert!(!small.starts_with("//h"), "{text:?}");
    prop_assert!(
        !small.split("data:").skip(1).any(|data| data.starts_with(|c: char| !c.is_whitespace())),
        "{text:?}"
    );
    let hidden = |c: char| {
        c.is_control() && c != '\n'
            || matches!(
                c,
                '\u{ad}' | '\u{200b}' | '\u{202e}' | '\u{2800}' | '\u{e000}' | '\u{fffe}' | '\u{e0000}'
                    ..='\u{e0fff}'
            )
    };
    prop_assert!(!text.contains(hidden), "a hidden character: {text:?}");
    let joiners = |c: char| matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe0f}');
    let mut before = ' ';
    for c in text.chars() {
        prop_assert!(!joiners(c) || !before.is_ascii(), "a joiner that joins nothing: {text:?}");
        before = c;
    }
    Ok(())
}

type Cleaner = fn(&str, usize) -> String;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn markup_cleaning_is_idempotent_and_bounded(raw in hostile(), max in 1_usize..120) {
        let cleaners: [(&str, Cleaner); 3] = [("text", text), ("line", line), ("title", title)];
        for (name, clean) in cleaners {
            let once = clean(&raw, max);
            is_clean(&once)?;
            prop_assert!(once.chars().count() <= max);
            prop_assert_eq!(&clean(&once, max), &once, "{}", name);
            let cut = words(&once, 15);
            is_clean(&cut)?;
            prop_assert_eq!(&words(&line(&cut, max), 15), &cut, "words of {}", name);
        }
    }

    #[test]
    fn fuzz_any_text_is_cleaned(raw: String) {
        let once = text(&raw, 8_000);
        is_clean(&once)?;
        prop_assert_eq!(&text(&once, 8_000), &once);
    }
}

#[test]
fn markup_cleaning_takes_linear_time_on_hostile_text() {
    let nested = |open: &str, middle: &str, close: &str| {
        let times = 100_000 / (open.len() + close.len()).max(1);
        format!("{}{middle}{}", open.repeat(times), close.repeat(times))
    };
    for raw in [
        nested("<", "b", ">"),
        nested("<b", "", ""),
        nested("](", "", ""),
        nested("[", "x", "](y)"),
        nested("<[", "b", "](x)>"),
        nested("[x]<b>(", "", ""),
        nested("]:", "", ""),
        nested("]", "", ""),
        nested("<<b>", "script>", ""),
        nested("م\u{200c}", "", ""),
        nested("❤\u{fe0f}", "", ""),
        nested("<a>(", "[", "]"),
    ] {
        let began = Instant::now();
        let once = one_line(&raw);
        // Work that grows with the square takes minutes.
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}: {}", began.elapsed(), &raw[..20]);
        assert_eq!(one_line(&once), once, "{}", &raw[..20]);
        assert!(is_clean(&once).is_ok(), "{}", &raw[..20]);
    }
}
