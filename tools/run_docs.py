#!/usr/bin/python3
"""Runs what the documentation shows, so that it stays true.

    tools/run_docs.py [FILE.md …]       default: README.md, CONTRIBUTING.md and everything below docs/ and examples/

In a ```console block a line `$ command` is run in a scratch copy of the repository and the lines after it are
what it must print. `…` stands for anything within a line; a line of just `…` for any lines. A command goes on
after a backslash, or on lines that begin with `> ` (here documents). A command that shows no output must succeed.
  `$ make run …` and `$ sluice serve …` start a server for the rest of the file, in place of the one before; what
      they print must come in that order in its log. It listens on a free port; 8080 in the text means that port,
      and SLUICE_SERVER in the environment tells it to the other subcommands. So does 6380, for the Redis protocol.
  `$ make …`, `$ git clone …` and `$ cd …` are for the reader, and not run.
A ```yaml block that begins with `policies:` must pass `sluice policy validate`.
What cannot be run says why, right before the block:   <!-- doctest: skip, because it needs a second machine -->
"""

import concurrent.futures
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/blackbox"))

from harness.ports import free_port  # noqa: E402
from harness.server import Server, binary  # noqa: E402

FOR_THE_READER = re.compile(r"(make|git clone|cd)\b")
PORT_IN_TEXT = re.compile(r"\b(127\.0\.0\.1|localhost):8080\b")
COMMAND_SECONDS = 120


class Block:
    """A fenced block: its language, its lines, the number of its first line, and why it is not run (or None)."""

    def __init__(self, language, line, skip):
        self.language, self.line, self.skip, self.lines = language, line, skip, []


def blocks(text):
    """Yields the fenced blocks of a Markdown text."""
    current, skip = None, None
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r"\s*```(\w*)", line)
        if current and fence:
            yield current
            current = None
        elif current:
            current.lines.append(line)
        elif fence:
            current, skip = Block(fence[1], number + 1, skip), None
        elif note := re.match(r"\s*<!-- doctest: skip, because (.+) -->", line):
            skip = note[1]
        elif line.strip():
            skip = None


def commands(block):
    """Yields (line number, command, expected output lines) of a console block."""
    command, expected, start = None, [], 0
    for number, line in enumerate(block.lines, block.line):
        if line.startswith("$ "):
            if command is not None:
                yield start, command, expected
            command, expected, start = line[2:], [], number
        elif command is not None and not expected and (command.endswith("\\") or line.startswith("> ")):
            command += "\n" + line.removeprefix("> ")
        elif command is None:
            raise ValueError(f"line {number}: a console block begins with `$ command`")
        else:
            expected.append(line)
    if command is not None:
        yield start, command, expected


def pattern(expected):
    """The regular expression of expected output lines."""
    within = lambda line: "[^\n]*".join(re.escape(part) for part in line.rstrip().split("…"))
    return "".join(r"(?:[^\n]*\n)*?" if line.strip() == "…" else within(line) + r"[ \r]*\n" for line in expected)


class Document:
    """One Markdown file being run: its scratch copy of the repository and, once started, its server."""

    def __init__(self, path, scratch):
        self.path, self.scratch, self.server, self.problems, self.ran = path, pathlib.Path(scratch), None, [], 0
        names = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                               capture_output=True, text=True)
        for name in filter(None, names.stdout.split("\0")):
            if (ROOT / name).is_file():
                (self.scratch / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.scratch / name)
        program = self.scratch / "build/release/sluice"
        program.parent.mkdir(parents=True)
        program.symlink_to(binary())
        self.redis_port = free_port()
        self.environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}

    def run(self):
        for block in blocks(self.path.read_text()):
            if block.skip:
                continue
            if block.language in ("sh", "bash", "shell"):
                self.problem(block.line, "use a ```console block with `$ command` lines, so that it is run")
            elif block.language == "console":
                for line, command, expected in commands(block):
                    self.run_command(line, command, expected)
            elif block.language == "yaml" and re.match(r"(#.*\n|\s*\n)*policies:", "\n".join(block.lines)):
                self.validate(block)

    def problem(self, line, text):
        self.problems.append(f"{self.path}:{line}: {text}")

    def run_command(self, line, command, expected):
        command = command.replace("6380", str(self.redis_port))
        if serving := re.match(r"(?:make run\b|(?:build/release/)?sluice serve\b)(.*)", command, re.DOTALL):
            self.serve(command, serving[1])
            output = self.as_in_text(self.server.log())
            found = re.search(r"(?:[^\n]*\n)*?".join(pattern([one]) for one in expected), output)
        elif FOR_THE_READER.match(command):
            return
        else:
            environment = dict(self.environment)
            if self.server:
                command = PORT_IN_TEXT.sub(rf"\1:{self.server.port}", command)
                environment["SLUICE_SERVER"] = self.server.address
            result = subprocess.run(["bash", "-c", command], cwd=self.scratch, env=environment, text=True,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                    timeout=COMMAND_SECONDS)
            output = self.as_in_text(result.stdout)
            output += "" if output.endswith("\n") or not output else "\n"
            found = re.fullmatch(pattern(expected), output) if expected else result.returncode == 0
        self.ran += 1
        if not found:
            self.problem(line, f"`{command}` should print\n  " + "\n  ".join(expected or ["(and succeed)"])
                         + "\nbut printed\n  " + output.rstrip("\n").replace("\n", "\n  "))

    def serve(self, command, rest):
        self.stop()
        words = shlex.split(rest.rstrip("& \n").replace("\\\n", " "))
        if command.startswith("make"):
            given = dict(word.split("=", 1) for word in words)
            words = ["--policies", given.get("POLICIES", "examples/policies.yaml"), *shlex.split(given.get("ARGS", ""))]
        while "--listen" in words:
            del words[(at := words.index("--listen")):at + 2]
        self.server = Server(self.scratch, args=words)

    def as_in_text(self, output):
        return re.sub(rf":{self.server.port}\b", ":8080", output) if self.server else output

    def validate(self, block):
        file = self.scratch / "shown.yaml"
        file.write_text("\n".join(block.lines) + "\n")
        self.ran += 1
        result = subprocess.run([binary(), "policy", "validate", file], cwd=self.scratch, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)
        if result.returncode != 0:
            self.problem(block.line, "`sluice policy validate` refuses this policy: " + result.stdout.strip())

    def stop(self):
        if self.server and (status := self.server.stop()) != 0:
            self.problem(1, f"the server ended with {status}:\n{self.server.log()}")
        self.server = None


def run_file(path):
    """Runs one Markdown file; returns (how many examples ran, problems)."""
    with tempfile.TemporaryDirectory(prefix="sluice-docs-") as scratch:
        document = Document(path, scratch)
        try:
            document.run()
            document.stop()
        finally:
            if document.server:
                document.server.kill()
        return document.ran, document.problems


def main():
    shown = ("README.md", "CONTRIBUTING.md", "docs/**/*.md", "examples/**/*.md")
    default = [path for one in shown for path in sorted(ROOT.glob(one))]
    paths = [pathlib.Path(name).resolve() for name in sys.argv[1:]] or default
    total, problems = 0, []
    # Side by side: most of their time they wait.
    with concurrent.futures.ProcessPoolExecutor(2 * os.cpu_count()) as pool:
        for ran, found in pool.map(run_file, paths):
            total, problems = total + ran, problems + found
    print("\n".join(problems + [f"tools/run_docs.py: {total} examples run, {len(problems)} wrong"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
