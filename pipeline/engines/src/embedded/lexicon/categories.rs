//! What the 33 categories sound like. Words are matched by their stems.

use records::Category;

/// A category, its emoji and its words. Where scores are equal the earlier entry wins, so the narrower
/// subjects stand before the wide ones.
pub(in crate::embedded) const CATEGORIES: &[(Category, &str, &str)] = &[
    (
        Category::Health,
        "🩺",
        "doctor dentist hospital clinic nurse surgery pain symptom medicine medication pill tablet vaccine allergy allergic \
        therapy diagnosis prescription pharmacy blood pressure tooth teeth crown filling injury knee physio fever cough sleep diet health \
        patient insurance appointment treatment ward",
    ),
    (
        Category::Finance,
        "💰",
        "bank loan mortgage savings invest investment stock shares portfolio interest tax pension budget salary credit debit \
        account payment invoice accountant dividend currency refund expense debt",
    ),
    (
        Category::Legal,
        "⚖️",
        "lawyer attorney court judge lawsuit contract clause liability legal law settlement sue trial testimony copyright \
        patent trademark custody notary compliance",
    ),
    (
        Category::Technology,
        "💻",
        "software code deploy server database migration bug api cloud computer laptop phone app router firmware network \
        wifi internet script transaction index query release cluster backend frontend programming developer device update install \
        encryption password algorithm hardware kernel browser website staging latency scanner battery bluetooth sensor printer",
    ),
    (
        Category::Education,
        "📚",
        "school university college exam lecture lectures professor teacher student homework essay thesis class course degree \
        semester grade study studying tutor curriculum lesson revise resit campus scholarship",
    ),
    (
        Category::Science,
        "🔬",
        "experiment physics chemistry biology laboratory lab molecule hypothesis theory telescope planet atom genome evolution \
        species researcher scientist quantum microscope",
    ),
    (
        Category::Sports,
        "⚽",
        "match team coach goal goalkeeper league game player tournament training run marathon gym football soccer tennis \
        basketball score referee season jersey stadium championship swim cycling race workout",
    ),
    (
        Category::Music,
        "🎵",
        "guitar piano song album concert band musician violin drum melody chord singer sing playlist tune rehearsal orchestra \
        lyrics gig mic jazz opera vinyl",
    ),
    (
        Category::Travel,
        "✈️",
        "flight fly airport hotel passport visa trip travel train luggage suitcase beach tour itinerary vacation holiday \
        abroad hostel ticket cruise destination sightseeing museum border",
    ),
    (
        Category::Parenting,
        "👶",
        "baby toddler kid kids child children daycare nursery diaper bedtime parenting playground school teacher tantrum \
        babysitter stroller crib newborn",
    ),
    (
        Category::Romantic,
        "❤️",
        "date boyfriend girlfriend wedding engagement love romantic kiss anniversary valentine proposal crush relationship \
        marry honeymoon flirt",
    ),
    (
        Category::Real,
        "🏠",
        "house apartment flat landlord tenant rent lease mortgage property plumber leak sink renovation kitchen realtor viewing \
        estate garage roof keys agency deposit",
    ),
    (
        Category::Architecture,
        "🏛️",
        "architect architecture facade blueprint building floorplan skyscraper column arch brutalist concrete cathedral",
    ),
    (
        Category::Design,
        "🎨",
        "design logo layout typography font colour color palette mockup wireframe sketch illustration branding prototype \
        usability icon figma",
    ),
    (
        Category::Entrepreneurship,
        "🚀",
        "startup founder investor pitch venture seed equity cofounder incubator bootstrapped valuation runway traction",
    ),
    (
        Category::Economics,
        "📉",
        "inflation economy economic recession unemployment tariff trade monetary gdp supply demand macroeconomic subsidy",
    ),
    (
        Category::Politics,
        "🗳️",
        "election vote voter parliament senate president minister government democracy candidate ballot \
        congress mayor referendum",
    ),
    (
        Category::News,
        "📰",
        "news headline journalist newspaper reporter breaking coverage press broadcast article",
    ),
    (
        Category::Weather,
        "🌦️",
        "weather rain snow storm sunny cloudy temperature forecast wind humidity thunder hurricane heatwave frost",
    ),
    (
        Category::Environment,
        "🌱",
        "climate recycling carbon emission pollution solar renewable forest wildlife sustainable biodiversity plastic \
        compost conservation",
    ),
    (
        Category::Literature,
        "📖",
        "novel poem poetry author chapter bookshop paperback fiction literature writer plot character publisher sonnet memoir",
    ),
    (
        Category::History,
        "🏺",
        "history historical war empire century ancient medieval revolution king dynasty archive colonial treaty",
    ),
    (
        Category::Philosophy,
        "🤔",
        "philosophy ethics moral existence consciousness free metaphysics stoic kant plato meaning argument truth virtue",
    ),
    (
        Category::Spiritual,
        "🙏",
        "prayer church god faith meditation temple mosque bible soul spiritual worship buddhist sermon pilgrimage",
    ),
    (
        Category::Psychology,
        "🧠",
        "anxiety depression therapist therapy trauma emotion psychology behaviour behavior attachment cognitive stress \
        burnout mindfulness",
    ),
    (
        Category::Inspiration,
        "✨",
        "inspire inspiration motivation dream ambition courage gratitude mindset persevere purpose",
    ),
    (
        Category::Entertainment,
        "🎬",
        "movie film series episode netflix actor cinema theatre theater comedy show game gaming streaming podcast \
        celebrity trailer",
    ),
    (
        Category::Work,
        "💼",
        "meeting project deadline team manager colleague office client proposal report presentation review hiring interview \
        candidate roadmap sprint budget launch milestone task tender department onboarding shift rota contract position agenda stakeholder",
    ),
    (
        Category::Business,
        "📊",
        "customer client sales revenue market pricing price product strategy supplier partner deal contract proposal company \
        profit margin quarter cost vendor invoice marketing hosting warehouse manufacturer stock inventory depot shipment delivery wholesale retail subscription churn",
    ),
    (
        Category::Family,
        "👪",
        "mother father mom mum dad parents sister brother grandma grandmother grandpa grandfather aunt uncle cousin \
        family wife husband son daughter niece nephew kids",
    ),
    (
        Category::Social,
        "🥂",
        "party friend friends dinner drinks bar birthday invite barbecue gathering neighbour neighbor reunion club pub",
    ),
    (
        Category::Personal,
        "📝",
        "grocery groceries laundry clean shopping garden dog cat cake cleaning chores errand errands home cooking recipe \
        dinner car habit diary inspection wardrobe furniture tool glue receipt repair household appliance allotment",
    ),
    (Category::Other, "💬", ""),
];

/// The emoji of `category`.
pub(in crate::embedded) fn emoji_of(category: Category) -> &'static str {
    CATEGORIES.iter().find(|(known, ..)| *known == category).map_or("💬", |(_, emoji, _)| emoji)
}
