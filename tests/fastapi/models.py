"""The requests of the developer interface as FastAPI with pydantic 2 would have them.

Written from the documents and not from the Rust code: what this file and the service's reader disagree about is a
fault of one of them. Rules of our own (blank text, order of times, the empty PATCH) are validators that raise
`ValueError`, as a service written with FastAPI would do it.
"""

from datetime import datetime
from enum import Enum
from typing import Annotated, Any
from zoneinfo import available_timezones

from fastapi import Body, FastAPI, Query
from pydantic import AwareDatetime, BaseModel, Field, field_validator, model_validator


def closed(name: str, values: str) -> type[Enum]:
    return Enum(name, {value: value for value in values.split()}, type=str)


Source = closed(
    "Source",
    "phone phone_call desktop workflow sdcard external_integration onboarding unknown friend omi fieldy bee plaud "
    "frame friend_com apple_watch openglass screenpipe limitless rayban_meta",
)
TextSource = closed("TextSource", "audio_transcript message other_text")
MemoryCategory = closed("MemoryCategory", "core hobbies lifestyle interests habits work skills learnings other system")
Visibility = closed("Visibility", "public private")
GoalType = closed("GoalType", "boolean scale numeric")
Event = closed(
    "Event",
    "conversation.completed conversation.failed conversation.discarded action_item.created memory.created",
)
App = closed("App", "minutes decisions questions")
Format = closed("Format", "full thin")
Scope = closed(
    "Scope",
    "conversations:read conversations:write action_items:read action_items:write memories:read memories:write "
    "goals:read goals:write folders:read webhooks:read webhooks:write keys:read keys:write profile:read profile:write apps:read apps:write chat:read chat:write",
)

Number = Annotated[float, Field(allow_inf_nan=False)]
Tags = Annotated[list[Annotated[str, Field(min_length=1, max_length=100)]], Field(max_length=100)]
Label = Annotated[str, Field(max_length=500)]
Language = Annotated[str, Field(min_length=1, max_length=35)]
Title = Annotated[str, Field(min_length=1, max_length=500)]


def not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("text must not be blank")
    return text


class Change(BaseModel):
    """A PATCH: at least one of its fields."""

    @model_validator(mode="after")
    def some_field(self):
        if not self.model_fields_set:
            raise ValueError("at least one field must be provided")
        return self


class Geolocation(BaseModel):
    latitude: Annotated[float, Field(ge=-90, le=90, allow_inf_nan=False)]
    longitude: Annotated[float, Field(ge=-180, le=180, allow_inf_nan=False)]
    address: Label | None = None
    google_place_id: Label | None = None
    location_type: Label | None = None


class InOrder(BaseModel):
    @model_validator(mode="after")
    def in_order(self):
        if self.started_at and self.finished_at and self.finished_at < self.started_at:
            raise ValueError("finished_at must not be before started_at")
        return self


class FromText(InOrder):
    text: Annotated[str, Field(min_length=1, max_length=100_000)]
    text_source: TextSource = TextSource.other_text
    text_source_spec: Label | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    language: Language | None = "en"
    geolocation: Geolocation | None = None

    _not_blank = field_validator("text")(not_blank)


class Segment(BaseModel):
    text: str
    start: Annotated[float, Field(ge=0, le=1e10, allow_inf_nan=False)]
    end: Annotated[float, Field(le=1e10, allow_inf_nan=False)]
    speaker: Label | None = "SPEAKER_00"
    speaker_id: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    is_user: bool = False
    person_id: Label | None = None
    id: Annotated[str, Field(min_length=1, max_length=128)] | None = None

    _not_blank = field_validator("text")(not_blank)

    @model_validator(mode="after")
    def in_order(self):
        if self.end < self.start:
            raise ValueError("end must not be before start")
        return self


class Segments(BaseModel):
    transcript_segments: Annotated[list[Segment], Field(min_length=1, max_length=500)]


class FromSegments(InOrder):
    transcript_segments: Annotated[list[Segment], Field(min_length=1, max_length=500)]
    source: Source | None = Source.phone
    started_at: datetime | None = None
    finished_at: datetime | None = None
    language: Language | None = "en"
    geolocation: Geolocation | None = None
    client_session_id: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    client_device_id: Label | None = None
    client_platform: Label | None = None
    defer_processing: bool | None = False


class ConversationChange(Change):
    title: Title = None
    discarded: bool = None
    starred: bool = None
    folder_id: Annotated[str, Field(min_length=1)] | None = None


class Participant(BaseModel):
    name: Label | None = None
    email: Label | None = None


class Meeting(BaseModel):
    title: Label | None = None
    start_time: datetime | None = None
    duration_minutes: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    platform: Label | None = None
    participants: Annotated[list[Participant], Field(max_length=1000)] | None = None
    notes: Annotated[str, Field(max_length=100_000)] | None = None
    meeting_link: Annotated[str, Field(max_length=2048)] | None = None


class Finalize(BaseModel):
    calendar_meeting_context: Meeting | None = None


class ActionItem(BaseModel):
    description: Title
    completed: bool = False
    due_at: AwareDatetime | None = None


class ActionItems(BaseModel):
    action_items: Annotated[list[ActionItem], Field(min_length=1, max_length=50)]


class ActionItemChange(Change):
    description: Title = None
    completed: bool = None
    due_at: AwareDatetime | None = None


class Memory(BaseModel):
    content: Title
    category: MemoryCategory | None = None
    visibility: Visibility | None = None
    tags: Tags | None = None


class Memories(BaseModel):
    memories: Annotated[list[Memory], Field(min_length=1, max_length=25)]


class MemoryChange(Change):
    content: Title = None
    category: MemoryCategory = None
    visibility: Visibility = None
    tags: Tags = None


class Numbers(BaseModel):
    """A boolean goal uses 0 and 1, and no scale ends before it begins."""

    @field_validator("target_value", "current_value", check_fields=False)
    def zero_or_one(cls, number, info):
        if is_boolean(info) and number not in (None, 0, 1):
            raise ValueError(f"{info.field_name} of a boolean goal must be 0 or 1")
        return number

    @field_validator("min_value", check_fields=False)
    def zero(cls, number, info):
        if is_boolean(info) and number not in (None, 0):
            raise ValueError("min_value of a boolean goal must be 0")
        return number

    @field_validator("max_value", check_fields=False)
    def one(cls, number, info):
        # Clients that are generated from a document with a default send it along with every goal.
        if is_boolean(info) and number not in (None, 1, cls.model_fields["max_value"].default):
            raise ValueError("max_value of a boolean goal must be 1")
        return number

    @model_validator(mode="after")
    def ends_in_order(self):
        low, high = self.min_value, self.max_value
        if low is not None and high is not None and low > high:
            raise ValueError("min_value must not exceed max_value")
        return self


def is_boolean(info):
    return info.data.get("goal_type") == GoalType.boolean


class Goal(Numbers):
    title: Title
    goal_type: GoalType | None = GoalType.scale
    target_value: Number
    current_value: Number | None = 0
    min_value: Number | None = 0
    max_value: Number | None = 10
    unit: Annotated[str, Field(max_length=100)] | None = None


class GoalChange(Numbers, Change):
    title: Title = None
    goal_type: GoalType = None
    target_value: Number = None
    min_value: Number = None
    max_value: Number = None
    unit: Annotated[str, Field(max_length=100)] | None = None
    is_active: bool = None


class ProfileChange(Change):
    name: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    time_zone: str = None
    language: Language = None
    requires_byok: bool = None
    apps: Annotated[list[App], Field(max_length=3)] = None

    @field_validator("time_zone")
    def known(cls, name):
        if name not in available_timezones():
            raise ValueError("time_zone must be the name of an IANA time zone, such as Europe/Berlin")
        return name


class Person(BaseModel):
    name: Annotated[str, Field(min_length=1, max_length=100)]

    @field_validator("name")
    def not_blank(cls, name):
        if not name.strip():
            raise ValueError("name must not be blank")
        return name


class Recovery(BaseModel):
    since: datetime


class Webhook(BaseModel):
    url: Annotated[str, Field(min_length=1, max_length=2048)]
    events: Annotated[list[Event], Field(min_length=1, max_length=5)] | None = None
    format: Format | None = None

    @field_validator("url")
    def may_be_called(cls, url):
        if not url.startswith("https://"):
            raise ValueError("url must be an https URL of a public address, without user and password")
        return url


class WebhookChange(Change):
    events: Annotated[list[Event], Field(min_length=1, max_length=5)] = None
    format: Format = None
    enabled: bool = None


class Key(BaseModel):
    name: Annotated[str, Field(min_length=1, max_length=100)]
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=100)] | None = None
    expires_at: datetime | None = None


def dates_in_order(end: datetime, info) -> datetime:
    start = info.data.get("start_date")
    if start and end < start:
        raise ValueError("end_date is before start_date")
    return end


class ConversationsQuery(BaseModel):
    limit: Annotated[int, Field(ge=1, le=100)] = 25
    offset: Annotated[int, Field(ge=0)] = 0
    start_date: datetime = None
    end_date: datetime = None
    include_transcript: bool = False
    folder_id: Annotated[str, Field(min_length=1)] = None
    starred: bool = None

    _in_order = field_validator("end_date")(dates_in_order)


class ItemsQuery(BaseModel):
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    offset: Annotated[int, Field(ge=0)] = 0
    completed: bool = None
    conversation_id: str = None
    start_date: datetime = None
    end_date: datetime = None

    _in_order = field_validator("end_date")(dates_in_order)


class HistoryQuery(BaseModel):
    days: Annotated[int, Field(ge=1, le=365)] = 30


P = "/v1/dev/user"

#: What takes which body: (method, path, model, whether the body may be absent).
BODIES: list[tuple[str, str, type[BaseModel], bool]] = [
    ("POST", f"{P}/conversations", FromText, False),
    ("POST", f"{P}/conversations/from-segments", FromSegments, False),
    ("PATCH", f"{P}/conversations/x", ConversationChange, False),
    ("POST", f"{P}/conversations/x/segments", Segments, False),
    ("POST", "/v1/conversations/x/finalize", Finalize, True),
    ("POST", f"{P}/action-items", ActionItem, False),
    ("POST", f"{P}/action-items/batch", ActionItems, False),
    ("PATCH", f"{P}/action-items/x", ActionItemChange, False),
    ("POST", f"{P}/memories", Memory, False),
    ("POST", f"{P}/memories/batch", Memories, False),
    ("PATCH", f"{P}/memories/x", MemoryChange, False),
    ("POST", f"{P}/goals", Goal, False),
    ("PATCH", f"{P}/goals/x", GoalChange, False),
    ("PATCH", "/v1/users/me", ProfileChange, False),
    ("POST", "/v1/users/me/people", Person, False),
    ("POST", f"{P}/webhooks/x/recover", Recovery, False),
    ("POST", f"{P}/webhooks", Webhook, False),
    ("PATCH", f"{P}/webhooks/x", WebhookChange, False),
    ("POST", "/v1/dev/keys", Key, False),
]

QUERIES: list[tuple[str, type[BaseModel]]] = [
    (f"{P}/goals/x/history", HistoryQuery),
    (f"{P}/conversations", ConversationsQuery),
    (f"{P}/action-items", ItemsQuery),
]


def app() -> FastAPI:
    made = FastAPI()
    for method, path, model, optional in BODIES:

        def take(body: Any) -> dict[str, bool]:
            return {"taken": True}

        take.__annotations__["body"] = Annotated[model | None if optional else model, Body()]
        if optional:
            take.__defaults__ = (None,)
        made.add_api_route(path, take, methods=[method])
    for path, model in QUERIES:

        def look(query: Any) -> dict[str, bool]:
            return {"taken": True}

        look.__annotations__["query"] = Annotated[model, Query()]
        made.add_api_route(path, look, methods=["GET"])
    return made
