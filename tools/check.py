#!/usr/bin/python3
"""The rules of the house that no compiler knows, each as a small function over the files of the repository.

    tools/check.py              checks the repository it lies in; prints file:line and what to do
    tools/check_test.py         proves that each rule catches a planted violation

A rule takes a Repo and yields (path, line, advice). To add one: write it, decorate it with @rule, plant a
violation in check_test.py.
"""

import pathlib
import posixpath
import re
import subprocess
import sys

import folder_table

# The folders of src/, lowest first. A folder may use only folders before it.
LAYERS = ["base", "redis", "net", "ledger", "algorithm", "client", "document", "store", "policy", "telemetry", "engine", "library", "control", "doors", "admin", "usage", "plan", "server", "loadgen", "cli"]
# Stricter than the order: the network layer knows nothing of limits.
FORBIDDEN = {"net": {"algorithm", "client", "document", "store", "policy", "engine"}}

# Who may read a real clock: the one clock, and what measures.
CLOCK_READERS = re.compile(r"src/base/clock\.cc|include/sluice/decorators/\w+\.h|src/cli/bench\w*\.\w+|bench/.*")
LINES_MAX = 500
COLUMNS_MAX = 120  # of Markdown

# These two quote what they forbid.
ABOUT_RULES = {"tools/check.py", "tools/check_test.py"}

RULES = []


def rule(function):
    RULES.append(function)
    return function


class Repo:
    """The text of every file, by its path from the root."""

    def __init__(self, files):
        self.files = files

    @staticmethod
    def load(root):
        names = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=root, check=True,
                               capture_output=True, text=True).stdout.split("\0")
        files = {}
        for name in filter(None, names):
            try:
                files[name] = (root / name).read_text(encoding="utf-8")
            except UnicodeDecodeError:
                files[name] = ""  # a picture: it exists, and has no lines
            except (FileNotFoundError, IsADirectoryError):
                pass  # deleted and not yet committed
        return Repo(files)

    def match(self, pattern):
        return [path for path in self.files if re.fullmatch(pattern, path)]

    def lines(self, path):
        return enumerate(self.files[path].splitlines(), 1)

    def exists(self, path):
        return path in self.files or any(other.startswith(path.rstrip("/") + "/") for other in self.files)


def without_comments(text):
    """C++ with comments and literals blanked out; line numbers stay."""
    token = r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\''
    return re.sub(token, lambda m: "\n" * m[0].count("\n"), text, flags=re.DOTALL)


def includes(repo, path):
    for number, line in repo.lines(path):
        if found := re.match(r'\s*#\s*include\s+"([^"]+)"', line):
            yield number, found[1]


def home(folder):
    """Where a folder of LAYERS lies."""
    return "bench/loadgen" if folder == "loadgen" else f"src/{folder}"


def allowed_folders(repo, folder):
    """The folders that its CMakeLists.txt names: (for its sources, for its tests too)."""
    text = re.sub(r"#[^\n]*", "", repo.files.get(f"{home(folder)}/CMakeLists.txt", ""))
    sources = re.sub(r"\bTEST_DEPS(\s+(?!TESTS|SOURCES|DEPS|PRIVATE_DEPS)[\w:.+-]+)*", "", text)
    names = lambda part: set(re.findall(r"\bsluice_(\w+)", part)) & set(LAYERS)
    return names(sources), names(text)


@rule
def layers(repo):
    for path in repo.match(r"(src/[^/]+|bench/loadgen)/.*\.(cc|h)"):
        folder = path.split("/")[1]
        if folder not in LAYERS:
            yield path, 1, f"src/{folder} has no place in the layers; add it to LAYERS in tools/check.py"
            continue
        for_sources, for_tests = allowed_folders(repo, folder)
        allowed = for_tests if path.endswith("_test.cc") or "/testing/" in path else for_sources
        below = set(LAYERS[:LAYERS.index(folder)]) - FORBIDDEN.get(folder, set())
        for number, target in includes(repo, path):
            other = target.split("/")[0]
            if posixpath.join(posixpath.dirname(path), target) in repo.files and "src/" + target not in repo.files:
                yield path, number, f'write the include from src/ on: "{folder}/{target}"'
            elif other not in LAYERS or other == folder:
                continue
            elif other not in below:
                yield path, number, f"{folder} may not know {other}; move the code, or pass the thing in from above"
            elif other not in allowed:
                yield path, number, f"add sluice_{other} to DEPS in {home(folder)}/CMakeLists.txt, or drop the include"


@rule
def declared_layers(repo):
    for folder in LAYERS:
        path = f"{home(folder)}/CMakeLists.txt"
        below = set(LAYERS[:LAYERS.index(folder)]) - FORBIDDEN.get(folder, set())
        for number, line in repo.lines(path) if path in repo.files else ():
            for other in re.findall(r"\bsluice_(\w+)", line.split("#")[0]):
                if other in LAYERS and other != folder and other not in below:
                    yield path, number, f"{folder} may not depend on {other}; remove sluice_{other}"


@rule
def real_clocks(repo):
    clock = re.compile(r"\b(steady|system|high_resolution|utc|tai|file)_clock\s*::\s*now\b|\bclock_gettime\b|"
                       r"\bgettimeofday\b|\btimespec_get\b|\b__rdtscp?\b|"
                       r"(?<![\w.>])(?:std::)?time\s*\(\s*(?:nullptr|NULL|0|&\w+)\s*\)|\bstd::clock\s*\(")
    for path in repo.match(r"(src|tests|include)/.*\.(cc|h)"):
        if CLOCK_READERS.fullmatch(path):
            continue
        for number, line in enumerate(without_comments(repo.files[path]).split("\n"), 1):
            if clock.search(line):
                yield path, number, "take a Clock& (base/clock.h) instead of reading a real clock"


@rule
def everything_is_used(repo):
    included = {(path, target) for path in repo.match(r".*\.(cc|h)") for _, target in includes(repo, path)}
    for path in repo.match(r"src/.*\.h"):
        if not any("src/" + target == path and user != path for user, target in included):
            yield path, 1, "nobody includes this header; use it or delete it"


@rule
def using_is_used(repo):
    for path in repo.match(r".*\.cc"):
        text = without_comments(repo.files[path])
        for found in re.finditer(r"^using (?:\w+::)+(\w+);", text, re.MULTILINE):
            if len(re.findall(rf"\b{found[1]}\b", text)) == 1:
                yield path, text.count("\n", 0, found.start()) + 1, f"{found[1]} is not used here; remove the line"


@rule
def file_length(repo):
    for path, text in repo.files.items():
        code = re.search(r"\.(cc|h|py)$", path) or re.match(r"#!.*python", text)
        if code and text.count("\n") > LINES_MAX:
            yield path, LINES_MAX + 1, f"{text.count(chr(10))} lines; split it by ideas, at most {LINES_MAX} each"


@rule
def unfinished_work(repo):
    word = re.compile(r"\b(TODO|FIXME|XXX)\b|\bDISABLED_|\bGTEST_SKIP\b|^\s*#\s*if\s+0\b|\bmark\.(skip|skipif|xfail)\b|"
                      r"\bpytest\.(skip|xfail)\b")
    for path in repo.files.keys() - ABOUT_RULES:
        for number, line in repo.lines(path):
            if found := word.search(line):
                yield path, number, f"'{found[0].strip()}': finish it or remove it"


@rule
def pragma_once(repo):
    for path in repo.match(r".*\.h"):
        if not re.search(r"^#pragma once$", repo.files[path], re.MULTILINE):
            yield path, 1, "start the header with #pragma once"


@rule
def only_about_itself(repo):
    machine = re.compile(r"(?<![\w.*}])/(?:work|root|home/\w+)/|/tmp/wt\b")
    registry = re.compile(r"\b(?:(?:deb|security|snapshot)\.debian\.org|files\.pythonhosted\.org|pypi\.org|"
                          r"registry\.npmjs\.org|proxy\.golang\.org|(?:static\.|index\.)?crates\.io(?!-index\")|"
                          r"repo1?\.maven(?:\.apache)?\.org|docker\.io|ghcr\.io|quay\.io)\b")
    for path in repo.files.keys() - ABOUT_RULES:
        for number, line in repo.lines(path):
            if found := machine.search(line):
                yield path, number, f"'{found[0]}' exists on one machine only; use a relative path"
            if found := registry.search(line):
                yield path, number, f"'{found[0]}': name the package; the registry is each machine's own setting"


@rule
def vectors_are_used(repo):
    tests = "\n".join(repo.files[path] for path in repo.match(r".*_test\.(cc|py)|tests/.*\.(cc|py)"))
    for path in repo.match(r"tests/vectors/.*\.vec"):
        name = posixpath.basename(path)
        if not re.search(rf'\b{re.escape(name)}\b|"{re.escape(name[:-4])}"', tests):
            yield path, 1, f'no test names "{name}"; run it in a test or delete it'


@rule
def requirements_have_tests(repo):
    path = "docs/requirements.md"
    for number, line in repo.lines(path) if path in repo.files else ():
        if not re.match(r"\|\s*\**[A-Z]\d+", line) or line.rstrip().endswith("| not yet |"):
            continue
        named = re.findall(r"\b(?:src|tests|bench|tools)/[\w./-]*\w", line)
        for name in named:
            if not repo.exists(name):
                yield path, number, f"{name} does not exist"
        if not any(repo.exists(name) and re.search(r"_test\.\w+$|^tests/|^bench/", name) for name in named):
            yield path, number, "name a test file that proves this row"


@rule
def requirements_are_complete(repo):
    path, last = "docs/requirements.md", {}
    for number, line in repo.lines(path) if path in repo.files else ():
        if found := re.match(r"\|\s*\**([A-Z])(\d+)", line):
            expected = last.get(found[1], 0) + 1
            last[found[1]] = int(found[2])
            if int(found[2]) != expected:
                yield path, number, f"{found[1]}{expected} is expected here; a row is missing, or there twice"


def anchors(text):
    """The fragments that a renderer gives to the headings of a Markdown text."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ +(.+?)\s*$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@rule
def links_resolve(repo):
    for path in repo.match(r".*\.md"):
        fenced = False
        for number, line in repo.lines(path):
            fenced ^= line.lstrip().startswith("```")
            targets = [] if fenced else re.findall(r"\]\(<?([^)\s>]+)", re.sub(r"`[^`]*`", "", line))
            for target in targets:
                if re.match(r"[a-z]+:", target):
                    continue
                name, _, fragment = target.partition("#")
                full = posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) if name else path
                if full != "." and not repo.exists(full):
                    yield path, number, f"the link to {target} leads nowhere"
                elif fragment and full in repo.files and fragment not in anchors(repo.files[full]):
                    yield path, number, f"{full} has no heading #{fragment}"


@rule
def folder_table_is_current(repo):
    page = repo.files.get(folder_table.PAGE, "")
    if folder_table.END in page and folder_table.with_table(page, repo.files) != page:
        yield folder_table.PAGE, page[:page.index(folder_table.BEGIN)].count("\n") + 1, "run tools/folder_table.py"
    for folder in folder_table.folders(repo.files):
        if not folder.what:
            yield f"{folder.path}/CMakeLists.txt", 1, "say what the folder is for, in a comment on the first line"


@rule
def markdown_is_wrapped(repo):
    for path in repo.match(r".*\.md"):
        fenced = False
        for number, line in repo.lines(path):
            fenced ^= line.lstrip().startswith("```")
            prose = not fenced and not re.match(r"\s*([|<#]|!?\[)", line) and " " in re.sub(r"`[^`]*`", "", line.strip())
            if prose and len(line) > COLUMNS_MAX:
                yield path, number, f"{len(line)} columns; run tools/wrap_markdown.py"


def check(repo):
    return sorted((path, line, f"{advice} [{one.__name__}]") for one in RULES for path, line, advice in one(repo))


def main():
    repo = Repo.load(pathlib.Path(__file__).resolve().parent.parent)
    findings = check(repo)
    for path, line, advice in findings:
        print(f"{path}:{line}: {advice}")
    print(f"tools/check.py: {len(RULES)} rules, {len(repo.files)} files, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
