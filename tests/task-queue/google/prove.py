"""Google's client, schema and token library against the emulator."""

import base64
import http.server
import json
import pathlib
import queue
import sys
import threading

import googleapiclient
from google.api_core import client_options, exceptions
from google.auth import credentials
from google.auth.transport import requests
from google.cloud import tasks_v2
from google.cloud.tasks_v2.services.cloud_tasks.transports import CloudTasksRestTransport
from google.oauth2 import id_token

BASE, REQUEST = sys.argv[1:]
QUEUE = "projects/local/locations/here/queues/finalization"
INVOKER = "invoker@local.iam.gserviceaccount.com"
delivered: queue.Queue = queue.Queue()


class Handler(http.server.BaseHTTPRequestHandler):
    """Fails the first delivery and takes the second."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        delivered.put((dict(self.headers), body))
        self.send_response(503 if delivered.qsize() == 1 else 200)
        self.end_headers()

    def log_message(self, *_):
        pass


def check(schemas, value, schema, place):
    """A value against a schema of a discovery document: no unknown field, and the right kinds."""
    if "$ref" in schema:
        schema = schemas[schema["$ref"]]
    kind = schema.get("type")
    if kind == "object":
        assert isinstance(value, dict), place
        known, more = schema.get("properties", {}), schema.get("additionalProperties")
        for name, inner in value.items():
            assert name in known or more, f"{place}.{name} is unknown"
            check(schemas, inner, known.get(name, more), f"{place}.{name}")
    elif kind == "string":
        assert isinstance(value, str), place
        if "enum" in schema:
            assert value in schema["enum"], f"{place}: {value}"
    elif kind == "integer":
        assert isinstance(value, int), place


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/run"

    transport = CloudTasksRestTransport(
        host=BASE.removeprefix("http://"), credentials=credentials.AnonymousCredentials(), url_scheme="http"
    )
    client = tasks_v2.CloudTasksClient(transport=transport)
    name = f"{QUEUE}/tasks/0123abcd-g1-d1"
    task = {
        "name": name,
        "http_request": {
            "http_method": "POST",
            "url": url,
            "headers": {"Content-Type": "application/json"},
            "body": b'{"job_id":"fj_1","dispatch_generation":1}',
            "oidc_token": {"service_account_email": INVOKER, "audience": "https://listen.example/run"},
        },
        "dispatch_deadline": {"seconds": 1500},
    }
    assert client.create_task(parent=QUEUE, task=task).name == name
    try:
        client.create_task(parent=QUEUE, task=task)
        raise AssertionError("a name is taken once")
    except exceptions.Conflict:
        pass
    try:
        client.get_task(name=f"{QUEUE}/tasks/unknown")
        raise AssertionError("there is no such task")
    except exceptions.NotFound:
        pass
    assert client.get_queue(name=QUEUE).rate_limits.max_concurrent_dispatches == 4
    print("Google's client creates, repeats and looks at tasks")

    first, second = delivered.get(timeout=20), delivered.get(timeout=20)
    retries = [{k.lower(): v for k, v in one[0].items()}["x-cloudtasks-taskretrycount"] for one in (first, second)]
    assert retries == ["0", "1"], retries
    headers, body = second
    assert json.loads(body) == {"job_id": "fj_1", "dispatch_generation": 1}
    headers = {k.lower(): v for k, v in headers.items()}
    assert headers["x-cloudtasks-taskname"] == "0123abcd-g1-d1", headers
    assert headers["x-cloudtasks-queuename"] == "finalization", headers
    assert headers["x-cloudtasks-taskpreviousresponse"] == "503", headers
    token = headers["authorization"].removeprefix("Bearer ")
    claims = id_token.verify_token(
        token, requests.Request(), audience="https://listen.example/run", certs_url=f"{BASE}/oauth2/v3/certs"
    )
    assert claims["email"] == INVOKER and claims["email_verified"] is True, claims
    print("Google's token library accepts the token of a delivery")

    documents = pathlib.Path(googleapiclient.__file__).parent / "discovery_cache/documents"
    schemas = json.loads((documents / "cloudtasks.v2.json").read_text())["schemas"]
    ours = json.loads(pathlib.Path(REQUEST).read_text())
    check(schemas, ours, schemas["CreateTaskRequest"], "listen's request")
    assert base64.b64decode(ours["task"]["httpRequest"]["body"])
    print("Google's discovery document describes what listen sends")


main()
