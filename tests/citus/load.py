"""Two processes, and users who create conversations and finalize them, each request again until it is acknowledged."""

import collections, json, os, pathlib, subprocess, threading, time, urllib.error, urllib.request, uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
LISTEN = os.environ.get("LISTEN", str(ROOT / "target/debug/listen"))
API, ADMIN = (7101, 7102, 7103), (7111, 7112, 7113)


def request(method, path, key=None, body=None, port=API[0], headers=(), timeout=40):
    """The status, 0 where there is no answer, and the document or text."""
    data = None if body is None else json.dumps(body).encode()
    words = {"content-type": "application/json", **dict(headers), **({"authorization": f"Bearer {key}"} if key else {})}
    asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, words, method=method)
    try:
        with urllib.request.urlopen(asked, timeout=timeout) as answer:
            status, text = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read()
    except OSError:
        return 0, {}
    try:
        return status, json.loads(text or b"{}")
    except ValueError:
        return status, text.decode(errors="replace")


class Processes:
    """Those that serve, by their numbers."""

    def __init__(self, environment, home):
        self.environment, self.home, self.running = environment, home, {}

    def start(self, number, **settings):
        listen = {"LISTEN_ADDR": f"127.0.0.1:{API[number]}", "LISTEN_ADMIN_ADDR": f"127.0.0.1:{ADMIN[number]}"}
        log = open(f"{self.home}/process-{number}.log", "a")
        environment = {**self.environment, **listen, **settings}
        self.running[number] = subprocess.Popen([LISTEN, "serve", "--log-format", "json"], env=environment, stdout=log, stderr=log)

    def wait_until_ready(self):
        while any(request("GET", "/readyz", port=ADMIN[number])[0] != 200 for number in self.running):
            time.sleep(0.5)

    def kill(self, number):
        self.running[number].kill()
        self.running.pop(number).wait()

    def stop(self):
        for number in list(self.running):
            self.kill(number)

    def command(self, *words):
        return subprocess.run([LISTEN, *words], env=self.environment, check=True, capture_output=True, text=True).stdout

    def user(self, name):
        """A developer key of theirs."""
        self.command("users", "create", "--id", name)
        return self.command("keys", "create", "--user", name).split()[-1]


class Load:
    def __init__(self, users):
        self.users, self.begun, self.acknowledged, self.refused = users, time.time(), [], collections.Counter()
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=self.user, args=[key]) for key in users]
        for thread in self.threads:
            thread.start()

    def until_acknowledged(self, path, key, body):
        for tried in range(240):
            status, answer = request("POST", path, key, body, API[tried % 2])
            if status in (200, 201, 202):
                return answer
            self.refused[status] += 1
            time.sleep(0.5)
        raise SystemExit(f"{path} was refused for two minutes, at last with {status}")

    def user(self, key):
        words = {"text": "We should book the train to Porto by Friday.", "speaker": "SPEAKER_00", "is_user": True, "start": 0, "end": 4}
        while not self.ended.is_set():
            body = {"transcript_segments": [words], "defer_processing": True, "client_session_id": str(uuid.uuid4())}
            conversation = self.until_acknowledged("/v1/dev/user/conversations/from-segments", key, body)["id"]
            self.until_acknowledged(f"/v1/conversations/{conversation}/finalize", key, {})
            self.acknowledged.append((key, conversation))
            time.sleep(0.3)

    def say(self, words):
        print(f"{time.time() - self.begun:5.0f} s: {words}", flush=True)

    def unfinished(self):
        self.ended.set()
        for thread in self.threads:
            thread.join()
        left, until = list(self.acknowledged), time.time() + 180
        while left and time.time() < until:
            left = [one for one in left if request("GET", f"/v1/conversations/{one[1]}/finalization", one[0])[1].get("status") != "completed"]
            time.sleep(1)
        return left
