"""Asks FastAPI and writes `answers.json`. Started by `regenerate`, which makes its environment."""

import json
import pathlib
import platform

import fastapi
import pydantic
from fastapi.testclient import TestClient

from cases import cases
from models import app


def without_input(detail):
    """`input` is never echoed by the service: it would put a person's words into client logs."""
    if isinstance(detail, list):
        return [{key: value for key, value in problem.items() if key != "input"} for problem in detail]
    return detail


def main() -> None:
    client = TestClient(app(), raise_server_exceptions=False)
    lines = []
    for case in cases():
        content = bytes.fromhex(case["hex"]) if "hex" in case else case.get("body", "").encode()
        headers = {"content-type": case["content_type"]} if case.get("content_type") else {}
        answer = client.request(case["method"], case["path"], content=content, headers=headers)
        if answer.status_code == 500:
            # It cannot echo what JSON cannot hold (NaN): there is no answer to compare with.
            print(f"no answer: {case['name']}")
            continue
        told = {"status": answer.status_code}
        if answer.status_code != 200:
            told["detail"] = without_input(answer.json()["detail"])
        lines.append(json.dumps({**case, "answer": told}, ensure_ascii=False))
    asked = {
        "fastapi": fastapi.__version__, "pydantic": pydantic.VERSION, "python": platform.python_version(),
    }
    body = ",\n".join(lines)
    text = f'{{"asked": {json.dumps(asked)},\n"cases": [\n{body}\n]}}\n'
    pathlib.Path(__file__).with_name("answers.json").write_text(text)
    print(f"{len(lines)} cases, asked of {asked}")


main()
