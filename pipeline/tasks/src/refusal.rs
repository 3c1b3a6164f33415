//! Why a delivery is refused.

/// Why a caller is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No service account is configured.
    NotConfigured,
    /// There is no bearer token.
    Missing,
    /// It is longer than 8 KiB.
    TooLong,
    /// It is no JWT with the claims of an identity token.
    Malformed,
    /// It is not signed with RS256.
    Algorithm,
    /// The issuer has no such key.
    UnknownKey,
    /// The signature is wrong.
    Signature,
    /// It has expired.
    Expired,
    /// It is not valid yet.
    NotYetValid,
    /// Another issuer.
    Issuer,
    /// Another audience.
    Audience,
    /// A good token of another identity: 403.
    Identity,
    /// A good token whose email address is not verified: 403.
    Unverified,
    /// No key could be fetched yet: 503.
    NoKeys,
}

/// Every reason.
pub const REFUSALS: [Refusal; 14] = [
    Refusal::NotConfigured,
    Refusal::Missing,
    Refusal::TooLong,
    Refusal::Malformed,
    Refusal::Algorithm,
    Refusal::UnknownKey,
    Refusal::Signature,
    Refusal::Expired,
    Refusal::NotYetValid,
    Refusal::Issuer,
    Refusal::Audience,
    Refusal::Identity,
    Refusal::Unverified,
    Refusal::NoKeys,
];

impl Refusal {
    /// The name in `listen_oidc_refusals_total{reason}`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotConfigured => "not_configured",
            Self::Missing => "missing",
            Self::TooLong => "too_long",
            Self::Malformed => "malformed",
            Self::Algorithm => "algorithm",
            Self::UnknownKey => "unknown_key",
            Self::Signature => "signature",
            Self::Expired => "expired",
            Self::NotYetValid => "not_yet_valid",
            Self::Issuer => "issuer",
            Self::Audience => "audience",
            Self::Identity => "identity",
            Self::Unverified => "unverified",
            Self::NoKeys => "no_keys",
        }
    }

    /// Whether the token is good and its owner may not deliver.
    pub const fn is_forbidden(self) -> bool {
        matches!(self, Self::Identity | Self::Unverified)
    }
}
