//! Where a conversation took place, as it is sent.

use records::Geolocation;

use crate::read::{Fields, Float, Named, Note, Object, Take, Text};

pub(super) const NOTES: &[Note] = &[
    ("latitude", "Degrees north.", ""),
    ("longitude", "Degrees east.", ""),
    ("address", "A postal address, when known.", ""),
    ("google_place_id", "The place's id at its provider, when known.", ""),
    ("location_type", "Such as `premise`, `street_address` or `approximate`.", ""),
];

/// A place in a body.
pub(super) fn geolocation_field() -> Named<impl Take<Out = Geolocation>> {
    Named { name: "NewGeolocation", words: "Where it happened.", notes: NOTES, take: Object(geolocation) }
}

/// Reads a `Geolocation`; the bounds are enforced before anything is stored (DECISIONS §1).
pub(super) fn geolocation(fields: &mut Fields<'_>) -> Option<Geolocation> {
    let latitude = fields.required("latitude", Float::between(-90.0, 90.0));
    let longitude = fields.required("longitude", Float::between(-180.0, 180.0));
    let address = fields.optional("address", Text::label());
    let google_place_id = fields.optional("google_place_id", Text::label());
    let location_type = fields.optional("location_type", Text::label());
    Some(Geolocation { latitude: latitude?, longitude: longitude?, address, google_place_id, location_type })
}
