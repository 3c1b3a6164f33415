#!/usr/bin/env python3
"""Plays a few minutes of an eventful service, and draws every board from what Prometheus saw of it.

    cargo build && dashboards/render/play.py --minutes 9

Needs Debian's packages postgresql, prometheus and chromium, and nothing that is not in this tree or Python's library.
Everything runs on this machine, on free ports, in a folder of its own that is removed in the end.
"""

import argparse
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import draw

ROOT = Path(__file__).resolve().parents[2]
LINES = [
    "Let's plan the garden for spring.",
    "The apple tree needs pruning, and the shed has a hole in the roof.",
    "I will order new roof tiles by Friday.",
    "Can you ask the neighbour about the ladder on Saturday?",
    "Yes. I love gardening, my favourite flowers are dahlias.",
    "We need to empty the rain barrel before the first frost.",
]
# A talk with one of these fails whenever it is tried: so dead letters come about.
CURSED = {"The rain has no end.": 503, "Nobody knows the way home.": 200}
ANSWER = json.dumps({
    "keep": True, "title": "The garden", "overview": "What is to be done in the garden.", "category": "home",
    "emoji": "🌳", "events": [], "tasks": [{"description": "Order roof tiles"}],
    "memories": [{"content": "Loves dahlias", "category": "interests"}], "text": "Three things to do.",
})


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Quiet(BaseHTTPRequestHandler):
    """A handler of posts that logs nothing."""

    def log_message(self, *_):
        pass

    def body(self):
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def answer(self, status, value=None):
        text = json.dumps(value).encode() if value is not None else b""
        self.send_response(status)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


class Model(Quiet):
    """A model server that thinks for a while, and fails now and then."""

    def do_POST(self):
        asked = self.body()
        time.sleep(min(3.0, random.lognormvariate(-1.7, 0.7)))
        if random.random() < 0.025:
            return self.answer(random.choice([503, 503, 429, 504]), {"error": {}})
        prompt, content = len(asked) // 4, ANSWER
        for line, status in CURSED.items():
            if line.encode() in asked:
                if status != 200:
                    return self.answer(status, {"error": {}})
                content = "I would rather not."
        self.answer(200, {
            "choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": prompt, "completion_tokens": random.randint(40, 160),
                      "prompt_tokens_details": {"cached_tokens": int(prompt * random.uniform(0.4, 0.75))}},
        })


class Receiver(Quiet):
    """Takes webhooks: one path is well, one fails now and then, one is gone."""

    def do_POST(self):
        self.body()
        if self.path.startswith("/gone"):
            return self.answer(410)
        self.answer(503 if self.path.startswith("/flaky") and random.random() < 0.15 else 204)


def serve(handler):
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


class Stage:
    """The processes of the play, and its folder."""

    def __init__(self, listen):
        self.listen, self.running = listen, []
        self.folder = Path(tempfile.mkdtemp(prefix="listen-play-"))

    def start(self, *words, **more):
        one = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, **more)
        self.running.append(one)
        return one

    def postgres(self):
        programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]
        other = os.getuid() == 0  # PostgreSQL refuses to run as root
        as_user = ["runuser", "-u", "postgres", "--"] if other else []
        data, port = self.folder / "data", free_port()
        if other:
            shutil.chown(self.folder, "postgres")
        subprocess.run([*as_user, programs / "initdb", "-D", data, "-U", "listen", "-A", "trust"],
                       check=True, stdout=subprocess.DEVNULL, cwd="/")
        self.start(*as_user, programs / "postgres", "-D", data, "-p", port, "-k", self.folder,
                   "-c", "listen_addresses=127.0.0.1", "-c", "autovacuum_naptime=10s", cwd="/",
                   stderr=subprocess.DEVNULL)
        url = f"postgresql://listen@127.0.0.1:{port}/postgres"
        wait(lambda: subprocess.run(["psql", url, "-c", "select 1"], capture_output=True).returncode == 0)
        return url

    def prometheus(self, targets):
        config, port = self.folder / "prometheus.yml", free_port()
        rules = ROOT / "dashboards" / "rules"
        config.write_text(json.dumps({
            "global": {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "2s"},
            "rule_files": [str(rules / "recording.yml"), str(rules / "alerts.yml")],
            "scrape_configs": [{"job_name": "listen", "static_configs": [{"targets": targets}]}],
        }))
        self.start("prometheus", f"--config.file={config}", f"--storage.tsdb.path={self.folder / 'prometheus'}",
                   f"--web.listen-address=127.0.0.1:{port}", "--log.level=error")
        return f"http://127.0.0.1:{port}"

    def close(self):
        for one in reversed(self.running):
            one.send_signal(signal.SIGINT)
            try:
                one.wait(10)
            except subprocess.TimeoutExpired:
                one.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def wait(ready, seconds=60):
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            sys.exit("something did not start in time")
        time.sleep(0.2)


def reachable(url):
    try:
        return urllib.request.urlopen(url, timeout=5).status == 200
    except OSError:
        return False


class Person:
    """Somebody with a key."""

    def __init__(self, api, key):
        self.api, self.key = api, key

    def post(self, path, body):
        request = urllib.request.Request(self.api + path, json.dumps(body).encode(), {
            "authorization": f"Bearer {self.key}", "content-type": "application/json"})
        return json.load(urllib.request.urlopen(request, timeout=30))

    def talk(self):
        lines = random.sample(LINES, random.randint(3, 6))
        if random.random() < 0.03:
            lines.append(random.choice([*CURSED, "The rain has no end."]))
        segments = [{"text": line, "start": n * 6.0, "end": n * 6.0 + 5, "is_user": n % 2 == 0}
                    for n, line in enumerate(lines)]
        made = self.post("/v1/dev/user/conversations/from-segments",
                         {"transcript_segments": segments, "defer_processing": True})
        self.post(f"/v1/conversations/{made['id']}/finalize", {})


def visit(person):
    """A talk that may be refused: a machine that is too slow for the burst answers 503, and the play goes on."""
    try:
        person.talk()
    except OSError as refused:
        print(f"not taken: {refused}", file=sys.stderr)


def play(stage, minutes):
    """The play; answers Prometheus' address."""
    url, model, receiver = stage.postgres(), serve(Model), serve(Receiver)
    api, admin, second = (free_port() for _ in range(3))
    env = {
        **os.environ, "DATABASE_URL": url, "LISTEN_FINALIZATION_DISPATCH_MODE": "postgres",
        "LISTEN_TEXT_ENGINE": "openai", "LISTEN_OPENAI_BASE_URL": f"{model}/v1", "LISTEN_OPENAI_MODEL": "small",
        "LISTEN_RATE_PER_MINUTE": "0", "LISTEN_ALLOW_OUTGOING": "127.0.0.0/8", "LISTEN_LOG": "error",
        # Shorter than in earnest, so that a few minutes show everything.
        "LISTEN_FINALIZATION_LEASE_SECONDS": "10", "LISTEN_FINALIZATION_HEARTBEAT_SECONDS": "2",
        "LISTEN_FINALIZATION_MAX_ATTEMPTS": "2", "LISTEN_RECONCILER_CRON": "0 * * * * *",
    }

    def command(*words):
        return subprocess.run([stage.listen, *words], env=env, check=True, capture_output=True, text=True).stdout.strip()

    def process(roles, admin_port, api_port=None):
        one = {**env, "LISTEN_ROLES": roles, "LISTEN_ADMIN_ADDR": f"127.0.0.1:{admin_port}",
               "LISTEN_ADDR": f"127.0.0.1:{api_port or 0}"}
        return stage.start(stage.listen, "serve", env=one, stderr=subprocess.DEVNULL)

    command("migrate")
    command("users", "create", "--id", "ada", "--apps", "minutes")
    command("users", "create", "--id", "bea")
    command("users", "set", "bea", "--requires-byok", "true")
    ada, bea = (Person(f"http://127.0.0.1:{api}", command("keys", "create", "--user", name)) for name in ("ada", "bea"))
    process("api,worker,reconciler", admin, api)
    worker = process("worker", second)
    wait(lambda: reachable(f"http://127.0.0.1:{admin}/readyz"))
    prometheus = stage.prometheus([f"127.0.0.1:{admin}", f"127.0.0.1:{second}"])
    for path in ("fine", "flaky"):
        ada.post("/v1/dev/user/webhooks", {"url": f"{receiver}/{path}"})

    def events():
        """What happens besides, at shares of the play's length."""
        yield 0.30, lambda: stage.start(
            "psql", url, "-qc", "begin isolation level repeatable read", "-qc", "select 1",
            "-qc", f"select pg_sleep({minutes * 9})",
            stdout=subprocess.DEVNULL)
        yield 0.45, lambda: [bea.talk() for _ in range(3)]
        yield 0.55, lambda: ada.post("/v1/dev/user/webhooks", {"url": f"{receiver}/gone"})
        yield 0.62, lambda: worker.kill()
        yield 0.70, lambda: process("worker", second)

    begun, length, waiting = time.monotonic(), minutes * 60, events()
    at, event = next(waiting)
    while (passed := (time.monotonic() - begun) / length) < 1:
        if passed >= at:
            event()
            at, event = next(waiting, (2, None))
        per_second = 7 if 0.30 < passed < 0.42 else 1.2
        time.sleep(random.expovariate(per_second))
        threading.Thread(target=visit, args=[ada], daemon=True).start()
    return prometheus


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--minutes", type=float, default=9, help="how long the play lasts")
    words.add_argument("--listen", default=ROOT / "target" / "debug" / "listen", help="the program")
    words.add_argument("--out", type=Path, default=ROOT / "dashboards" / "pictures", help="where the pictures go")
    words.add_argument("--keep", type=Path, help="also keep what Prometheus answered, to draw it again with draw.py")
    asked = words.parse_args()
    stage = Stage(asked.listen)
    try:
        prometheus = play(stage, asked.minutes)
        answers = draw.ask(prometheus, time.time(), asked.minutes * 60)
        if asked.keep:
            asked.keep.write_text(json.dumps(answers))
        draw.pictures(answers, asked.out)
    finally:
        stage.close()


if __name__ == "__main__":
    main()
