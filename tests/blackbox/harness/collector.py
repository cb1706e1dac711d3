"""A collector of traces for tests: takes what is posted to it, and decodes it."""

import http.server
import threading

SERVER_KIND = 2


class Collector:
    """Listens on a free port of the loopback when the constructor returns. Thread-safe.

    api: an rpc.Api of tests/blackbox/otlp. answers: (status, headers) of the first posts, one after the other;
    then every post is taken. tls: an ssl.SSLContext, or None.
    """

    def __init__(self, api, answers=(), tls=None):
        self._request = api.message("otlp.ExportTraceServiceRequest")
        self._answers = list(answers)
        self.posts = []  # (path, headers, bytes) of those that were taken
        self.refused = 0
        self._lock = threading.Lock()
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):  # noqa: N802, the name is the library's
                body = self.rfile.read(int(self.headers["content-length"]))
                status, headers = collector._take(self.path, self.headers, body)
                self.send_response(status)
                for name, value in {**headers, "content-length": "0"}.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def _take(self, path, headers, body):
        with self._lock:
            if self._answers:
                self.refused += 1
                return self._answers.pop(0)
            self.posts.append((path, headers, body))
            return 200, {}

    def messages(self):
        with self._lock:
            return [self._request.FromString(body) for _, _, body in self.posts]

    def spans(self):
        """All spans, each with `.about`: its attributes as a dict."""
        return [Shown(span) for message in self.messages() for resource in message.resource_spans
                for scope in resource.scope_spans for span in scope.spans]

    def stop(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def attributes(pairs):
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}


class Shown:
    def __init__(self, span):
        self.span = span
        self.trace, self.parent = span.trace_id.hex(), span.parent_span_id.hex()
        self.about = {key.removeprefix("sluice."): value for key, value in attributes(span.attributes).items()}

    def __repr__(self):
        return f"{self.trace} {self.parent} {self.about}"
