"""Everything else that the program does, once for a user of each shard, while others load it: the API, a live socket, webhooks that are
disabled and recovered, apps and their notifications, the assistant, what operators order, the console, the task queue, and what the
reconciler clears away."""

import base64, contextlib, hashlib, http.server, json, os, pathlib, socket, struct, subprocess, threading, time, uuid

from load import ADMIN, API, LISTEN, request

WORDS = "I need to call the dentist by Friday. My sister Anna lives in Porto. We decided to buy the blue car tomorrow."
SEGMENTS = [
    {"text": "We should book the train to Porto by Friday.", "speaker": "SPEAKER_00", "is_user": True, "start": 0, "end": 4},
    {"text": "I will send the report tomorrow morning.", "speaker": "SPEAKER_01", "is_user": False, "start": 5, "end": 9},
]
CAUSE = ("--reason", "a test", "--operator", "ann")
VISITOR = {"x-visitor": "ann"}
PAGES = ("", "/jobs", "/jobs?status=dead_letter", "/jobs?status=completed", "/webhooks", "/replays", "/apps", "/audit", "/sessions", "/help")
TASKS_PORT = 7120


def shard_of(user, shards):
    return int.from_bytes(hashlib.sha256(user.encode()).digest()[:2], "big") >> (16 - shards.bit_length() + 1)


MANIFEST = {"chat_messages": {"enabled": True, "target": "main", "notify": True}, "tools": []}


class Receiver:
    """Of webhooks: well below `/well`, gone below `/gone`. It also has an app's manifest."""

    def __init__(self):
        received = self.received = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers.get("content-length") or 0))
                received.append(self.path)
                self.answer(410 if self.path.startswith("/gone") else 200, {})

            def do_GET(self):
                self.answer(200, MANIFEST)

            def answer(self, status, document):
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.end_headers()
                self.wfile.write(json.dumps(document).encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, path):
        return f"http://127.0.0.1:{self.server.server_port}{path}"


class Socket:
    """A live socket, as much of it as is needed to speak."""

    def __init__(self, key, path, port):
        self.stream = socket.create_connection(("127.0.0.1", port), 30)
        nonce = base64.b64encode(os.urandom(16)).decode()
        self.stream.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {nonce}\r\n"
            f"Sec-WebSocket-Version: 13\r\nAuthorization: Bearer {key}\r\n\r\n".encode())
        self.answer = b""
        while b"\r\n\r\n" not in self.answer and (more := self.stream.recv(1)):
            self.answer += more

    def until_ready(self):
        """Waits until its session is open, as a device does: one that is closed before may open behind a later one, and take its place."""
        frames = b""
        while b'"ready"' not in frames and (more := self.stream.recv(4096)):
            frames += more

    def say(self, document):
        text, mask = json.dumps(document).encode(), os.urandom(4)
        length = struct.pack(">BH", 0x80 | 126, len(text)) if len(text) > 125 else struct.pack(">B", 0x80 | len(text))
        self.stream.sendall(b"\x81" + length + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(text)))

    def told(self):
        """What it was told and nobody read, in raw frames."""
        self.stream.settimeout(1)
        with contextlib.suppress(TimeoutError):
            return self.stream.recv(65536)
        return b""

    def close(self):
        self.stream.close()


class Everything:
    def __init__(self, cluster, processes, shards):
        self.cluster, self.processes, self.shards = cluster, processes, shards
        self.receiver, self.failed, self.asked = Receiver(), [], 0
        names = {}
        for number in range(10_000):
            names.setdefault(shard_of(f"everything-{number}", shards), f"everything-{number}")
        self.users = [(names[shard], processes.user(names[shard])) for shard in range(shards)]

    def ask(self, method, path, key=None, body=None, wanted=(200, 201, 202, 204), port=None, **more):
        self.asked += 1
        status, answer = request(method, path, key, body, port or API[self.asked % 2], **more)
        if status not in wanted:
            self.failed.append(f"{method} {path}: {status} {str(answer)[:200]}")
        return answer if status in wanted and not isinstance(answer, str) else {}

    def order(self, *words, codes=(0,)):
        self.asked += 1
        ran = subprocess.run([LISTEN, *words], env=self.processes.environment, capture_output=True, text=True)
        if ran.returncode not in codes:
            self.failed.append(f"listen {' '.join(words)}: exit {ran.returncode}: {(ran.stdout + ran.stderr)[-300:]}")
        return ran.stdout

    def document(self, *words):
        said = self.order(*words, "--json")
        with contextlib.suppress(ValueError):
            return json.loads(said)
        return {}

    def until(self, what, holds, seconds=90):
        ends = time.time() + seconds
        while not (found := holds()):
            if time.time() > ends:
                return self.failed.append(f"it never came to it: {what}")
            time.sleep(0.5)
        return found

    def status(self, key, conversation):
        return request("GET", f"/v1/conversations/{conversation}/finalization", key)[1].get("status")

    def completed(self, key, conversation):
        self.until(f"{conversation} is completed", lambda: self.status(key, conversation) == "completed")

    def admitted(self, key):
        conversation = self.ask("POST", "/v1/dev/user/conversations/from-segments", key, {"transcript_segments": SEGMENTS, "defer_processing": True})["id"]
        self.ask("POST", f"/v1/conversations/{conversation}/finalize", key, {})
        return conversation

    def run(self):
        try:
            threads = [threading.Thread(target=self.of_user, args=user) for user in self.users]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.operators()
            self.console()
            self.task_queue()
            self.retention()
            self.erasure()
        except Exception as error:
            self.failed.append(f"{type(error).__name__}: {error}")

    def of_user(self, user, key):
        try:
            self.profile(key)
            self.conversations(key)
            self.things(key)
            self.webhooks(key)
            self.apps_and_assistant(user, key)
            self.live(user, key)
        except Exception as error:
            self.failed.append(f"{user}: {type(error).__name__}: {error}")

    def profile(self, key):
        self.ask("PATCH", "/v1/users/me", key, {"name": "Ann", "time_zone": "Europe/Lisbon", "apps": ["minutes"]})
        person = self.ask("POST", "/v1/users/me/people", key, {"name": "Anna"})["id"]
        self.ask("PATCH", f"/v1/users/me/people/{person}", key, {"name": "Anne"})
        for latitude in (1.5, 1.6):
            self.ask("PATCH", "/v1/users/geolocation", key, {"latitude": latitude, "longitude": 2.5})
        push = self.ask("POST", "/v1/users/me/push-subscriptions", key, {"kind": "webhook", "url": self.receiver.url("/well/push")})
        second = self.ask("POST", "/v1/dev/keys", key, {"name": "second"})
        for path in ("/v1/users/me", "/v1/users/me/people", f"/v1/users/me/people/{person}", "/v1/users/me/push-subscriptions", "/v1/dev/keys", "/v1/dev/key", "/v1/status"):
            self.ask("GET", path, key)
        self.ask("DELETE", f"/v1/dev/keys/{second['id']}", key)
        self.ask("DELETE", f"/v1/users/me/people/{person}", key)
        self.ask("DELETE", "/v1/users/geolocation", key)
        return push

    def conversations(self, key):
        once = {"Idempotency-Key": uuid.uuid4().hex}
        made = [self.ask("POST", "/v1/dev/user/conversations", key, {"text": WORDS, "text_source": "message"}, headers=once)["id"] for _ in range(2)]
        if made[0] != made[1]:
            self.failed.append(f"a repeated create made a second conversation: {made}")
        one = made[0]
        self.completed(key, one)
        other = self.ask("POST", "/v1/dev/user/conversations/from-segments", key, {"transcript_segments": SEGMENTS, "defer_processing": True})["id"]
        self.ask("POST", f"/v1/dev/user/conversations/{other}/segments", key, {"transcript_segments": [{**SEGMENTS[0], "start": 10, "end": 14}]})
        self.ask("POST", f"/v1/conversations/{other}/finalize", key, {})
        self.completed(key, other)
        folder = self.ask("GET", "/v1/dev/user/folders", key)
        for query in ("", "?status=any", "?limit=1", "?offset=1"):
            self.ask("GET", f"/v1/dev/user/conversations{query}", key)
        self.ask("GET", f"/v1/dev/user/conversations/{one}?include_transcript=true", key)
        self.ask("PATCH", f"/v1/dev/user/conversations/{one}", key, {"title": "Mine", "starred": True})
        self.ask("POST", f"/v1/conversations/{one}/reprocess", key)
        self.completed(key, one)
        for words in ("dentist", "%22blue+car%22", "porto"):
            self.until(f"{words} is found", lambda: self.ask("GET", f"/v1/dev/user/search?q={words}", key))
        self.ask("DELETE", f"/v1/dev/user/conversations/{other}", key)
        return folder

    def things(self, key):
        due = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 2))
        kinds = {
            "action-items": ({"description": "Book the train", "due_at": due}, {"completed": True}, {"action_items": [{"description": "a"}, {"description": "b"}]}),
            "memories": ({"content": "Speaks Spanish"}, {"content": "Speaks Portuguese"}, {"memories": [{"content": "x y"}, {"content": "z w"}]}),
        }
        for kind, (new, changed, batch) in kinds.items():
            made = self.ask("POST", f"/v1/dev/user/{kind}", key, new)["id"]
            self.ask("PATCH", f"/v1/dev/user/{kind}/{made}", key, changed)
            self.ask("POST", f"/v1/dev/user/{kind}/batch", key, batch)
            self.ask("GET", f"/v1/dev/user/{kind}", key)
            self.ask("DELETE", f"/v1/dev/user/{kind}/{made}", key)
        self.ask("POST", "/v1/dev/user/action-items", key, {"description": "Water the roses", "due_at": due})
        goal = self.ask("POST", "/v1/dev/user/goals", key, {"title": "Read", "goal_type": "numeric", "target_value": 12, "max_value": 12, "unit": "books"})["id"]
        self.ask("PATCH", f"/v1/dev/user/goals/{goal}/progress?current_value=3", key)
        self.ask("PATCH", f"/v1/dev/user/goals/{goal}", key, {"title": "Read more"})
        for path in ("", f"/{goal}", f"/{goal}/history"):
            self.ask("GET", f"/v1/dev/user/goals{path}", key)
        self.ask("DELETE", f"/v1/dev/user/goals/{goal}", key)
        # Another language: all words are indexed again.
        for language in ("de", "en"):
            self.ask("PATCH", "/v1/users/me", key, {"language": language})

    def webhooks(self, key):
        well = self.ask("POST", "/v1/dev/user/webhooks", key, {"url": self.receiver.url("/well/hook")})["id"]
        gone = self.ask("POST", "/v1/dev/user/webhooks", key, {"url": self.receiver.url("/gone/hook")})["id"]
        self.completed(key, self.admitted(key))
        endpoint = lambda of: self.ask("GET", f"/v1/dev/user/webhooks/{of}", key)
        deliveries = lambda of: self.ask("GET", f"/v1/dev/user/webhooks/{of}/deliveries", key)
        delivered = self.until("a webhook is delivered", lambda: [one for one in deliveries(well) if one["status"] == "delivered"])
        self.until("an endpoint that is gone is disabled", lambda: endpoint(gone).get("enabled") is False)
        for one in (delivered or [])[:1]:
            self.ask("POST", f"/v1/dev/user/webhooks/{well}/deliveries/{one['id']}/redeliver", key, wanted=(200, 202))
        self.ask("POST", f"/v1/dev/user/webhooks/{well}/rotate-secret", key)
        self.ask("POST", f"/v1/dev/user/webhooks/{well}/test", key)
        self.ask("PATCH", f"/v1/dev/user/webhooks/{gone}", key, {"enabled": True})
        self.ask("POST", f"/v1/dev/user/webhooks/{gone}/recover", key, {"since": "2026-01-01T00:00:00Z"})
        self.until("it is disabled again", lambda: endpoint(gone).get("enabled") is False)
        self.ask("POST", "/v1/users/developer/webhook/audio_bytes", key, {"url": self.receiver.url("/well/audio"), "seconds": 1})
        for change in ("disable", "enable"):
            self.ask("POST", f"/v1/users/developer/webhook/audio_bytes/{change}", key)
        self.ask("GET", "/v1/users/developer/webhook/audio_bytes", key)

    def apps_and_assistant(self, user, key):
        app = self.ask("POST", "/v1/apps", key, {"name": "App", "description": "d", "webhook_url": self.receiver.url("/well/app"), "manifest_url": self.receiver.url("/manifest"), "summary_prompt": "Summarize"})["id"]
        self.ask("POST", f"/v1/apps/enable?app_id={app}", key)
        self.ask("PATCH", f"/v1/apps/{app}", key, {"webhook_url": self.receiver.url("/well/app2")})
        self.ask("POST", f"/v1/apps/{app}/refresh-manifest", key)
        for path in ("/v1/apps", "/v1/apps/enabled", f"/v1/apps/{app}"):
            self.ask("GET", path, key)
        secret = self.ask("POST", f"/v1/apps/{app}/keys", key, {"label": "x"})
        self.ask("GET", f"/v1/apps/{app}/keys", key)
        for words in ("hello", "hello again"):
            self.ask("POST", "/v1/integrations/notification", secret["secret"], {"uid": user, "aid": app, "message": words})
        self.completed(key, self.admitted(key))
        for words in ("What did I decide about the car?", "Remember that I like tea"):
            self.ask("POST", "/v2/messages", key, {"text": words, "id": str(uuid.uuid4())}, headers={"accept": "application/json"})
        said = [message for message in self.ask("GET", "/v2/messages", key) if message.get("status") != "completed" and message["sender"] == "ai"]
        if said:
            self.failed.append(f"turns that were not completed: {str(said)[:400]}")
        self.order("apps", "list"), self.order("apps", "show", app), self.order("apps", "keys", "list", app)
        self.order("apps", "switch-off", app, *CAUSE), self.order("apps", "switch-on", app, *CAUSE)
        self.ask("POST", f"/v1/apps/disable?app_id={app}", key)
        self.ask("DELETE", "/v2/messages", key)

    def live(self, user, key):
        device = uuid.uuid4().hex[:8]
        for number, port in enumerate(API[:2]):
            path = f"/v4/listen?uid={user}&custom_stt=enabled&client_device_id={device}&conversation_timeout=120"
            spoken = Socket(key, path, port)
            if b" 101 " not in spoken.answer:
                self.failed.append(f"a live socket: {spoken.answer[:200]}")
            spoken.until_ready()
            segment = {"id": str(uuid.uuid4()), "text": "Live words about the meeting on Monday.", "start": number, "end": number + 1, "speaker": "SPEAKER_00", "is_user": True}
            spoken.say({"type": "suggested_transcript", "segments": [segment]})
            if number == 1:
                there = False
                for _ in range(60):
                    in_progress = self.ask("GET", "/v1/dev/user/conversations?status=in_progress&include_transcript=true", key)
                    there = "Live words" in str(in_progress)
                    if there:
                        break
                    time.sleep(0.5)
                if not there:
                    self.failed.append(f"what was said live is not there: {str(in_progress)[:200]}, its socket was told: {spoken.told()[-800:]}")
                self.ask("POST", "/v1/conversations", key, {})
            spoken.close()

    def operators(self):
        self.document("jobs", "pause", "finalization", *CAUSE)
        waiting = [(key, self.admitted(key)) for _, key in self.users for _ in range(3)]
        mine = lambda status: [job["job_id"] for user, _ in self.users for job in self.document("jobs", "list", "--status", status, "--user", user, "--limit", "20").get("jobs", [])]
        jobs = mine("queued")
        self.order("jobs", "run-now", "--all", "--dry-run", *CAUSE, codes=(0, 1))
        cancelled = self.document("jobs", "cancel", "--yes", *jobs, *CAUSE)
        if cancelled.get("cancelled") != len(waiting):
            self.failed.append(f"{len(waiting)} jobs were to be cancelled: {cancelled}")
        self.document("jobs", "resume", "finalization", *CAUSE)
        for words in (("jobs", "show", jobs[0]), ("jobs", "why", jobs[0]), ("jobs", "list", "--status", "dead_letter", "--by-code"), ("live", "list"), ("users", "list"), ("audit", "list")):
            self.order(*words)
        # What is cancelled is dismissed: as dead letters that were not, they are replayed by a filter, which is a replay in each shard.
        for shard in range(self.shards):
            self.cluster.ask(f"update listen_{shard:04}.finalization_jobs set settled_at = null where dead_code = 'cancelled_by_operator'")
        self.order("verify", "--fix-totals", *CAUSE)
        self.order("jobs", "replay", jobs[0], "--yes", *CAUSE)
        self.order("jobs", "dismiss", jobs[1], "--yes", *CAUSE)
        self.order("jobs", "replay", "--user", self.users[0][0], "--from-scratch", "--yes", *CAUSE, codes=(0, 1))
        # Those of a queue that is paused go on one by one, and so can be paused themselves.
        self.order("jobs", "pause", "finalization", *CAUSE)
        self.order("jobs", "replay", "--all", "--yes", "--detach", "--in-flight", "1", *CAUSE)
        replays = [one["replay_id"] for one in self.document("replays", "list").get("replays", [])]
        if len(replays) < self.shards:
            self.failed.append(f"there is not a replay in each shard: {replays}")
        for replay in replays:
            self.order("replays", "show", replay)
            for change in ("pause", "resume"):
                self.order("replays", change, replay, *CAUSE, codes=(0, 4))
        if not any(one["action"] == "pause_bulk" for one in self.document("audit", "list", "--limit", "200").get("actions", [])):
            self.failed.append("no replay could be paused")
        self.order("jobs", "resume", "finalization", *CAUSE)
        dismissed = self.document("jobs", "show", jobs[1]).get("conversation_id")
        for key, conversation in waiting:
            if conversation != dismissed:
                self.completed(key, conversation)
        for replay in replays[:1]:
            self.order("replays", "cancel", replay, *CAUSE, codes=(0, 4))
        for number in map(str, range(self.shards)):
            for words in (("jobs", "list"), ("webhooks", "list"), ("replays", "list"), ("audit", "list"), ("verify",)):
                self.order(*words, "--shard", number)
        for user, _ in self.users:
            endpoints = self.document("webhooks", "list", "--user", user).get("endpoints", [])
            for endpoint in endpoints:
                self.order("webhooks", "show", "--user", user, endpoint["endpoint"])
                self.order("webhooks", "enable", "--user", user, endpoint["endpoint"], *CAUSE, codes=(0, 1, 2))
                self.order("webhooks", "try-now", "--user", user, endpoint["endpoint"], *CAUSE, codes=(0, 1))
                self.order("webhooks", "recover", "--user", user, "--since", "1h", endpoint["endpoint"], *CAUSE, codes=(0, 1, 2))
            self.order("users", "set", user, "--limits", "conversations-per-day=5000")
            self.order("users", "show", user), self.order("users", "export", user, "--output", f"{self.processes.home}/{user}.zip", *CAUSE), self.order("folders", "list", "--user", user)
        self.order("secrets", "rotate"), self.order("secrets", "show"), self.order("doctor", codes=(0, 1)), self.order("verify")
        self.order("verify", "--fix-totals", *CAUSE)

    def console(self):
        for shard in range(self.shards):
            headers = {**VISITOR, "cookie": f"console-shard={shard}"}
            for page in PAGES:
                self.ask("GET", f"/console{page}", headers=headers, port=ADMIN[0])
        for user, _ in self.users:
            jobs = self.document("jobs", "list", "--user", user, "--limit", "3").get("jobs", [])
            for job in jobs:
                for page in ("", "/replay", "/discard", "/run-now", "/cancel"):
                    self.ask("GET", f"/console/jobs/{job['job_id']}{page}", headers=VISITOR, port=ADMIN[0], wanted=(200, 404, 409))
        for path in ("/metrics", "/readyz?verbose"):
            self.ask("GET", path, port=ADMIN[0])

    def task_queue(self):
        """A third process, to which a task queue delivers."""
        queue = subprocess.Popen([str(pathlib.Path(LISTEN).parent / "task-queue"), "--port", str(TASKS_PORT)], stdout=subprocess.PIPE, text=True)
        said = "".join(queue.stdout.readline() for _ in range(8)).split()
        settings = dict(word.split("=", 1) for word in said if word.startswith("LISTEN_"))
        settings["LISTEN_FINALIZATION_TASKS_HANDLER_URL"] = f"http://127.0.0.1:{API[2]}/v1/conversation-finalization-jobs/run"
        try:
            # The jobs that it admits are tasks: a worker of the database's queue leaves them alone for a while.
            self.processes.start(2, **settings)
            self.processes.wait_until_ready()
            made = []
            for _, key in self.users * 3:
                conversation = self.ask("POST", "/v1/dev/user/conversations/from-segments", key, {"transcript_segments": SEGMENTS, "defer_processing": True}, port=API[2])["id"]
                self.ask("POST", f"/v1/conversations/{conversation}/finalize", key, {}, port=API[2])
                made.append((key, conversation))
            for one in made:
                self.completed(*one)
            # Workers of the other processes may be first at a job, not at all of them.
            if len(request("GET", "/emulator/deliveries", port=TASKS_PORT)[1]) < self.shards:
                self.failed.append("the task queue delivered hardly anything")
        finally:
            queue.terminate()
            if 2 in self.processes.running:
                self.processes.kill(2)

    def retention(self):
        """What is older than the retention is cleared away at the next round: one begins with each process."""
        old, where = "now() - interval '200 days'", "where finished_at < now() - interval '100 days'"
        mine = "user_id like 'everything-%'"
        finished = {"finalization_jobs": f"status = 'completed' and {mine}", "webhook_deliveries": "status = 'delivered'", "push_deliveries": "status = 'delivered'", "replay_operations": "status = 'done'"}
        each = [(f"listen_{shard:04}.{table}", condition) for shard in range(self.shards) for table, condition in finished.items()]
        recent = "finished_at > now() - interval '20 seconds'"
        aged = [self.cluster.ask(f"update {table} set finished_at = {old} where {condition} and not {recent} returning 1") for table, condition in each]
        left = lambda: sum(int(self.cluster.ask(f"select count(*) from {table} {where}")) for table, _ in each)
        if not all(aged[::len(finished)]):
            self.failed.append("a shard has no job that could be made old")
        self.until("what is old is cleared away", lambda: left() == 0, 120)

    def erasure(self):
        for user, key in self.users:
            self.order("users", "delete", user, "--yes", *CAUSE)
            if request("GET", "/v1/users/me", key)[0] != 401:
                self.failed.append(f"{user} is still there")
            for table in ("conversations", "finalization_jobs", "chat_messages", "webhook_endpoints", "users"):
                left = self.cluster.ask(f"select count(*) from listen_{shard_of(user, self.shards):04}.{table} where user_id = '{user}'")
                if left != "0":
                    self.failed.append(f"{left} rows of {user} are left in {table}")
