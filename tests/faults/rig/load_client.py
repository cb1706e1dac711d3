"""Keeps checks in flight and remembers every answer. A process of its own, so that nothing the test does slows it down.

    load_client.py OUTPUT DEGRADED < plan.json      runs until stdin ends, then settles, and writes its records to OUTPUT

While it runs, the file DEGRADED is as many bytes long as answers were degraded so far.

rig.load starts it and reads what it writes; the plan is load.Plan as JSON.
"""

import asyncio
import json
import pickle
import sys
import time

BEAT_S = 0.01
RETRY_AFTER_S = 0.03


class Connection:
    """One keep-alive HTTP/1.1 connection, one request at a time."""

    def __init__(self, target):
        self.target = target
        self.reader = self.writer = None

    async def post(self, path, body):
        """(status, JSON), or (0, what went wrong)."""
        try:
            if self.writer is None:
                self.reader, self.writer = await asyncio.open_connection(*self.target)
            data = json.dumps(body).encode()
            self.writer.write(b"POST %s HTTP/1.1\r\nHost: sluice\r\nContent-Type: application/json\r\n"
                              b"Content-Length: %d\r\n\r\n" % (path, len(data)) + data)
            head = await self.reader.readuntil(b"\r\n\r\n")
            fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if line)
            answer = await self.reader.readexactly(int(fields[b"content-length"]))
            return int(head.split(b" ", 2)[1]), json.loads(answer)
        except (OSError, EOFError, ValueError) as failure:
            self.close()
            return 0, repr(failure)

    def close(self):
        if self.writer is not None:
            self.writer.close()
        self.reader = self.writer = None


class Client:
    def __init__(self, plan, degraded):
        self.plan = plan
        self.degraded = degraded
        self.records = []
        self.stalls = []
        self.stopping = False
        self.settle_until = None
        self.next_number = 0
        self.interval_s = plan["connections"] / plan["per_second"]

    def next_check(self):
        number = self.next_number
        self.next_number += 1
        check = {"policy_id": self.plan["policy_id"], "key": f"{self.plan['key']}{number % self.plan['keys']}",
                 "tenant_id": f"{self.plan['tenant']}{number % self.plan['tenants']}",
                 "tokens": 1 + number % self.plan["costs"]}
        if self.plan["ids"]:
            check["request_id"] = f"{self.plan['ids']}{number}"
        return number, check

    def wants_retry(self, status, answer):
        if not self.plan["ids"] or (status == 200 and not answer["degraded"]):
            return False
        return not self.stopping or time.monotonic() < self.settle_until

    async def work(self, lane):
        targets = self.plan["targets"]
        connection = Connection(targets[lane % len(targets)])
        await asyncio.sleep(self.interval_s * lane / self.plan["connections"])
        due = time.monotonic()
        while not self.stopping:
            number, check = self.next_check()
            while True:
                status, answer = await self.ask(connection, number, check)
                if self.plan["fresh_ids"]:
                    check["request_id"] += "+"
                if not self.wants_retry(status, answer):
                    break
                await asyncio.sleep(RETRY_AFTER_S)
            now = time.monotonic()
            due = max(due + self.interval_s, now - self.interval_s)
            await asyncio.sleep(max(0, due - now))
        connection.close()

    async def ask(self, connection, number, check):
        began = time.monotonic()
        try:
            status, answer = await asyncio.wait_for(connection.post(b"/v1/ratelimit/check", check), self.plan["hang_s"])
        except asyncio.TimeoutError:
            connection.close()
            status, answer = 0, "no answer"
        self.records.append((number, check["tokens"], check["key"], check["tenant_id"], began, time.monotonic(), status,
                             answer))
        if status == 200 and answer["degraded"]:
            self.degraded.write(b".")
        return status, answer

    async def beat(self):
        """The metronome: see rig/patience.py."""
        while True:
            began = time.monotonic()
            await asyncio.sleep(BEAT_S)
            self.stalls.append((began, time.monotonic() - began - BEAT_S))

    async def run(self):
        metronome = asyncio.ensure_future(self.beat())
        lanes = [asyncio.ensure_future(self.work(lane)) for lane in range(self.plan["connections"])]
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.buffer.read)
        self.settle_until = time.monotonic() + self.plan["settle_s"]
        self.stopping = True
        await asyncio.gather(*lanes)
        metronome.cancel()


def slowdown():
    """How many times longer our work took than it would have alone on a core: what the kernel says that we waited for one."""
    with open("/proc/self/schedstat", encoding="ascii") as file:
        ran_ns, waited_ns, _ = map(int, file.read().split())
    return (ran_ns + waited_ns) / max(ran_ns, 1)


def main():
    with open(sys.argv[2], "wb", buffering=0) as degraded:
        client = Client(json.loads(sys.stdin.buffer.readline()), degraded)
        asyncio.run(client.run())
    with open(sys.argv[1], "wb") as output:
        pickle.dump((client.records, client.stalls, slowdown()), output)


if __name__ == "__main__":
    main()
