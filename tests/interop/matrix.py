"""Every case with every client: starts the servers, the clients, and what stands between them."""

import json
import signal
import subprocess
import threading

from builds import ENVIRONMENT, Failed
from cases import CASES, CODES, DRAIN, GONE, LIMIT, POLICIES, RETRYABLE
from harness.admin import QUICK_END, sqlite
from harness.certificates import Authority
from harness.proxies import Client as Http
from harness.redis_server import Redis
from harness.server import DIE_WITH_PARENT, Server, wait_until
from wire import DATA, HEADERS, PING, RST_STREAM, Wire

CLIENT_SECONDS = 180
QUIET_SECONDS = 5


class Program:
    """A client under way. Its lines come one by one; it must end by itself, with status 0."""

    def __init__(self, command, directory):
        self.command = command
        self.errors = directory / "client.log"
        with open(self.errors, "ab") as log:
            self.process = subprocess.Popen([*DIE_WITH_PARENT, *command], cwd=directory, env=ENVIRONMENT, stderr=log,
                                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.watchdog = threading.Timer(CLIENT_SECONDS, self.process.kill)
        self.watchdog.start()

    def lines(self):
        """What the client reports, while it does. Fails if the client does."""
        for line in self.process.stdout:
            yield json.loads(line)
        self.stop()
        if self.process.returncode != 0:
            raise Failed(f"{self.command[0]} ended with {self.process.returncode}:\n{self.errors.read_text()[-2000:]}")

    def stop(self):
        self.process.stdout.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.watchdog.cancel()


class Matrix:
    """The servers that the clients share, and the results: results[client][what] = (is it right?, text)."""

    def __init__(self, directory):
        self.directory = directory
        self.authority = Authority(directory)
        own = self.authority.for_servers()
        self.redis = Redis(directory / "redis")
        self.results = {}
        self.lock = threading.Lock()
        self.servers = []
        try:
            self.memory = self.serve("memory", *sqlite(directory))
            self.tls = self.serve("tls", "--tls-cert", str(own.certificate), "--tls-key", str(own.key), *QUICK_END)
            self.counters = self.serve("counters", "--store", self.redis.url, *QUICK_END)
        except BaseException:
            self.stop()
            raise

    def serve(self, name, *args):
        self.servers.append(Server(self.directory / name, POLICIES, args))
        return self.servers[-1]

    def stop(self):
        """Every server must have lived till now, and must end well."""
        try:
            for one in self.servers:
                if not one.running or one.stop() != 0:
                    raise Failed(f"a server ended with {one.process.returncode}:\n{one.log()[-4000:]}")
        finally:
            for one in self.servers:
                one.kill()
            self.redis.stop()

    def note(self, name, what, right, text):
        with self.lock:
            self.results.setdefault(name, {})[what] = (right, text)
        if not right:
            print(f"    {name}: {what}: {text}", flush=True)

    def judge(self, name, mode, lines):
        """Compares what a client has reported with what must be."""
        reported = {line["case"]: line for line in lines}
        for case in (each for each in CASES if each.mode == mode):
            line = reported.get(case.name)
            self.note(name, case.what, *(case.shown(line) if line else (False, "not reported")))

    def run(self, name, start):
        """All modes but `idle`. start(mode, address, …) is the command of the client."""
        self.judge(name, "calls", Program(start("calls", self.memory.address), self.directory).lines())
        self.run_slow(name, start)
        self.judge(name, "tls", Program(start("tls", self.tls.address, str(self.authority.file)), self.directory).lines())
        self.run_drain(name, start)

    def run_slow(self, name, start):
        """Redis falls silent before the client comes, and speaks again after its last case but one.

        On a server of its own: one that has met silence before would not wait for Redis, but apply the failure rule at once.
        """
        server = self.serve("slow-" + name, "--store", self.redis.url, "--threads", "1", *QUICK_END)
        self.charged("nothing", server)  # its connection to Redis is up
        wire = Wire(server.host, server.port)
        self.redis.client.client_pause(CLIENT_SECONDS * 1000, all=False)  # all=True would silence the end of the pause, too
        lines = []
        try:
            for line in Program(start("slow", wire.address), self.directory).lines():
                lines.append(line)
                if line["case"] == "deadline":
                    self.redis.client.client_unpause()
        finally:
            self.redis.client.client_unpause()
            wire.close()
        self.judge(name, "slow", lines)
        opened = [frame.stream for frame in wire.seen(HEADERS, from_client=True)]
        told = {frame.stream for frame in wire.seen(RST_STREAM, from_client=True)}
        right = told.issuperset(opened[:2]) and wire.connections == 1  # the first two are those that it cancels
        self.note(name, "the server is told of both cancellations (RST_STREAM), the connection goes on", right,
                  "yes" if right else f"resets of {told} of {opened}, {wire.connections} connections")

    def run_drain(self, name, start):
        """SIGTERM under load. Each call is answered and charged, or may be sent again and is not charged."""
        self.redis.client.flushall()
        server = self.serve("drain-" + name, "--store", self.redis.url, "--drain-notice-ms", "300")
        for line in Program(start("drain", server.address), self.directory).lines():
            if line["case"] == "before the drain":
                wait_until(lambda: self.charged("load", self.counters) > 1000, "load", CLIENT_SECONDS)
                server.signal(signal.SIGTERM)
        status = server.process.wait(CLIENT_SECONDS)
        self.servers.remove(server)
        counts = {CODES[int(code)]: count for code, count in json.loads(line["text"]).items()}
        answered = counts.pop("OK", 0)
        retryable = sum(counts.pop(code, 0) for code in RETRYABLE.get(name, GONE))
        charged = self.charged("load", self.counters) - 1  # one came before the load
        lost = sum(counts.values()) + abs(charged - answered)
        right = answered > 1000 and lost == 0 and status == 0
        others = "" if right else f" ({counts}, {charged} charged, exit status {status})"
        self.note(name, DRAIN, right, f"{answered} / {retryable} / {lost}{others}")

    def charged(self, key, server):
        """What Redis has counted for a key, as a server sees it."""
        look = json.dumps({"policy_id": "p", "key": key, "tokens": 0})
        asked = Http(server.port)
        try:
            answer = wait_until(lambda: self._from_redis(asked.request("POST", "/v1/ratelimit/check", look).json), "an answer from Redis", CLIENT_SECONDS)
        finally:
            asked.close()
        return LIMIT - answer["remaining"]

    @staticmethod
    def _from_redis(answer):
        return None if answer["degraded"] else answer

    def run_idle(self, starts):
        """All clients at once, since they mostly wait."""
        threads = [threading.Thread(target=self._idle, args=each) for each in starts.items()]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    @staticmethod
    def quiet_pings(wire):
        """The pings between the two checks. Some clients also send one with each answer, to measure the way."""
        first, *_, last = (frame.at_s for frame in wire.seen(DATA, from_client=True))
        return [frame for frame in wire.seen(PING, from_client=True, ack=False) if first + QUIET_SECONDS < frame.at_s < last]

    def _idle(self, name, start):
        wire = Wire(self.memory.host, self.memory.port)
        what = "the pings are answered, the connection is the same"
        try:
            self.judge(name, "idle", list(Program(start("idle", wire.address), self.directory).lines()))
            sent, answered = self.quiet_pings(wire), wire.seen(PING, from_client=False, ack=True)
            right = len(sent) >= 1 and len(answered) >= len(sent) and wire.connections == 1
            self.note(name, what, right, "yes" if right else f"{len(sent)} pings, {len(answered)} answers, {wire.connections} connections")
        except Failed as error:
            self.note(name, what, False, str(error))
        finally:
            wire.close()
