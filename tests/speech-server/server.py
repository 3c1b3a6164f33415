"""A real speech recognizer behind OpenAI's /v1/audio/transcriptions, for tests.

It is PocketSphinx with its own English model and a grammar of known sentences (sentences.txt): with it, synthetic
speech is recognized without errors. It takes 16-bit mono WAV files of 16 kHz and prints its base URL when it is ready.
"""

import argparse
import io
import json
import pathlib
import threading
import wave
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from pocketsphinx import Decoder

HERE = pathlib.Path(__file__).parent


def decoder(sentences):
    grammar = "#JSGF V1.0;\ngrammar known;\npublic <sentence> = %s;\n" % " | ".join(f"({s})" for s in sentences)
    recognizer = Decoder(lm=None, samprate=16000, loglevel="FATAL")
    recognizer.add_jsgf_string("known", grammar)
    recognizer.activate_search("known")
    return recognizer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path != "/v1/audio/transcriptions":
            return self.answer(404, {"error": {"message": "no such path"}})
        form = b"content-type: " + self.headers["content-type"].encode() + b"\r\n\r\n" + body
        parts = BytesParser().parsebytes(form).get_payload()
        fields = {part.get_param("name", header="content-disposition"): part.get_payload(decode=True) for part in parts}
        try:
            with wave.open(io.BytesIO(fields["file"])) as audio:
                shape = (audio.getframerate(), audio.getsampwidth(), audio.getnchannels())
                samples = audio.readframes(audio.getnframes())
        except (KeyError, EOFError, wave.Error):
            return self.answer(400, {"error": {"message": "file is not a WAV file", "param": "file"}})
        if shape != (16000, 2, 1):
            return self.answer(400, {"error": {"message": "audio must be 16 kHz, 16 bit, mono", "param": "file"}})
        with self.server.lock:
            recognizer = self.server.recognizer
            recognizer.start_utt()
            recognizer.process_raw(samples, full_utt=True)
            recognizer.end_utt()
            found = recognizer.hyp()
        return self.answer(200, {"text": found.hypstr if found else ""})

    def answer(self, status, content):
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """What was said is in no log."""


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--port", type=int, default=0, help="0: any free one")
    arguments.add_argument("--sentences", type=pathlib.Path, default=HERE / "sentences.txt", help="one a line")
    arguments = arguments.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", arguments.port), Handler)
    server.lock = threading.Lock()
    server.recognizer = decoder(arguments.sentences.read_text().split("\n")[:-1])
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
