"""Servers and load as child processes: pinned to a core, stopped by pid whatever happens."""

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "bench"

SERVER_CORE = 0
LOAD_CORE = 1
READY_SECONDS = 20


class BenchError(Exception):
    """A sentence for the person who runs the benchmark."""


def take_precedence():
    """All that is started from here on goes before whatever else the machine does, in other sessions."""
    pathlib.Path("/proc/self/autogroup").write_text("-20")


def pinned(core, command, is_load=False):
    """`is_load`: it is there to be in the way, and gives way itself."""
    return [*(["chrt", "--idle", "0"] if is_load else []), "taskset", "-c", str(core), *map(str, command)]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def cpu_seconds(pid):
    """CPU time of a process so far, all threads, user and system."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run_load(command, core=None):
    """Runs one load generator on its core, or on these, to its end; returns what it printed."""
    done = subprocess.run(pinned(LOAD_CORE if core is None else core, command), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f"{command[0]} failed ({done.returncode}):\n{done.stdout}{done.stderr}")
    return done.stdout


class Server:
    """A running server: its pid and port, and if it speaks TLS, a file with its authority."""

    ca = None

    def __init__(self, process, port, log):
        self.process, self.pid, self.port, self.log = process, process.pid, port, log
        self.address = f"127.0.0.1:{port}"

    def wait_ready(self, name):
        give_up = time.monotonic() + READY_SECONDS
        while time.monotonic() < give_up:
            if self.process.poll() is not None:
                self.log.seek(0)
                raise BenchError(f"{name} ended with status {self.process.returncode} instead of serving:\n{self.log.read()}")
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise BenchError(f"{name} does not answer on port {self.port}")

    def stop(self):
        if self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def serving(name, make_command, cwd=None, core=SERVER_CORE):
    """Starts `make_command(port)` on that core; yields the Server; stops it."""
    port = free_port()
    command = make_command(port)
    if not pathlib.Path(command[0]).exists():
        raise BenchError(f"{command[0]} is missing; run `make bench`, which builds it")
    with tempfile.TemporaryFile("w+") as log:
        # taskset replaces itself by the server, so the pid is the server's.
        process = subprocess.Popen(pinned(core, command), cwd=cwd, stdout=subprocess.DEVNULL, stderr=log)
        server = Server(process, port, log)
        try:
            server.wait_ready(name)
            yield server
        finally:
            server.stop()


def sluice(policies="bench/policies.yaml", store="memory", core=SERVER_CORE, more=()):
    return serving("sluice", lambda port: [
        BUILD / "sluice", "serve", "--listen", f"127.0.0.1:{port}", "--policies", ROOT / policies, "--threads", "1",
        "--store", store, *more], core=core)


@contextlib.contextmanager
def sluice_tls():
    """With TLS, and a certificate that is its own authority: .ca is its file."""
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as folder:
        certificate, key = pathlib.Path(folder, "server.pem"), pathlib.Path(folder, "server.key")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                        "-subj", "/CN=bench", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                       check=True, capture_output=True)
        with sluice(more=["--tls-cert", certificate, "--tls-key", key]) as server:
            server.ca = certificate
            yield server


def grpcpp():
    return serving("grpcpp_baseline", lambda port: [BUILD / "grpcpp_baseline", f"127.0.0.1:{port}"])


def own_loop():
    return serving("own_loop", lambda port: [BUILD / "own_loop", str(port)])


def asio_loop():
    return serving("asio_loop", lambda port: [BUILD / "asio_loop", str(port)])


@contextlib.contextmanager
def nginx():
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as prefix:
        def command(port):
            text = (ROOT / "bench" / "nginx.conf").read_text().replace("@PORT@", str(port))
            pathlib.Path(prefix, "nginx.conf").write_text(text)
            return ["/usr/sbin/nginx", "-p", prefix, "-c", "nginx.conf"]

        with serving("nginx", command, cwd=prefix) as server:
            yield server
