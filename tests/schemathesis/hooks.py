"""What JSON Schema cannot say of a request that is right, and what a run must not do to itself.

Only values that the schema takes already are replaced, so a request that was made wrong on purpose stays wrong.
"""

import os
import uuid

import schemathesis

OWN_KEY = os.environ.get("LISTEN_OWN_KEY_ID", "")
OWN_FOLDER = os.environ.get("LISTEN_OWN_FOLDER_ID", "")
URL = "https://example.com/hook"
# The receiver's keys of RFC 8291, appendix A.
KEYS = {
    "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
    "auth": "BTBZMqHH6r4Tts7J_aSIgg",
}


def is_text(value, longest):
    return isinstance(value, str) and 1 <= len(value) <= longest


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def names_no_value(body):
    return type(body).__name__ == "NotSet" or (isinstance(body, dict) and "current_value" not in body)


def mend_segment(segment):
    """A segment may not end before it begins."""
    if isinstance(segment, dict) and is_number(segment.get("start")) and is_number(segment.get("end")):
        segment["end"] = max(segment["start"], segment["end"])


def mend_moment(moment):
    """Segments may be three centuries long, and the conversation must lie within the years 1 to 9999 all the same."""
    year, rest = moment[:4], moment[4:]
    is_at_an_end = year.isdigit() and rest.startswith("-") and not 400 <= int(year) <= 9600
    return f"2000{rest}" if is_at_an_end else moment


def mend_end(moment):
    """A key that is made has not expired yet."""
    year, rest = moment[:4], moment[4:]
    return f"2096{rest}" if year.isdigit() and rest.startswith("-") and int(year) < 2096 else moment


def mend_beginning(moment):
    """What is recovered begins in the past."""
    year, rest = moment[:4], moment[4:]
    return f"2020{rest}" if year.isdigit() and rest.startswith("-") and int(year) > 2020 else moment


def mend(body):
    """The rules that the document tells in words."""
    for name in ("started_at", "finished_at"):
        if isinstance(body.get(name), str):
            body[name] = mend_moment(body[name])
    if isinstance(body.get("expires_at"), str):
        body["expires_at"] = mend_end(body["expires_at"])
    if isinstance(body.get("since"), str):
        body["since"] = mend_beginning(body["since"])
    segments = body.get("transcript_segments")
    for segment in segments if isinstance(segments, list) else []:
        mend_segment(segment)
    if isinstance(body.get("started_at"), str) and isinstance(body.get("finished_at"), str):
        body["finished_at"] = body["started_at"]
    for name in ("url", "endpoint"):
        if is_text(body.get(name), 2048):
            body[name] = URL
    # A folder that is not there is 404, and would be taken for a conversation that is not.
    if OWN_FOLDER and isinstance(body.get("folder_id"), str) and body["folder_id"]:
        body["folder_id"] = OWN_FOLDER
    if isinstance(body.get("time_zone"), str):
        body["time_zone"] = "Europe/Berlin"
    keys = body.get("keys")
    if isinstance(keys, dict) and is_text(keys.get("p256dh"), 200) and is_text(keys.get("auth"), 200):
        keys.update(KEYS)


def mend_goal(body):
    """What a goal's numbers may be hangs on its type and on each other, also on those that are stored: no goal becomes
    boolean here (the tests of the crate look at these), and every scale has 0 in it."""
    if body.get("goal_type") == "boolean":
        body["goal_type"] = "scale"
    for name, sign in (("min_value", -1), ("max_value", 1)):
        if is_number(body.get(name)):
            body[name] = sign * abs(body[name])


def leaves_out_the_key(case):
    data = case.meta.phase.data if case.meta else None
    return str(getattr(data, "parameter", None)).lower() == "authorization"


@schemathesis.hook
def before_call(context, case, kwargs):
    if isinstance(case.body, dict):
        mend(case.body)
        if "/goals" in case.path:
            mend_goal(case.body)
    if case.query and isinstance(case.query.get("start_date"), str) and isinstance(case.query.get("end_date"), str):
        case.query["end_date"] = case.query["start_date"]
    # A cursor is one that a `Link` gave; made-up ones are refused, which the tests of the crate look at.
    if case.query and isinstance(case.query.get("cursor"), str):
        case.query = {name: value for name, value in case.query.items() if name != "cursor"}
    # Progress is in the query or in the body: with a body that does not name it, or none, it is in the query.
    if case.path.endswith("/progress") and "current_value" not in (case.query or {}) and names_no_value(case.body):
        case.query = {**(case.query or {}), "current_value": 1}
    # A name that was used with another body is refused: every request gets one of its own. (The case that leaves out
    # the key of the caller must stay as it is: a change of its headers would bring the key back.)
    name = (case.headers or {}).get("Idempotency-Key")
    if not leaves_out_the_key(case) and is_text(name, 255) and all(33 <= ord(letter) <= 126 for letter in name):
        case.headers["Idempotency-Key"] = str(uuid.uuid4())
    # A run that revokes its own key finds nothing but 401 from then on.
    if OWN_KEY and (case.path_parameters or {}).get("key_id") == OWN_KEY:
        case.path_parameters["key_id"] = str(uuid.uuid4())
