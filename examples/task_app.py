"""An app with two chat tools, a list of tasks per user, without any package. Run: APP_SECRET=whsec_… python3 task_app.py 9000"""
import base64, hashlib, hmac, json, os, sys, time, urllib.request
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MANIFEST = {
    "tools": [
        {"name": "add_task", "description": "Adds a task to the user's list. Use it when the user asks to note something to do.",
         "endpoint": "/tools/add_task", "auth_required": False, "status_message": "Adding a task…",
         "parameters": {"properties": {"title": {"type": "string", "description": "What is to be done"}}, "required": ["title"]}},
        {"name": "list_tasks", "description": "Lists the user's tasks.", "endpoint": "/tools/list_tasks", "auth_required": False},
    ],
    "chat_messages": {"enabled": True, "target": "app", "notify": True},
}
TASKS = defaultdict(list)  # by user id: the service says who it is in `uid`


def signed(headers, body):
    """Whether the service sent it (Standard Webhooks), within the last five minutes; never with an empty secret, which anybody knows."""
    key = base64.b64decode(os.environ["APP_SECRET"].removeprefix("whsec_"))
    text = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    wanted = "v1," + base64.b64encode(hmac.digest(key, text, hashlib.sha256)).decode()
    fresh = abs(time.time() - int(headers["webhook-timestamp"] or 0)) < 300
    return key != b"" and fresh and any(hmac.compare_digest(wanted, one) for one in (headers["webhook-signature"] or "").split())


def write_to(uid, app_id, message):
    """Writes into the user's chat; at most ten messages an hour, then 429 with Retry-After."""
    request = urllib.request.Request(
        os.environ["LISTEN_URL"] + "/v1/integrations/notification", method="POST",
        data=json.dumps({"uid": uid, "aid": app_id, "message": message}).encode(),
        headers={"Authorization": "Bearer " + os.environ["APP_KEY"], "Content-Type": "application/json"})
    return urllib.request.urlopen(request).status


class App(BaseHTTPRequestHandler):
    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        found = self.path == "/.well-known/service-tools.json"
        self.answer(200 if found else 404, MANIFEST if found else {"error": "no such page"})

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        if not signed(self.headers, body):
            return self.answer(401, {"error": "The request is not signed by the service"})
        call = json.loads(body)
        tasks = TASKS[call["uid"]]
        if call["tool_name"] == "add_task":
            tasks.append(call["title"])
            return self.answer(200, {"result": f"Added: {call['title']}. There are {len(tasks)} tasks now."})
        return self.answer(200, {"result": "\n".join(tasks) or "There are no tasks."})


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), App).serve_forever()
