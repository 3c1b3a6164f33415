"""What JSON Schema cannot say of a request that is right, and what a run must not do to itself."""

import os

import schemathesis

OWN_KEY = os.environ.get("LISTEN_OWN_KEY_ID", "")


def _in_order(thing, first, second):
    """Two fields of one object of which the second may not come before the first."""
    one, other = thing.get(first), thing.get(second)
    if isinstance(one, (int, float, str)) and type(one) is type(other) and other < one:
        thing[first], thing[second] = other, one


def _seconds(segment):
    start, end = segment.get("start"), segment.get("end")
    if all(isinstance(moment, (int, float)) and not isinstance(moment, bool) for moment in (start, end)):
        if end < start:
            segment["end"] = start


@schemathesis.hook
def map_body(context, body):
    if isinstance(body, dict):
        for segment in body.get("transcript_segments") or []:
            if isinstance(segment, dict):
                _seconds(segment)
        # Of two times, written in any zone, one alone is always in order.
        if body.get("started_at") is not None and body.get("finished_at") is not None:
            body = {name: value for name, value in body.items() if name != "finished_at"}
        # Rules that are told in words: a name of a time zone, a URL that may be called.
        if isinstance(body.get("time_zone"), str) and body["time_zone"]:
            body = {**body, "time_zone": "Europe/Berlin"}
        for name in ("url", "endpoint"):
            if isinstance(body.get(name), str) and body[name]:
                body = {**body, name: "https://example.com/" + body["kind"] if isinstance(body.get("kind"), str) else "https://example.com/"}
    return body


@schemathesis.hook
def map_query(context, query):
    if isinstance(query, dict) and "start_date" in query and "end_date" in query:
        return {name: value for name, value in query.items() if name != "end_date"}
    return query


@schemathesis.hook
def filter_path_parameters(context, path_parameters):
    """A run that revokes its own key finds nothing but 401 from then on."""
    return not (OWN_KEY and path_parameters and path_parameters.get("key_id") == OWN_KEY)
