#!/usr/bin/python3
"""A stand-in for the program under test, with which the tests of the harness and of tools/run_docs.py test themselves.

    fake_sluice.py serve --listen HOST:PORT [--policies FILE] [--misbehave HOW]
    fake_sluice.py policy validate FILE

It echoes POSTs back as JSON. HOW: silent (never listens), crash (at start), complain (a sanitizer report at
the end), status (ends with status 3), stubborn (ignores SIGTERM).
"""

import argparse
import http.server
import json
import pathlib
import signal
import sys
import time


class Echo(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(json.dumps({"path": self.path}).encode())

    def do_POST(self):
        self.answer(self.rfile.read(int(self.headers["Content-Length"])))

    def log_message(self, *_):
        pass


def serve(options):
    if options.misbehave == "crash":
        sys.exit("fake: cannot start")
    if options.misbehave == "silent":
        time.sleep(3600)
    if options.misbehave == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(3 if options.misbehave == "status" else 0))
    host, port = options.listen.rsplit(":", 1)
    server = http.server.ThreadingHTTPServer((host, int(port)), Echo)
    server.daemon_threads = True
    policies = len(pathlib.Path(options.policies).read_text().splitlines()) if options.policies else 0
    print(f"info: {policies} lines of policies", flush=True)
    print(f"info: sluice is listening on {host}:{server.server_port}", file=sys.stderr, flush=True)
    try:
        server.serve_forever()
    finally:
        if options.misbehave == "complain":
            print("==1==ERROR: AddressSanitizer: heap-use-after-free", file=sys.stderr, flush=True)


def validate(options):
    text = pathlib.Path(options.file).read_text()
    if "wrong" in text:
        sys.exit(f"{options.file}:2: unknown field 'wrong'")
    print(f"{options.file}: ok")


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    serving = commands.add_parser("serve")
    serving.add_argument("--listen", default="127.0.0.1:8080")
    serving.add_argument("--policies")
    serving.add_argument("--misbehave")
    serving.set_defaults(run=serve)
    policy = commands.add_parser("policy")
    policy.add_argument("verb", choices=["validate"])
    policy.add_argument("file")
    policy.set_defaults(run=validate)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
