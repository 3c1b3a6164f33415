// A journey with the official MCP client for TypeScript: what an assistant does with a key that may do everything, and
// with one that only reads. `journey.py` is the same with the Python client.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { API, KEY } = process.env;
const READS = ["conversations:read", "action_items:read", "memories:read", "goals:read"];

async function ask(method, path, body) {
  const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };
  const answer = await fetch(API + path, { method, headers, body: body && JSON.stringify(body) });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status}`);
  return answer.json();
}

async function connected(key, use) {
  const requestInit = { headers: { Authorization: `Bearer ${key}` } };
  const client = new Client({ name: "journey", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${API}/mcp`), { requestInit }));
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

/** What a call returned, which comes as text as well. */
async function call(client, name, args) {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(!result.isError, JSON.stringify(result));
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
  return result.structuredContent;
}

async function refusal(client, name, args) {
  const result = await client.callTool({ name, arguments: args });
  assert.equal(result.isError, true, JSON.stringify(result));
  return result.content[0].text;
}

async function conversation() {
  const segments = [
    { text: "The lemon tree on the terrace needs a bigger pot.", speaker: "SPEAKER_00", is_user: true, start: 0, end: 4 },
    { text: "Then we buy soil for the lemon tree by Saturday.", speaker: "SPEAKER_01", start: 4, end: 9 },
  ];
  const made = await ask("POST", "/v1/dev/user/conversations/from-segments", { transcript_segments: segments });
  for (let n = 0; n < 150; n += 1) {
    const found = await ask("GET", "/v1/dev/user/search?q=lemon%20terrace&kinds=conversation");
    if (found.length > 0) return made.id;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error("the conversation was not indexed");
}

const id = await conversation();

await connected(KEY, async (client) => {
  assert.equal(client.getServerVersion().name, "listen");
  const { tools } = await client.listTools();
  assert.equal(tools.length, 10);
  const named = Object.fromEntries(tools.map((tool) => [tool.name, tool]));
  assert.equal(named.search.annotations.readOnlyHint, true);
  assert.equal(named.create_action_item.annotations.readOnlyHint, false);

  const made = await call(client, "create_action_item", { description: "Buy soil" });
  const listed = await call(client, "list_action_items", { completed: false });
  assert.ok(listed.action_items.some((item) => item.id === made.id));
  const done = await call(client, "update_action_item", { id: made.id, completed: true });
  assert.ok(done.completed && done.completed_at);
  assert.ok((await call(client, "create_memory", { content: "Grows lemons" })).category);

  const { results } = await call(client, "search", { query: "lemon terrace" });
  assert.equal(results[0].id, id, JSON.stringify(results));
  const whole = await call(client, "fetch", { id });
  assert.deepEqual(Object.keys(whole).sort(), ["id", "metadata", "text", "title", "url"]);
  assert.match(whole.text, /bigger pot/);

  assert.match(await refusal(client, "create_action_item", { description: 7 }), /description/);
  await refusal(client, "fetch", { id: "no-such-thing" });
});

const { key: reader } = await ask("POST", "/v1/dev/keys", { name: "reader", scopes: READS });
await connected(reader, async (client) => {
  const names = (await client.listTools()).tools.map((tool) => tool.name);
  assert.ok(names.includes("search") && !names.includes("create_action_item"), names.join());
  assert.match(await refusal(client, "create_action_item", { description: "Buy soil" }), /action_items:write/);
});

await assert.rejects(connected("lsk_of_nobody", () => {}), { code: 401 });
