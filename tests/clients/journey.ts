// The README's journey with a generated client: create, append, finalize, poll, read, be told, clean up.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

const client = createClient<paths>({
  baseUrl: process.env.API!,
  headers: { Authorization: `Bearer ${process.env.KEY}` },
});

function ok<T>(answer: { data?: T; error?: unknown; response: Response }): T {
  assert.ok(answer.data, `${answer.response.status} ${JSON.stringify(answer.error)}`);
  return answer.data;
}

const created = ok(
  await client.POST("/v1/dev/user/conversations", {
    params: { header: { "Idempotency-Key": crypto.randomUUID() } },
    body: { text: "I need to call the dentist by Friday. My sister lives in Porto.", text_source: "message" },
  }),
);
assert.ok(["completed", "processing"].includes(created.status));

const stored = ok(
  await client.POST("/v1/dev/user/conversations/from-segments", {
    body: {
      transcript_segments: [
        { text: "Can you send the report on Monday?", speaker: "SPEAKER_01", start: 0, end: 4 },
      ],
      client_session_id: crypto.randomUUID(),
      defer_processing: true,
    },
  }),
);
const path = { conversation_id: stored.id };
const appended = ok(
  await client.POST("/v1/dev/user/conversations/{conversation_id}/segments", {
    params: { path },
    body: { transcript_segments: [{ id: "s2", text: "Yes, I will.", is_user: true, start: 4, end: 6 }] },
  }),
);
assert.equal(appended.segment_count, 2);

ok(await client.POST("/v1/conversations/{conversation_id}/finalize", { params: { path } }));
for (let tries = 0; ; tries += 1) {
  const job = ok(await client.GET("/v1/conversations/{conversation_id}/finalization", { params: { path } }));
  if (job.terminal) {
    assert.equal(job.status, "completed");
    break;
  }
  assert.ok(tries < 600, "it is finalized within a minute");
  await new Promise((done) => setTimeout(done, 100));
}

const read = ok(
  await client.GET("/v1/dev/user/conversations/{conversation_id}", {
    params: { path, query: { include_transcript: true } },
  }),
);
assert.equal(read.transcript_segments?.length, 2);
assert.ok(read.structured.title.length > 0);
const change = { title: "The report", starred: true };
const changed = await client.PATCH("/v1/dev/user/conversations/{conversation_id}", { params: { path }, body: change });
assert.equal(ok(changed).starred, true);
ok(await client.GET("/v1/dev/user/action-items", { params: { query: { limit: 5 } } }));
ok(await client.GET("/v1/dev/user/memories", { params: { query: { categories: "core,work" } } }));

const endpoint = ok(
  await client.POST("/v1/dev/user/webhooks", {
    body: { url: "https://example.com/hook", events: ["conversation.completed", "conversation.failed"] },
  }),
);
assert.match(endpoint.secret ?? "", /^whsec_/);
ok(await client.DELETE("/v1/dev/user/webhooks/{endpoint_id}", { params: { path: { endpoint_id: endpoint.id } } }));

const wrong = await client.POST("/v1/dev/user/action-items", { body: { description: "" } });
assert.equal(wrong.response.status, 422);
const gone = ok(await client.DELETE("/v1/dev/user/conversations/{conversation_id}", { params: { path } }));
assert.equal(gone.success, true);
console.log("TypeScript: the journey ended well");
