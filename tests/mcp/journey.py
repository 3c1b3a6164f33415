"""A journey with the official MCP client: everything that an assistant would do, and what is refused."""

import asyncio
import json
import os
import time
import urllib.error
import urllib.request

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

API, KEY = os.environ["API"], os.environ["KEY"]
READS = ["conversations:read", "action_items:read", "memories:read", "goals:read"]


def ask(method, path, body=None, key=KEY, headers=None):
    """One HTTP request: (status, headers, JSON)."""
    request = urllib.request.Request(API + path, method=method, data=None if body is None else json.dumps(body).encode())
    if key:
        request.add_header("Authorization", f"Bearer {key}")
    if body is not None:
        request.add_header("Content-Type", "application/json")
    for name, value in (headers or {}).items():
        request.add_header(name, value)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers, json.loads(answer.read() or "null")
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.headers, None


def connect(key, **options):
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=30)
    return Client(streamable_http_client(f"{API}/mcp", http_client=http), **options)


def of(result):
    """What a call returned, which comes as text as well."""
    structured = result.structured_content
    assert json.loads(result.content[0].text) == structured, result
    return structured


async def with_all_scopes(conversation):
    async with connect(KEY) as client:
        assert client.server_info.name == "listen", client.server_info
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert len(tools) == 10, sorted(tools)
        assert tools["search"].annotations.read_only_hint is True
        assert tools["create_action_item"].annotations.read_only_hint is False

        made = of(await client.call_tool("create_action_item", {"description": "Order new tiles"}))
        listed = of(await client.call_tool("list_action_items", {"completed": False}))
        assert made["id"] in [item["id"] for item in listed["action_items"]]
        done = of(await client.call_tool("update_action_item", {"id": made["id"], "completed": True}))
        assert done["completed"] is True and done["completed_at"]
        memory = of(await client.call_tool("create_memory", {"content": "Prefers window seats"}))
        assert memory["category"]

        found = of(await client.call_tool("search", {"query": "greenhouse tomatoes"}))["results"]
        assert found and found[0]["id"] == conversation, found
        assert {"id", "title", "url", "text"} <= set(found[0]), found
        whole = of(await client.call_tool("fetch", {"id": conversation}))
        assert {"id", "title", "text", "url", "metadata"} == set(whole), whole
        assert "tomatoes" in whole["text"], whole

        wrong = await client.call_tool("create_action_item", {"description": 7})
        assert wrong.is_error and "description" in wrong.content[0].text, wrong
        nothing = await client.call_tool("fetch", {"id": "no-such-thing"})
        assert nothing.is_error, nothing


async def with_reading_alone():
    _, _, made = ask("POST", "/v1/dev/keys", {"name": "reader", "scopes": READS})
    async with connect(made["key"], mode="legacy") as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert "create_action_item" not in names and "search" in names, names
        refused = await client.call_tool("create_action_item", {"description": "Order new tiles"})
        assert refused.is_error and "action_items:write" in refused.content[0].text, refused
    return made["key"]


def refusals():
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"Accept": "application/json, text/event-stream"}
    status, headers, _ = ask("POST", "/mcp", message, key=None, headers=accept)
    assert (status, headers["WWW-Authenticate"]) == (401, "Bearer"), status
    status, _, _ = ask("POST", "/mcp", message, headers=accept | {"Origin": "https://evil.example"})
    assert status == 403, status
    for method in ("GET", "DELETE"):
        status, _, _ = ask(method, "/mcp", headers=accept)
        assert status == 405, (method, status)
    status, _, answer = ask("POST", "/mcp", message, headers=accept | {"Host": "listen.example"})
    assert status == 200 and len(answer["result"]["tools"]) == 10, (status, answer)


def conversation():
    segments = [
        {"text": "We want to grow tomatoes in the greenhouse.", "speaker": "SPEAKER_00", "is_user": True, "start": 0, "end": 4},
        {"text": "Then we need new tiles for the floor of the greenhouse by Friday.", "speaker": "SPEAKER_01", "start": 4, "end": 9},
    ]
    _, _, made = ask("POST", "/v1/dev/user/conversations/from-segments", {"transcript_segments": segments})
    for _ in range(150):
        status, _, found = ask("GET", "/v1/dev/user/search?q=greenhouse&kinds=conversation")
        if status == 200 and found:
            return made["id"]
        time.sleep(0.2)
    raise AssertionError("the conversation was not indexed")


refusals()
asyncio.run(with_all_scopes(conversation()))
asyncio.run(with_reading_alone())
