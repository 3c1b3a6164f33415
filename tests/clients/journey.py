"""The README's journey with a generated client: create, append, finalize, poll, read, be told, clean up."""

import os
import time
import uuid

from listen_client import AuthenticatedClient
from listen_client.api.action_items import create_action_item, list_action_items
from listen_client.api.conversations import (
    append_segments,
    create_conversation,
    create_conversation_from_segments,
    delete_conversation,
    get_conversation,
)
from listen_client.api.finalization import finalize_conversation, get_finalization
from listen_client.api.memories import list_memories
from listen_client.api.webhooks import create_webhook, delete_webhook
from listen_client.models import (
    MoreSegments,
    NewActionItem,
    NewConversationFromSegments,
    NewConversationFromText,
    NewWebhook,
)

client = AuthenticatedClient(base_url=os.environ["API"], token=os.environ["KEY"])


def ok(answer):
    assert answer.status_code == 200, (answer.status_code, answer.content)
    return answer.parsed


created = ok(
    create_conversation.sync_detailed(
        client=client,
        body=NewConversationFromText.from_dict(
            {"text": "I need to call the dentist by Friday. My sister lives in Porto.", "text_source": "message"}
        ),
        idempotency_key=str(uuid.uuid4()),
    )
)
assert created.status in ("completed", "processing")

said = {"text": "Can you send the report on Monday?", "speaker": "SPEAKER_01", "start": 0, "end": 4}
stored = ok(
    create_conversation_from_segments.sync_detailed(
        client=client,
        body=NewConversationFromSegments.from_dict(
            {"transcript_segments": [said], "client_session_id": str(uuid.uuid4()), "defer_processing": True}
        ),
    )
)
more = MoreSegments.from_dict(
    {"transcript_segments": [{"id": "s2", "text": "Yes, I will.", "is_user": True, "start": 4, "end": 6}]}
)
assert ok(append_segments.sync_detailed(stored.id, client=client, body=more)).segment_count == 2

ok(finalize_conversation.sync_detailed(stored.id, client=client))
until = time.monotonic() + 10
while not (job := ok(get_finalization.sync_detailed(stored.id, client=client))).terminal:
    assert time.monotonic() < until, "it is finalized within ten seconds"
    time.sleep(0.1)
assert job.status == "completed", job

read = ok(get_conversation.sync_detailed(stored.id, client=client, include_transcript=True))
assert len(read.transcript_segments) == 2 and read.structured.title
ok(list_action_items.sync_detailed(client=client, limit=5))
ok(list_memories.sync_detailed(client=client, categories="core,work"))

wanted = NewWebhook.from_dict({"url": "https://example.com/hook", "events": ["conversation.completed"]})
endpoint = ok(create_webhook.sync_detailed(client=client, body=wanted))
assert endpoint.secret.startswith("whsec_")
ok(delete_webhook.sync_detailed(endpoint.id, client=client))

wrong = create_action_item.sync_detailed(client=client, body=NewActionItem.from_dict({"description": ""}))
assert wrong.status_code == 422 and wrong.parsed.detail[0].type_ == "string_too_short", wrong
assert ok(delete_conversation.sync_detailed(stored.id, client=client)).success is True
print("Python: the journey ended well")
