//! The request of one try: address and headers (Standard Webhooks).

use outbox::ClaimedDelivery;
use outside::{Url, sign};

/// Names and values of headers.
pub(super) type Headers = Vec<(String, String)>;

/// The URL with `?uid=` added, and the headers with the signature of this try.
///
/// # Errors
/// A bounded code, when the stored URL or secret is invalid: no later try can mend that.
pub(super) fn of(delivery: &ClaimedDelivery, body: &[u8]) -> Result<(Url, Headers), &'static str> {
    let mut url = Url::parse(&delivery.url).map_err(|_| "refused_address")?;
    url.query_pairs_mut().append_pair("uid", delivery.user_id.as_str());
    let timestamp = delivery.now.timestamp();
    let id = &delivery.delivery_id;
    let signatures = signatures(delivery, timestamp, body)?;
    let headers = [
        ("content-type", "application/json".to_owned()),
        ("user-agent", concat!("listen/", env!("CARGO_PKG_VERSION")).to_owned()),
        ("idempotency-key", id.clone()),
        ("webhook-id", id.clone()),
        ("webhook-timestamp", timestamp.to_string()),
        ("webhook-signature", signatures),
    ];
    Ok((url, headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()))
}

/// One signature per secret that is good at present: a receiver may still hold the one before.
fn signatures(delivery: &ClaimedDelivery, timestamp: i64, body: &[u8]) -> Result<String, &'static str> {
    let secrets = std::iter::once(&delivery.secret).chain(&delivery.previous_secret);
    let signed: Result<Vec<String>, _> =
        secrets.map(|secret| sign(secret, &delivery.delivery_id, timestamp, body)).collect();
    signed.map(|signed| signed.join(" ")).map_err(|_| "secret")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use chrono::DateTime;
    use records::UserId;
    use records::WebhookFormat;
    use secrecy::SecretString;

    use super::*;

    fn delivery(url: &str, secret: &str) -> ClaimedDelivery {
        let now = DateTime::from_timestamp(1_614_265_330, 0).unwrap();
        ClaimedDelivery {
            user_id: UserId::new("a b&c"),
            endpoint_id: "e1".to_owned(),
            delivery_id: "msg_p5jXN8AQM9LWM0D4loKWxJek".to_owned(),
            epoch: 1,
            try_number: 1,
            url: url.to_owned(),
            secret: SecretString::from(secret),
            previous_secret: None,
            for_app: false,
            format: WebhookFormat::Full,
            event: None,
            occurred_at: now,
            conversation_id: None,
            subject_id: None,
            body: None,
            now,
            trace: None,
        }
    }

    #[test]
    fn webhook_url_gets_the_user_added_to_its_query() {
        let delivery = delivery("https://example.com/hook?x=1", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let (url, _) = of(&delivery, b"{}").unwrap();
        assert_eq!(url.as_str(), "https://example.com/hook?x=1&uid=a+b%26c");
    }

    #[test]
    fn webhook_headers_follow_standard_webhooks() {
        let delivery = delivery("https://example.com/", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let (_, headers) = of(&delivery, br#"{"test": 2432232314}"#).unwrap();
        let value =
            |name: &str| headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str());
        assert_eq!(value("webhook-id"), Some("msg_p5jXN8AQM9LWM0D4loKWxJek"));
        assert_eq!(value("idempotency-key"), value("webhook-id"));
        assert_eq!(value("webhook-timestamp"), Some("1614265330"));
        // The example of the specification.
        assert_eq!(value("webhook-signature"), Some("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
    }

    #[test]
    fn webhook_is_signed_with_old_and_new_secret_during_rotation() {
        let old = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let mut delivery = delivery("https://example.com/", "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
        delivery.previous_secret = Some(SecretString::from(old));
        let (_, headers) = of(&delivery, br#"{"test": 2432232314}"#).unwrap();
        let (_, signatures) = headers.iter().find(|(name, _)| name == "webhook-signature").unwrap();
        let (new, previous) = signatures.split_once(' ').unwrap();
        assert!(new.starts_with("v1,"));
        assert_eq!(previous, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn webhook_that_cannot_be_signed_is_not_sent() {
        assert_eq!(of(&delivery("https://example.com/", "none"), b"{}").unwrap_err(), "secret");
        assert_eq!(
            of(&delivery("no url", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), b"{}").unwrap_err(),
            "refused_address"
        );
    }
}
