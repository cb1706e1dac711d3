"""A real PostgreSQL as a child process, for tests."""

import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile

from .ports import free_port
from .server import wait_until

PASSWORD = "s3cret"


def program(name):
    """Debian keeps PostgreSQL's programs out of the path, by version."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    assert found or shutil.which(name), f"{name} is not installed; run `make deps`"
    return str(found[-1]) if found else name


class Postgres:
    """An empty PostgreSQL of its own, not started yet. It refuses to run as root, so root lets Debian's user run it."""

    def __init__(self):
        # Not in a test's own folder, which that user may not enter.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-postgres-"))
        self.port, self.process = free_port(), None
        self.prefix = ["setpriv", "--pdeathsig", "KILL"]
        if os.getuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self.prefix = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups",
                           "--pdeathsig", "KILL"]
        (self.folder / "password").write_text(PASSWORD + "\n")
        self.run("initdb", "-D", self.folder / "data", "-U", "sluice", "--pwfile", self.folder / "password",
                 "--auth", "scram-sha-256", "-E", "UTF8", "--no-sync", "--no-instructions")

    @property
    def url(self):
        return f"postgres://sluice:{PASSWORD}@127.0.0.1:{self.port}/postgres"

    def run(self, name, *arguments):
        subprocess.run([*self.prefix, program(name), *map(str, arguments)], cwd="/", check=True, capture_output=True)

    def answers(self):
        return subprocess.run([program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]).returncode == 0

    def start(self):
        """Returns when it answers."""
        self.process = subprocess.Popen(
            [*self.prefix, program("postgres"), "-D", self.folder / "data", "-p", str(self.port),
             "-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={self.folder}", "-c", "fsync=off",
             "-c", "shared_buffers=16MB"], cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        wait_until(self.answers, "an answer of PostgreSQL")
        return self

    def sql(self, statement):
        """Runs it, as somebody would who knows the password."""
        subprocess.run([program("psql"), "-q", "-v", "ON_ERROR_STOP=1", "-c", statement, self.url], check=True, capture_output=True)

    def stop(self):
        """At once, without a word to its clients. Safe to call at any time."""
        if self.process:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait()
            self.process = None

    def remove(self):
        """Stops it, and nothing of it is left."""
        self.stop()
        shutil.rmtree(self.folder)
