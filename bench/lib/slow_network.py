"""A network with a round-trip time worth measuring, on a machine that has none: a TCP proxy that delivers late."""

import asyncio
import contextlib
import threading

CHUNK = 1 << 16


async def carry(reader, writer, delay_s):
    """What comes in goes out so much later, in order, without holding up what comes after it."""
    loop = asyncio.get_running_loop()
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(CHUNK):
            loop.call_later(delay_s, writer.write, data)
    loop.call_later(delay_s, writer.close)


@contextlib.contextmanager
def far_away(ports, one_way_s):
    """`ports` maps a port to listen on to the local port behind it."""
    loop, ready = asyncio.new_event_loop(), threading.Event()

    async def listen():
        for port, behind in ports.items():
            async def accept(reader, writer, behind=behind):
                there_reader, there_writer = await asyncio.open_connection("127.0.0.1", behind)
                await asyncio.gather(carry(reader, there_writer, one_way_s), carry(there_reader, writer, one_way_s))
            await asyncio.start_server(accept, "127.0.0.1", port)

    def run():
        asyncio.set_event_loop(loop)
        loop.run_until_complete(listen())
        ready.set()
        loop.run_forever()
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    ready.wait()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
