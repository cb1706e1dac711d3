"""A TCP proxy between Sluice and Redis that fails on demand: the network, at its worst.

It runs on a thread of its own; the test's thread sets what goes wrong, at any time, for the connections that exist and
for those to come. "Replies" are what the server behind it sends, "requests" what the client sends.
"""

import asyncio
import dataclasses
import random
import socket
import struct
import threading

from harness.ports import free_port

CHUNK = 65_536
SEE_AGAIN_S = 0.005  # how often a connection that is held looks whether it still is


@dataclasses.dataclass(frozen=True)
class Weather:
    """What the network does to every byte. The default is a good day."""
    latency_s: float = 0          # each way
    jitter_s: float = 0           # added to it, at random from 0 to this; the order of bytes is kept
    bytes_per_s: float = 0        # each way and connection; 0: as fast as it goes
    reply_slice: int = 0          # replies go out in pieces of so many bytes, each its own segment; 0: whole
    silent: bool = False          # connections are accepted; requests are read and lost, replies are lost
    deaf: bool = False            # connections are accepted; nothing is read from either side


class FaultProxy:
    """Listens on .port of the loopback from start() to stop(), and connects each client to the target.

    Thread-safe, as far as one thread at a time sets the faults.
    """

    def __init__(self, target_host, target_port):
        self.target = (target_host, target_port)
        self.port = None
        self.weather = Weather()
        self.accepted = 0  # connections so far
        self._cut_after = None  # a function that says after how many bytes of replies, or None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._links = set()
        self._server = None

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}"

    @property
    def open_connections(self):
        return len(self._links)

    # What a test may do to the network. Each holds until the next call.

    def set(self, **weather):
        """set(latency_s=0.05, jitter_s=0.02): this weather from now on, and nothing of what was set before."""
        self.weather = Weather(**weather)

    def cut_replies_after(self, choose_bytes):
        """Every connection, old or new, is reset after choose_bytes() more bytes of replies: the request has arrived,
        its answer has not, or not all of it. None: no longer."""
        def arm():
            self._cut_after = choose_bytes
            for link in self._links:
                link.arm(choose_bytes)
        self._call(arm)

    def heal(self):
        """A good day again, for connections that lost nothing; those that did are reset."""
        lossy = self.weather.silent
        self.weather = Weather()
        self.cut_replies_after(None)
        if lossy:
            self.reset_connections()

    def reset_connections(self):
        """Every connection is gone at once, with a reset to both sides."""
        self._call(lambda: [link.reset() for link in list(self._links)])

    def half_close(self):
        """Says goodbye to the clients (a FIN) and goes on reading what they send."""
        self._call(lambda: [link.half_close() for link in self._links])

    def refuse(self):
        """Nobody listens any more, and every connection is reset."""
        async def close():
            self._server.close()
            await self._server.wait_closed()
        self._wait_for(close())
        self.reset_connections()

    def accept(self):
        """Listens again, on the same port."""
        self._wait_for(self._listen())

    # Life.

    def start(self):
        self.port = free_port()
        self._thread.start()
        self._wait_for(self._listen())
        return self

    def stop(self):
        if not self._thread.is_alive():
            return
        self.refuse()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self):
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        pending = asyncio.all_tasks(self._loop)
        for task in pending:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
        self._loop.close()

    def _call(self, function):
        async def run():
            function()
        self._wait_for(run())

    def _wait_for(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30)

    async def _listen(self):
        self._server = await asyncio.start_server(self._on_client, "127.0.0.1", self.port, limit=CHUNK)

    async def _on_client(self, client_reader, client_writer):
        self.accepted += 1
        try:
            server_reader, server_writer = await asyncio.open_connection(*self.target, limit=CHUNK)
        except OSError:
            client_writer.transport.abort()
            return
        link = _Link(self, client_writer, server_writer)
        self._links.add(link)
        if self._cut_after:
            link.arm(self._cut_after)
        try:
            await asyncio.gather(link.carry(client_reader, server_writer, replies=False),
                                 link.carry(server_reader, client_writer, replies=True))
        finally:
            self._links.discard(link)
            link.reset()


class _Link:
    """One client's connection and ours to the server behind it."""

    def __init__(self, proxy, client, server):
        self.proxy, self.client, self.server = proxy, client, server
        self.replies_left = None  # bytes until the cut
        self.ended = False
        self.said_goodbye = False  # to the client
        for writer in (client, server):
            writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def arm(self, choose_bytes):
        self.replies_left = choose_bytes() if choose_bytes else None

    def reset(self):
        self.ended = True
        for writer in (self.client, self.server):
            if not writer.transport.is_closing():
                # Linger for 0 seconds: the kernel forgets what is unsent and says RST, not FIN.
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()

    def half_close(self):
        if not self.client.transport.is_closing():
            self.said_goodbye = True
            self.client.write_eof()

    async def carry(self, reader, writer, replies):
        """Carries bytes one way until somebody has enough."""
        line = _Line(self, writer, replies)
        try:
            while not self.ended:
                while self.proxy.weather.deaf and not self.ended:
                    await asyncio.sleep(SEE_AGAIN_S)
                data = await reader.read(CHUNK)
                if not data:
                    break
                await line.put(data)
            await line.end()
        except OSError:
            pass
        finally:
            line.close()
            self.reset()


class _Line:
    """One direction of a link: what was read goes out when its time has come, in order."""

    def __init__(self, link, writer, replies):
        self.link, self.writer, self.replies = link, writer, replies
        self.queue = asyncio.Queue(maxsize=1000)
        self.task = asyncio.ensure_future(self._deliver())

    async def put(self, data):
        now = asyncio.get_running_loop().time()
        weather = self.link.proxy.weather
        await self.queue.put((now + weather.latency_s + random.uniform(0, weather.jitter_s), data))

    async def end(self):
        await self.queue.put(None)
        await self.task

    def close(self):
        self.task.cancel()

    async def _deliver(self):
        loop = asyncio.get_running_loop()
        while (item := await self.queue.get()) is not None:
            due, data = item
            await asyncio.sleep(max(0, due - loop.time()))
            while self.link.proxy.weather.deaf:
                await asyncio.sleep(SEE_AGAIN_S)
            if self.link.proxy.weather.silent or (self.replies and self.link.said_goodbye):
                continue
            try:
                await self._send(data)
            except OSError:
                self.link.reset()
                return

    async def _send(self, data):
        left = self.link.replies_left
        cut = self.replies and left is not None and len(data) >= left
        if cut:
            data = data[:left]
        elif self.replies and left is not None:
            self.link.replies_left -= len(data)
        await self._send_in_pieces(data)
        if cut:
            await asyncio.sleep(SEE_AGAIN_S)  # so that the client reads the part before it hears of the reset
            self.link.reset()

    async def _send_in_pieces(self, data):
        weather = self.link.proxy.weather
        size = weather.reply_slice if self.replies else 0
        if weather.bytes_per_s:
            size = min(size or CHUNK, max(1, int(weather.bytes_per_s / 100)))
        size = size or len(data) or 1
        for at in range(0, len(data), size):
            piece = data[at:at + size]
            self.writer.write(piece)
            await self.writer.drain()
            pause = len(piece) / weather.bytes_per_s if weather.bytes_per_s else 0
            if pause or size < len(data):
                await asyncio.sleep(pause)
