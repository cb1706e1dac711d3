"""The commands of the program under test, run to their end."""

import os
import socket
import subprocess
import threading

from harness.server import SANITIZER_REPORT, binary


def sluice(*arguments, server=None, env=None, stdin="", cwd=None):
    """Runs `sluice …`: .returncode, .stdout, .stderr (text). `server`: the running Server it is to talk to.

    Variables of the caller's environment that are options of ours are not passed on.
    """
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
    if server:
        clean["SLUICE_SERVER"] = server.url
    done = subprocess.run([str(binary()), *map(str, arguments)], env={**clean, **(env or {})}, input=stdin,
                          capture_output=True, text=True, timeout=120, cwd=cwd)
    assert not SANITIZER_REPORT.search(done.stderr), done.stderr
    return done


def works(*arguments, status=0, **options):
    """What it prints; it must end with this status, and say nothing on stderr."""
    done = sluice(*arguments, **options)
    assert (done.returncode, done.stderr) == (status, ""), done
    return done.stdout


def fails(*arguments, status=2, **options):
    """The one sentence that it prints on stderr; it must end with this status and print nothing else."""
    done = sluice(*arguments, **options)
    assert (done.returncode, done.stdout) == (status, ""), done
    assert done.stderr.count("\n") == 1, done
    return done.stderr.strip()


class Listener:
    """Answers each connection with a function, on a thread."""

    def __init__(self, answer):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.answer = answer
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.answer(connection)

    def __enter__(self):
        self.thread.start()
        return f"http://127.0.0.1:{self.socket.getsockname()[1]}"

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join()
