//! What a live socket asks for in its address.

use records::{ConversationId, Source, UserId};
use speech::{Codec, Format, Language};
use uuid::Uuid;

use crate::{
    Settings,
    read::{Choice, Fields, Int, Text, named},
    shapes::words::sources,
};

/// Seconds that a conversation may be silent, at most: −1 in the query.
const LONGEST_SILENCE: i64 = 14_400;
/// And at least.
const SHORTEST_SILENCE: i64 = 2;

/// A live socket's parameters.
#[derive(Clone, Debug)]
pub(crate) struct Asks {
    pub(crate) uid: UserId,
    pub(crate) language: Language,
    pub(crate) language_tag: String,
    /// Seconds of silence that end a conversation.
    pub(crate) silence: i32,
    pub(crate) format: Format,
    pub(crate) source: Source,
    pub(crate) device_id: Option<String>,
    pub(crate) platform: Option<String>,
    pub(crate) wanted_id: Option<ConversationId>,
    /// The client recognizes speech itself.
    pub(crate) client_stt: bool,
}

/// Reads the query of the socket. Unknown parameters do not matter.
pub(crate) fn asks(fields: &mut Fields<'_>, settings: &Settings) -> Option<Asks> {
    let uid = fields.required("uid", Text::label());
    let language_tag = fields.present("language", Text::label()).unwrap_or_else(|| "en".to_owned());
    let language = Language::parse(&language_tag).or_else(|| {
        fields.report.at("language", |report| report.rule("language must be a language tag, or multi"))
    });
    let silence = fields.present("conversation_timeout", Int::between(-1, LONGEST_SILENCE)).unwrap_or(120);
    let silence = match silence {
        -1 => Some(LONGEST_SILENCE),
        SHORTEST_SILENCE.. => Some(silence),
        _ => fields.report.at("conversation_timeout", |report| {
            report.rule("conversation_timeout must be -1, or 2 to 14400 seconds")
        }),
    };
    let codec = fields
        .present("codec", named("Codec", "How audio is encoded.", Choice::of(Codec::ALL)))
        .unwrap_or(Codec::Pcm8);
    let rate = fields.present("sample_rate", Int::between(1, i64::from(u32::MAX))).unwrap_or(8_000);
    let channels = fields.present("channels", Int::between(1, 2)).unwrap_or(1);
    let format = u32::try_from(rate).ok().zip(u8::try_from(channels).ok());
    let format = format.and_then(|(rate, channels)| match Format::new(codec, rate, channels) {
        Ok(format) => Some(format),
        Err(bad) => fields.report.at("sample_rate", |report| report.rule(&bad.to_string())),
    });
    let source = Source::new(fields.present("source", sources(settings)).unwrap_or("phone"));
    let device_id = fields.present("client_device_id", Text::label());
    let platform = fields.present("client_platform", Text::label());
    let wanted_id = fields.present("client_conversation_id", Text::label()).and_then(|text| {
        let Ok(id) = Uuid::parse_str(&text) else {
            return fields
                .report
                .at("client_conversation_id", |report| report.rule("client_conversation_id must be a UUID"));
        };
        // In the letters of the client, which asks for the conversation by them: Apple's are capital.
        let id = id.to_string();
        Some(ConversationId::new(if id.eq_ignore_ascii_case(&text) { text } else { id }))
    });
    let stt = Choice::of([("disabled", false), ("enabled", true)]);
    let stt = named("CustomSpeechRecognition", "Whether the client recognizes speech itself.", stt);
    let client_stt = fields.present("custom_stt", stt).unwrap_or(false);
    Some(Asks {
        uid: UserId::new(uid?),
        language: language?,
        language_tag,
        silence: i32::try_from(silence?).ok()?,
        format: format?,
        source,
        device_id,
        platform,
        wanted_id,
        client_stt,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use serde_json::json;

    use super::*;
    use crate::{
        Error,
        read::{Query, query},
    };

    fn read(pairs: &[(&str, &str)]) -> Result<Asks, Error> {
        query(&Query::sent(pairs), |fields| asks(fields, &Settings::default()))
    }

    #[test]
    fn live_query_parameters_have_the_documented_defaults() {
        let asks = read(&[("uid", "ann"), ("new_in_2027", "x")]).unwrap();
        assert_eq!((asks.silence, asks.language_tag.as_str(), asks.client_stt), (120, "en", false));
        assert_eq!(asks.format, Format::new(Codec::Pcm8, 8_000, 1).unwrap());
        assert_eq!(asks.source.as_str(), "phone");
        let longest = read(&[("uid", "ann"), ("conversation_timeout", "-1"), ("language", "multi")]).unwrap();
        assert_eq!((longest.silence, longest.language), (14_400, Language::Any));
    }

    #[test]
    fn live_conversation_is_found_by_the_id_that_its_client_gave() {
        let capital = "5A0A7B52-1D1C-4C1E-9D39-1D7A4A4F0001";
        let (small, braced) = (capital.to_ascii_lowercase(), format!("{{{capital}}}"));
        let small = small.as_str();
        for (sent, id) in [(capital, capital), (small, small), (braced.as_str(), small)] {
            let asks = read(&[("uid", "ann"), ("client_conversation_id", sent)]).unwrap();
            assert_eq!(asks.wanted_id, Some(ConversationId::new(id)));
        }
    }

    #[test]
    fn live_query_names_every_invalid_parameter() {
        let wrong = [
            ("language", "english"),
            ("conversation_timeout", "1"),
            ("codec", "mp3"),
            ("sample_rate", "8001"),
            ("channels", "3"),
            ("source", "moon"),
            ("client_conversation_id", "c1"),
            ("custom_stt", "yes"),
        ];
        let Err(Error::Invalid(problems)) = read(&wrong) else { unreachable!() };
        let named: Vec<_> = problems.iter().map(|problem| problem.shape()["loc"].clone()).collect();
        let expected = wrong.map(|(name, _)| json!(["query", name]));
        assert_eq!(named.len(), wrong.len() + 1, "{named:?}");
        assert_eq!(named[0], json!(["query", "uid"]));
        assert!(expected.iter().all(|name| named.contains(name)), "{named:?}");
    }
}
