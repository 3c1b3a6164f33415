"""The README's journey with a generated client: create, append, finalize, poll, read, change, be told, clean up."""

import os
import time
import uuid
from http import HTTPStatus
from typing import Any, TypeVar

from listen_client import AuthenticatedClient
from listen_client.api.action_items import create_action_item, list_action_items
from listen_client.api.assistant import post_message
from listen_client.api.conversations import (
    append_segments,
    create_conversation,
    create_conversation_from_segments,
    delete_conversation,
    get_conversation,
    update_conversation,
)
from listen_client.api.finalization import finalize_conversation, get_finalization
from listen_client.api.memories import list_memories
from listen_client.api.profile import update_profile
from listen_client.api.webhooks import create_webhook, delete_webhook
from listen_client.models import (
    AppendedSegments,
    Conversation,
    ConversationChange,
    CreatedConversation,
    CreatedStatus,
    CreatedWebhook,
    FinalizationJob,
    FinalizingConversation,
    HTTPValidationError,
    JobStatus,
    Message,
    NewActionItem,
    NewConversationFromSegments,
    NewConversationFromText,
    NewMessage,
    NewSegment,
    NewSegments,
    NewWebhook,
    Profile,
    ProfileChange,
    Success,
    TextSource,
    WebhookEvent,
)
from listen_client.types import Response

client = AuthenticatedClient(base_url=os.environ["API"], token=os.environ["KEY"])
T = TypeVar("T")


def ok(kind: type[T], answer: Response[Any]) -> T:
    assert answer.status_code == HTTPStatus.OK, (answer.status_code, answer.content)
    assert isinstance(answer.parsed, kind), answer.parsed
    return answer.parsed


text = NewConversationFromText(
    text="I need to call the dentist by Friday. My sister lives in Porto.", text_source=TextSource.MESSAGE
)
created = ok(
    CreatedConversation,
    create_conversation.sync_detailed(client=client, body=text, idempotency_key=str(uuid.uuid4())),
)
assert created.status in (CreatedStatus.COMPLETED, CreatedStatus.PROCESSING)

said = NewSegment(text="Can you send the report on Monday?", speaker="SPEAKER_01", start=0, end=4)
spoken = NewConversationFromSegments(
    transcript_segments=[said], client_session_id=str(uuid.uuid4()), defer_processing=True
)
stored = ok(CreatedConversation, create_conversation_from_segments.sync_detailed(client=client, body=spoken))
more = NewSegments(transcript_segments=[NewSegment(id="s2", text="Yes, I will.", is_user=True, start=4, end=6)])
appended = ok(AppendedSegments, append_segments.sync_detailed(stored.id, client=client, body=more))
assert appended.segment_count == 2

ok(FinalizingConversation, finalize_conversation.sync_detailed(stored.id, client=client))
until = time.monotonic() + 60
while not (job := ok(FinalizationJob, get_finalization.sync_detailed(stored.id, client=client))).terminal:
    assert time.monotonic() < until, "it is finalized within a minute"
    time.sleep(0.1)
assert job.status == JobStatus.COMPLETED, job

read = ok(Conversation, get_conversation.sync_detailed(stored.id, client=client, include_transcript=True))
assert isinstance(read.transcript_segments, list) and len(read.transcript_segments) == 2, read
assert read.structured.title
change = ConversationChange(title="The report", starred=True)
assert ok(Conversation, update_conversation.sync_detailed(stored.id, client=client, body=change)).starred
ok(list, list_action_items.sync_detailed(client=client, limit=5))
ok(list, list_memories.sync_detailed(client=client, categories="core,work"))

# What is not said is not sent: the user's own language holds.
ok(Profile, update_profile.sync_detailed(client=client, body=ProfileChange(language="de")))
german = NewConversationFromText(text="Ich muss den Zahnarzt anrufen.")
created = ok(CreatedConversation, create_conversation.sync_detailed(client=client, body=german))
assert ok(Conversation, get_conversation.sync_detailed(created.id, client=client)).language == "de"

asking = client.with_headers({"Accept": "application/json"})  # in one body instead of a stream
reply = ok(Message, post_message.sync_detailed(client=asking, body=NewMessage(text="What is due today?")))
assert reply.text and reply.error is None, reply

wanted = NewWebhook(url="https://example.com/hook", events=[WebhookEvent.CONVERSATION_COMPLETED])
endpoint = ok(CreatedWebhook, create_webhook.sync_detailed(client=client, body=wanted))
assert isinstance(endpoint.secret, str) and endpoint.secret.startswith("whsec_")
ok(Success, delete_webhook.sync_detailed(endpoint.id, client=client))

wrong = create_action_item.sync_detailed(client=client, body=NewActionItem(description=""))
assert isinstance(wrong.parsed, HTTPValidationError), wrong
assert wrong.parsed.detail[0].type_ == "string_too_short", wrong
assert ok(Success, delete_conversation.sync_detailed(stored.id, client=client)).success is True
print("Python: the journey ended well")
