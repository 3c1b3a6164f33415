//! Why a delivery is refused.

job::named! {
    /// Why a caller is refused, as `listen_oidc_refusals_total{reason}` names it.
    Refusal {
        /// No service account is configured.
        NotConfigured = "not_configured",
        /// There is no bearer token.
        Missing = "missing",
        /// It is longer than 8 KiB.
        TooLong = "too_long",
        /// It is no JWT with the claims of an identity token.
        Malformed = "malformed",
        /// It is not signed with RS256.
        Algorithm = "algorithm",
        /// The issuer has no such key.
        UnknownKey = "unknown_key",
        /// The signature is wrong.
        Signature = "signature",
        /// It has expired.
        Expired = "expired",
        /// It is not valid yet.
        NotYetValid = "not_yet_valid",
        /// Another issuer.
        Issuer = "issuer",
        /// Another audience.
        Audience = "audience",
        /// A good token of another identity: 403.
        Identity = "identity",
        /// A good token whose email address is not verified: 403.
        Unverified = "unverified",
        /// No key could be fetched yet: 503.
        NoKeys = "no_keys",
    }
}

impl Refusal {
    /// Whether the token is good and its owner may not deliver.
    pub const fn is_forbidden(self) -> bool {
        matches!(self, Self::Identity | Self::Unverified)
    }
}
