//! Against the examples of the RFCs, and against the other side of the encryption.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot set itself up must fail")]

use web_push_native::decrypt;
use web_push_native::p256::SecretKey;
use web_push_native::p256::ecdsa::{VerifyingKey, signature::Verifier};

use super::*;

/// The user agent of RFC 8291, appendix A.
const P256DH: &str =
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
const PRIVATE: &str = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94";
const AUTH: &str = "BTBZMqHH6r4Tts7J_aSIgg";
/// The application server of the same example, here as the one who signs.
const OURS: &str = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw";
const OUR_PUBLIC: &str =
    "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8";

fn vapid() -> Vapid {
    Vapid::new(&SecretString::from(OURS), "mailto:ops@example.com").unwrap()
}

fn message(words: &[u8]) -> (Vec<(String, String)>, Vec<u8>) {
    let endpoint = Url::parse("https://push.example.net:8443/p/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV").unwrap();
    let keys = BrowserKeys::new(P256DH, AUTH).unwrap();
    let now = DateTime::from_timestamp(1_453_480_768, 0).unwrap();
    web_push(&vapid(), &keys, &endpoint, words, 3_600, "dentist", now).unwrap()
}

fn header<'a>(headers: &'a [(String, String)], name: &str) -> &'a str {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str()).unwrap()
}

#[test]
fn web_push_message_decrypts_in_the_browser() {
    let (headers, body) = message(b"When I grow up, I want to be a watermelon");
    let browser = SecretKey::from_slice(&decode(PRIVATE).unwrap()).unwrap();
    let auth = Auth::from(<[u8; 16]>::try_from(decode(AUTH).unwrap()).unwrap());
    assert_eq!(decrypt(body, &browser, &auth).unwrap(), b"When I grow up, I want to be a watermelon");
    assert_eq!(header(&headers, "content-encoding"), "aes128gcm");
    assert_eq!((header(&headers, "ttl"), header(&headers, "topic")), ("3600", "dentist"));
}

/// The message of RFC 8291, appendix A, as its author encrypted it: the crate's arithmetic is the RFC's.
#[test]
fn web_push_rfc_example_decrypts() {
    let body = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8w\
                EqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN";
    let browser = SecretKey::from_slice(&decode(PRIVATE).unwrap()).unwrap();
    let auth = Auth::from(<[u8; 16]>::try_from(decode(AUTH).unwrap()).unwrap());
    let words = decrypt(decode(body).unwrap(), &browser, &auth).unwrap();
    assert_eq!(words, b"When I grow up, I want to be a watermelon");
}

#[test]
fn web_push_encryption_is_randomized() {
    assert_ne!(message(b"once").1, message(b"once").1);
}

#[test]
fn web_push_vapid_token_names_the_push_service_for_half_a_day() {
    let (headers, _) = message(b"");
    let value = header(&headers, "authorization");
    let (token, key) = value.strip_prefix("vapid t=").unwrap().split_once(", k=").unwrap();
    assert_eq!((key, vapid().public_key()), (OUR_PUBLIC, OUR_PUBLIC));
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let (head, claims) = signed.split_once('.').unwrap();
    let read = |part| serde_json::from_slice::<serde_json::Value>(&decode(part).unwrap()).unwrap();
    assert_eq!(read(head), serde_json::json!({ "typ": "JWT", "alg": "ES256" }));
    let expected = serde_json::json!({
        "aud": "https://push.example.net:8443", "exp": 1_453_480_768 + 43_200, "sub": "mailto:ops@example.com",
    });
    assert_eq!(read(claims), expected);
    let key = VerifyingKey::from_sec1_bytes(&decode(key).unwrap()).unwrap();
    let signature = Signature::from_slice(&decode(signature).unwrap()).unwrap();
    key.verify(signed.as_bytes(), &signature).unwrap();
}

#[test]
fn web_push_invalid_keys_are_refused() {
    assert!(BrowserKeys::new(&format!("{P256DH}="), &format!("{AUTH}==")).is_ok(), "padding does not matter");
    let off_the_curve = URL_SAFE_NO_PAD.encode([[4; 1].as_slice(), &[1; 64]].concat());
    for (p256dh, auth) in
        [("", AUTH), ("!", AUTH), (&off_the_curve, AUTH), (P256DH, "c2hvcnQ"), (AUTH, P256DH)]
    {
        assert_eq!(BrowserKeys::new(p256dh, auth).err(), Some(BadKeys), "{p256dh} {auth}");
    }
    let zero = URL_SAFE_NO_PAD.encode([0; 32]);
    for private in ["", "secret", zero.as_str(), AUTH] {
        let made = Vapid::new(&SecretString::from(private), "mailto:ops@example.com");
        assert_eq!(made.err(), Some(BadVapid::Key), "{private}");
    }
    let made = Vapid::new(&SecretString::from(OURS), "ops@example.com");
    assert_eq!(made.err(), Some(BadVapid::Subject));
}

#[test]
fn web_push_key_is_hidden_in_debug() {
    assert!(!format!("{:?}", vapid()).contains(OURS));
}
