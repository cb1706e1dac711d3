"""nginx, Caddy and HAProxy as child processes, with the very files of examples/, and an application behind them."""

import http.client
import http.server
import json
import os
import shutil
import socket
import subprocess
import threading

from harness.ports import free_port
from harness.server import DIE_WITH_PARENT, ROOT, WAIT_SECONDS, wait_until
from harness.web import Answer

EXAMPLES = ROOT / "examples"


class Application:
    """Answers every request with what it got, as JSON. The path /status/404 asks for that status, the header x-tokens for the
    same header in the answer."""

    def __init__(self):
        self.requests = 0
        application = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                application.requests += 1
                sent = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                headers = {name.lower(): value for name, value in self.headers.items()}
                body = json.dumps({"method": self.command, "path": self.path, "headers": headers, "body": sent}).encode()
                self.send_response(int(self.path[8:]) if self.path.startswith("/status/") else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                if "x-tokens" in headers:
                    self.send_header("x-tokens", headers["x-tokens"])
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = answer

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=[0.02], daemon=True)
        self.thread.start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Proxy:
    """A proxy on a free port of the loopback, listening when the constructor returns.

    when_silent: "open" as in the examples, or "closed" by the change that their READMEs name.
    patient: without the examples' short timeouts, which a slow build on a busy machine would exceed now and then.
    token: what the proxy shows Sluice, by the line that the examples have as a comment.
    """

    def __init__(self, kind, directory, sluice_port, application_port, when_silent="open", patient=True, token=None):
        assert shutil.which(kind), f"{kind} is not installed; run `make deps`"
        self.directory = directory
        self.patient = patient
        self.token = token
        self.closed = when_silent == "closed"
        self.port = free_port()
        # What the examples call by well-known numbers.
        self.ports = {"127.0.0.1:8000": f"127.0.0.1:{self.port}", "127.0.0.1:8001": f"127.0.0.1:{free_port()}",
                      "127.0.0.1:8080": f"127.0.0.1:{sluice_port}", "127.0.0.1:9000": f"127.0.0.1:{application_port}"}
        directory.mkdir()
        command = {"nginx": self._nginx, "caddy": self._caddy, "haproxy": self._haproxy}[kind]()
        home = {"HOME": str(directory), "XDG_DATA_HOME": str(directory), "XDG_CONFIG_HOME": str(directory)}
        self.log_file = directory / "proxy.log"
        with open(self.log_file, "wb") as log:
            self.process = subprocess.Popen([*DIE_WITH_PARENT, *map(str, command)], cwd=directory, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=subprocess.STDOUT, env={**os.environ, **home})
        try:
            wait_until(self._listens, f"{kind} to listen")
        except BaseException:
            self.stop()
            raise

    def _copy(self, name, *changes, to=None, before=""):
        """Copies examples/<name> into the directory with each (old, new) replaced; what is not there is an error."""
        text = (EXAMPLES / name).read_text()
        for old, new in changes:
            assert old in text, f"examples/{name} has no {old!r}"
            text = text.replace(old, new)
        for old, new in self.ports.items():
            text = text.replace(old, new)
        path = self.directory / (to or name.split("/", 1)[1])
        path.parent.mkdir(exist_ok=True)
        path.write_text(before + text)
        return path

    def _timeouts(self, *names):
        return [(f"{name}ms", "30s") for name in names] if self.patient else []

    def _shows(self, line):
        return [(f"# {line}", line), ("sluice_...", self.token)] if self.token else []

    def _nginx(self):
        self._copy("nginx/site.conf")
        self._copy("nginx/snippets/sluice_location.conf")
        self._copy("nginx/snippets/sluice_headers.conf")
        silent = [("error_page 502 504 = @sluice_yes;", "error_page 502 504 = @sluice_no;")] if self.closed else []
        token = self._shows("proxy_set_header Authorization")
        self._copy("nginx/snippets/sluice_server.conf", *silent, *token, *self._timeouts("100", "50"))
        # What Debian's nginx.conf has around a site, without its folders: this one may belong to anybody.
        folders = "".join(f"{name}_temp_path {self.directory};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (self.directory / "nginx.conf").write_text(
            "daemon off;\nmaster_process off;\npid nginx.pid;\nerror_log stderr;\nevents {}\n"
            "http {\naccess_log off;\n" + folders + "include site.conf;\n}\n")
        return ["nginx", "-p", f"{self.directory}/", "-c", "nginx.conf", "-e", "stderr"]

    def _caddy(self):
        silent = [("respond 204", "respond 503")] if self.closed else []
        token = self._shows("header_up Authorization") + ([("header_up -Authorization", "")] if self.token else [])
        path = self._copy("caddy/Caddyfile", *silent, *token, *self._timeouts("100", "50"), before="{\n\tadmin off\n}\n")
        return ["caddy", "run", "--config", path, "--adapter", "caddyfile"]

    def _haproxy(self):
        socket_name = ("abns@sluice", f"abns@sluice-{self.port}")
        silent = [("lua.sluice open", "lua.sluice closed")] if self.closed else []
        checks = [("inter 1s", "inter 60s")] if self.patient else []
        self._copy("haproxy/sluice.lua", socket_name, *([("TIMEOUT_MS = 1000", "TIMEOUT_MS = 60000")] if self.patient else []))
        path = self._copy("haproxy/haproxy.cfg", socket_name, ("/etc/haproxy/", f"{self.directory}/"), *silent, *checks,
                          *self._shows("http-request set-header Authorization"), *self._timeouts("100", "50"))
        return ["haproxy", "-db", "-f", path]

    def _listens(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"the proxy ended:\n{self.log()}")
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
            return True
        except ConnectionRefusedError:
            return False

    @property
    def running(self):
        return self.process.poll() is None

    def log(self):
        return self.log_file.read_text(errors="replace")

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Client:
    """A client of a proxy: one keep-alive connection from an address of its own on the loopback."""

    def __init__(self, port, address="127.0.0.1"):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_SECONDS, source_address=(address, 0))

    def request(self, method, path, body=None, headers=None):
        self.connection.request(method, path, body=body, headers=headers or {})
        return Answer(self.connection.getresponse())

    def get(self, path="/", headers=None):
        return self.request("GET", path, headers=headers)

    def close(self):
        self.connection.close()
