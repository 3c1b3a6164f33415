"""What is sent: for every field of every body a probe of each kind of value, whole bodies that are no objects, broken
JSON, and bodies with several faults at once. Deterministic: the same cases in the same order each time."""

import json
from typing import Any, Iterator
from urllib.parse import quote

from models import BODIES, P, QUERIES

JSON = "application/json"
ITEM = {"description": "Call the dentist", "completed": False, "due_at": "2026-11-21T09:00:00+01:00"}
SEGMENT = {"text": "Hello there", "start": 0, "end": 1.5}
MEMORY = {"content": "Likes tea", "category": "core", "visibility": "private", "tags": ["tea"]}

#: A body that is right, with every field, for each route.
GOOD: dict[tuple[str, str], dict[str, Any]] = {
    ("POST", f"{P}/conversations"): {
        "text": "I need to call the dentist by Friday.", "text_source": "message", "text_source_spec": "email",
        "started_at": "2026-01-01T10:00:00Z", "finished_at": "2026-01-01T10:05:00Z", "language": "en",
        "geolocation": {"latitude": 52.5, "longitude": 13.4, "address": "Here"},
    },
    ("POST", f"{P}/conversations/from-segments"): {
        "transcript_segments": [SEGMENT], "source": "phone", "started_at": 1_767_261_600,
        "finished_at": "2026-01-01T10:05:00Z", "language": "en", "geolocation": {"latitude": 1, "longitude": 2},
        "client_session_id": "s", "client_device_id": "ios_1", "client_platform": "ios", "defer_processing": True,
    },
    ("PATCH", f"{P}/conversations/x"): {"title": "T", "discarded": False, "starred": True, "folder_id": None},
    ("POST", f"{P}/conversations/x/segments"): {"transcript_segments": [SEGMENT]},
    ("POST", "/v1/conversations/x/finalize"): {"calendar_meeting_context": {
        "title": "Stand-up", "start_time": "2026-01-01T10:00:00Z", "duration_minutes": 15, "platform": "x",
        "participants": [{"name": "Ada", "email": "ada@example.com"}], "notes": "n", "meeting_link": "l",
    }},
    ("POST", f"{P}/action-items"): ITEM,
    ("POST", f"{P}/action-items/batch"): {"action_items": [ITEM]},
    ("PATCH", f"{P}/action-items/x"): ITEM,
    ("POST", f"{P}/memories"): MEMORY,
    ("POST", f"{P}/memories/batch"): {"memories": [MEMORY]},
    ("PATCH", f"{P}/memories/x"): MEMORY,
    ("POST", f"{P}/goals"): {
        "title": "Read", "goal_type": "scale", "target_value": 10, "current_value": 1, "min_value": 0,
        "max_value": 10, "unit": "books",
    },
    ("PATCH", f"{P}/goals/x"): {
        "title": "Read", "goal_type": "numeric", "target_value": 10, "min_value": 0, "max_value": 10, "unit": None,
        "is_active": True,
    },
    ("PATCH", "/v1/users/me"): {
        "name": "Ann", "time_zone": "Europe/Berlin", "language": "en", "requires_byok": False, "apps": ["minutes"],
    },
    ("POST", "/v1/users/me/people"): {"name": "Tom"},
    ("POST", f"{P}/webhooks/x/recover"): {"since": "2026-01-01T00:00:00Z"},
    ("POST", f"{P}/webhooks"): {
        "url": "https://example.com/hook", "events": ["conversation.completed"], "format": "thin",
    },
    ("PATCH", f"{P}/webhooks/x"): {"events": ["conversation.failed"], "format": "full", "enabled": True},
    ("POST", "/v1/dev/keys"): {"name": "k", "scopes": ["goals:read"], "expires_at": "2036-01-01"},
}

ANY = [None, True, 5, 0.5, "", "nonsense", [], {}]
TEXTS = [None, 1, 1.5, True, [], {}, "", "x" * 128, "x" * 129, "x" * 201, "🧠" * 500, "🧠" * 501, " ", "e\u0301"]
BOOLEANS = [
    None, 0, 1, 2, -1, 0.0, 1.0, 0.5, "", "TRUE", "true", "t", "Yes", "y", "on", "1", "0", "off", "F", "no", "N",
    " true", "maybe", [], {},
]
INTEGERS = [
    None, True, 5, 5.0, 1.5, -1, 0, 2**31 - 1, 2**31, 10**20, "5", "5.0", " 5 ", "+5", "-5", "1_000", "5.5", "1e3",
    "0x10", "", "_1", "1__0", "5.", ".5", "５", [], {},
]
NUMBERS = [
    None, True, 1, 1.5, -90, 90, 90.5, -90.5, 180.25, -181, 1e10, 1e11, 1e300, -1, "1.5", "1e3", " 1 ", ".5", "5.",
    "1_000", "1__0", " 1_0", "nan", "inf", "-inf", "Infinity", "", "x", "0x10", "+5", "--5", [], {},
]
MOMENTS = [
    None, True, 0, 1_704_164_645, 1_704_164_645_000, 1_704_164_645.5, -1, 10**17, "2024-01-02T03:04:05Z",
    "2024-01-02t03:04:05.123456789+01:00", "2024-01-02 03:04", "2024-01-02_03:04:05-0130", "2024-01-02",
    "1704164645", "1704164645.25", "2024-01-02T03:04:05+0100", "", "yesterday, noon", "2024-13-01T00:00:00Z",
    "2024-02-30", "2024-02-30T00:00:00Z", "2024/01/01", "2024-01-01T25:00:00Z", "2024-01-01T10", "20240101T000000Z",
    "2024-01-01T10:00:60Z", "2024-01-01T10:00:00+24:00", "2024-1-1", "2024-01-02T", "2024-01-02T03:04:05Zx",
    " 2024-01-02", "2024-01-02 ", "0000-01-01T00:00:00Z", "99999999999999999", "9999-12-31T23:59:59Z", [], {},
]
PROBES: dict[str, list[Any]] = {
    "text": TEXTS, "title": TEXTS, "description": TEXTS, "content": TEXTS, "client_session_id": TEXTS, "unit": TEXTS,
    "discarded": BOOLEANS, "completed": BOOLEANS, "defer_processing": [None, "no", 3],
    "started_at": MOMENTS, "due_at": MOMENTS, "expires_at": ["never", "2030-01-01", 1e10],
    "target_value": NUMBERS, "source": ["omi", "phone_call", "PHONE", "radio", "", 1, None],
    "text_source": ["other_text", "tweet", "", None, 1], "goal_type": ["boolean", "colour"],
    "category": ["skills", "sport", "", None], "visibility": ["public", "friends", None],
    "tags": [None, [], ["a", 1, None], "a", [""], ["a"] * 101], "name": TEXTS,
    "apps": [["decisions", "x"], ["minutes"] * 4, []], "time_zone": ["", "Mars/Base", 1, None], "since": MOMENTS, "format": ["full", "fat"],
    "events": [[], ["conversation.completed", "x", 1], ["memory.created"] * 6],
    "scopes": [[], ["goals:read", "fly"], ["goals:read"] * 101],
}

BROKEN = [
    "", " ", "null", "[]", "5", '"text"', "true", "{", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,}", "{a:1}", "[1,]",
    "nul", "{} {}", "{\"text\":\"a\nb\"}", "{\"text\":\"\\x\"}", "{\"text\":\"\\u12\"}", "{\"é\":\"日",
    "\ufeff{\"text\":\"mark\"}", "{\"text\":1,\"text\":\"last\"}", "{'text':'x'}", "01", "1.", "-", "{\"text\":NaN}",
    "{\"text\":\"ok\",\"geolocation\":{\"latitude\":NaN,\"longitude\":1e999}}",
    "{\"text\":\"ok\",\"geolocation\":{\"latitude\":Infinity,\"longitude\":-Infinity}}",
    "{\"text\":\"ok\",\"unknown\":[1,{\"x\":null}]}",
    "{\"text\":\"ok\",\"unknown\":[1e400,{\"x\":-1e999}]}", "{\"text\":\"ok\",\"unknown\":NaN,\"x\":-Infinity}",
    "{\"text\":\"ok\",\"unknown\":\"half \\ud83d\",\"\\udc00\":1}", "{\"text\":1e400,\"text\":\"last\"}",
    "{\"text\":\"ok\",\"unknown\":" + "9" * 4_300 + "}", "{\"text\":\"ok\",\"unknown\":-" + "9" * 4_301 + "}",
    "{\"text\":\"ok\",\"unknown\":" + "9" * 400 + "}", "{\"text\":1e400,}", "{\"text\":\"\\ud83d\",\"x\":nul}",
    "{\"text\":\"ok\",\"unknown\":" + "[" * 900 + "]" * 900 + "}", "[" * 2_000, "{\"x\":" * 2_000 + "1" + "}" * 2_000,
]


def of_body(name: str, method: str, path: str, body: Any) -> dict[str, Any]:
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    return {"name": name, "method": method, "path": path, "content_type": JSON, "body": text}


def cases() -> Iterator[dict[str, Any]]:
    for method, path, _, _ in BODIES:
        good = GOOD[method, path]
        here = f"{method} {path}"
        yield of_body(f"{here}: all fields", method, path, good)
        for field in good:
            for value in PROBES.get(field, ANY):
                yield of_body(f"{here}: {field}", method, path, {**good, field: value})
            yield of_body(f"{here}: no {field}", method, path, {k: v for k, v in good.items() if k != field})
        yield of_body(f"{here}: empty object", method, path, {})
        yield of_body(f"{here}: all fields wrong", method, path, {field: {"x": 1} for field in good})
        yield of_body(f"{here}: null", method, path, "null")
        yield of_body(f"{here}: list", method, path, "[]")
    yield from nested()
    text = ("POST", f"{P}/conversations")
    for index, broken in enumerate(BROKEN):
        yield of_body(f"broken JSON {index}", *text, broken)
    for kind in ["application/json; charset=utf-8", "application/vnd.api+json", "Application/JSON", "text/plain", ""]:
        yield {**of_body(f"content type {kind!r}", *text, {"text": "hello"}), "content_type": kind}
    raw = b'{"text":"\xff"}'
    yield {"name": "not UTF-8", "method": text[0], "path": text[1], "content_type": JSON, "hex": raw.hex()}
    yield from queries()


def nested() -> Iterator[dict[str, Any]]:
    path = f"{P}/conversations/from-segments"
    for field, probes in [
        ("text", [None, 1, "", " ", "x"]), ("start", NUMBERS), ("end", NUMBERS), ("speaker", [None, 1, "Ann"]),
        ("speaker_id", INTEGERS), ("is_user", [None, "yes", 2]), ("person_id", [None, 1]), ("id", [None, "", "x" * 129]),
    ]:
        for value in probes:
            yield of_body(f"segment {field}", "POST", path, {"transcript_segments": [SEGMENT, {**SEGMENT, field: value}]})
    for value in [None, {}, [], [{}], [1], [SEGMENT] * 501, [SEGMENT, {**SEGMENT, "start": 3}], [{**SEGMENT, "end": ""}, 4]]:
        yield of_body("segments", "POST", path, {"transcript_segments": value})
    text = f"{P}/conversations"
    for field in ["latitude", "longitude"]:
        for value in NUMBERS:
            place = {"latitude": 1, "longitude": 2, field: value}
            yield of_body(f"geolocation {field}", "POST", text, {"text": "here", "geolocation": place})
    for value in [None, {}, [], "x", {"latitude": 1}]:
        yield of_body("geolocation", "POST", text, {"text": "here", "geolocation": value})
    late = {"text": "x", "started_at": "2026-01-02", "finished_at": "2026-01-01"}
    yield of_body("ends before it begins", "POST", text, late)
    yield of_body("ends before it begins, and more", "POST", text, {**late, "text": ""})
    late = {**late, "transcript_segments": [SEGMENT]}
    yield of_body("ends before it begins, and a later field is wrong", "POST", path, {**late, "client_platform": 5})
    meeting = {"duration_minutes": "x", "participants": [{"name": 1}, 2, {}], "start_time": ""}
    long = {name: "é" * 2_049 for name in ["title", "platform", "meeting_link"]}
    long = {"calendar_meeting_context": {**long, "notes": "n" * 100_001, "participants": [{"name": "é" * 501, "email": "e" * 501}]}}
    yield of_body("long meeting", "POST", "/v1/conversations/x/finalize", long)
    yield of_body("meeting", "POST", "/v1/conversations/x/finalize", {"calendar_meeting_context": meeting})
    boolean = {"title": "Vote", "goal_type": "boolean", "target_value": 1}
    for change in [
        {}, {"target_value": 0}, {"target_value": True}, {"target_value": 2, "unit": 5}, {"current_value": 0.5},
        {"current_value": 1, "min_value": 0, "max_value": 10}, {"max_value": 7}, {"min_value": 1, "max_value": None},
        {"target_value": -1, "current_value": 3, "min_value": 4, "max_value": 2}, {"goal_type": None, "target_value": 9},
    ]:
        yield of_body("boolean goal", "POST", f"{P}/goals", {**boolean, **change})
        yield of_body("boolean goal", "PATCH", f"{P}/goals/x", {**boolean, **change})
    for ends in [(1, 1), (2, 1), (-1, -2), (2, "1"), (11, 10.5), (2, None), (None, 3), ("x", 1)]:
        body = {"title": "Run", "target_value": 123, "min_value": ends[0], "max_value": ends[1]}
        yield of_body("ends of a goal", "POST", f"{P}/goals", body)
        yield of_body("ends of a goal", "PATCH", f"{P}/goals/x", body)
    yield of_body("51 items", "POST", f"{P}/action-items/batch", {"action_items": [ITEM] * 51})
    yield of_body("no items", "POST", f"{P}/action-items/batch", {"action_items": []})
    yield of_body("bad items", "POST", f"{P}/action-items/batch", {"action_items": [ITEM, {}, 1, {"description": ""}]})
    yield of_body("26 memories", "POST", f"{P}/memories/batch", {"memories": [MEMORY] * 26})


def queries() -> Iterator[dict[str, Any]]:
    words = {
        "days": ["0", "1", "365", "366", "x"], "limit": ["", "0", "1", "100", "101", "1000", "1001", "5.0", "5.5", " 5 ", "+5", "x", "99999999999999999999"],
        "offset": ["", "-1", "0", "7", "x"], "include_transcript": ["", "1", "yes", "2", "maybe"],
        "starred": ["false", "", "null"], "completed": ["true", "", "x"], "folder_id": ["", "f"],
        "start_date": ["2026-01-01", "", "1704164645", "soon", "2026-01-01T00:00:00+01:00"],
        "end_date": ["2026-01-01", "2026-13-01"],
    }
    for path, model in QUERIES:
        for field in model.model_fields:
            for word in words.get(field, []):
                yield {"name": f"GET {path}: {field}", "method": "GET", "path": f"{path}?{field}={quote(word)}"}
        for query in ["limit=0&offset=-1&start_date=x", "limit=5&limit=x", "unknown=1", "end_date=2026-01-01&start_date=2026-01-02"]:
            yield {"name": f"GET {path}: several", "method": "GET", "path": f"{path}?{query}"}
