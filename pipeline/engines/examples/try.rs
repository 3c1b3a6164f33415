#![allow(missing_docs)]
use engines::Embedded;
use futures::executor::block_on;
use records::Talk;
use stages::{Describe, ExtractItems, ExtractMemories};
fn main() {
    let mut text = String::new();
    std::io::Read::read_to_string(&mut std::io::stdin(), &mut text).unwrap();
    for text in text.split("\n\n") {
        let talk = Talk {
            lines: Talk::lines_of_text(text),
            started_at: "2026-11-20T10:00:00Z".parse().unwrap(),
            time_zone: chrono_tz::Tz::UTC,
            language: "en".to_owned(),
            user_name: None,
            background: records::Background::default(),
        };
        let engine = Embedded::new();
        println!("---- {}", text.trim());
        for item in block_on(engine.extract_items(&talk)).unwrap() {
            println!("  item  {} {:?} {:?}", item.description, item.due_at, item.owner);
        }
        for m in block_on(engine.extract_memories(&talk)).unwrap() {
            println!("  mem   {} {:?}", m.content, m.category);
        }
        let s = block_on(engine.describe(&talk, &[])).unwrap();
        for e in s.events {
            println!("  event {} {} {}", e.title, e.start, e.duration);
        }
        println!("  {} [{}]\n  {}", s.title, s.category, s.overview);
    }
}
