#!/usr/bin/python3
"""Wraps the prose of Markdown files, so that a diff can be read.

    tools/wrap_markdown.py [FILE.md …]     default: every .md file of the repository

Paragraphs and list items are wrapped at WIDTH columns. Tables, fenced blocks, headings and HTML stay as they are, and
no line is broken inside `code`. tools/check.py refuses lines of more than LONGEST columns.
"""

import pathlib
import re
import subprocess
import sys

WIDTH, LONGEST = 110, 120
# What would mean something else at the beginning of a line.
SPECIAL = re.compile(r"([-+*>|]|#+|\d+[.)])(\s|$)|```|<!--")
ITEM = re.compile(r"(\s*)((?:[-*+]|\d+[.)]) +)(.*)")
KEPT = re.compile(r"\s*(\||#+ |```|<|!\[|\[[^]]+\]:|$)")


def words(text):
    """The words of a text; `code with spaces` is one word."""
    return [word.replace("\0", " ") for word in re.sub(r"`[^`]+`", lambda m: m[0].replace(" ", "\0"), text).split()]


def wrapped(text, first, rest):
    """The lines of one paragraph, the first of which begins with `first` and all others with `rest`."""
    lines, line = [], first
    for word in words(text):
        start = line in (first, rest)
        if not start and len(line) + 1 + len(word) > WIDTH and not SPECIAL.match(word):
            lines.append(line)
            line, start = rest, True
        line += word if start else " " + word
    return lines + [line]


def blocks(text):
    """Yields (text, first, rest) of each paragraph, and (line, None, None) of what is kept."""
    current, fenced, comment = None, False, False
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        item = ITEM.fullmatch(line)
        quote = re.fullmatch(r"> (.*)", line)
        if fenced or fence or comment or KEPT.match(line) or (current is None and not item and line.startswith("    ")):
            if current:
                yield current
            current = None
            fenced ^= fence
            comment = "-->" not in line if comment or line.lstrip().startswith("<!--") else False
            yield line, None, None
        elif item:
            if current:
                yield current
            current = item[3], item[1] + item[2], item[1] + " " * len(item[2])
        elif quote:
            if current and current[1] != "> ":
                yield current
                current = None
            current = (f"{current[0]} {quote[1]}" if current else quote[1]), "> ", "> "
        elif current:
            current = f"{current[0]} {line.strip()}", *current[1:]
        else:
            indent = re.match(r"\s*", line)[0]
            current = line.strip(), indent, indent
    if current:
        yield current


def wrap(text):
    lines = []
    for block, first, rest in blocks(text):
        lines += [block.rstrip()] if first is None else wrapped(block, first, rest)
    return "\n".join(lines) + "\n"


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=root, check=True,
                            capture_output=True, text=True).stdout.split("\n")
    for path in [pathlib.Path(name) for name in sys.argv[1:]] or [root / name for name in listed if name]:
        before = path.read_text(encoding="utf-8")
        if (after := wrap(before)) != before:
            path.write_text(after, encoding="utf-8")
            print(f"{path}: wrapped")


if __name__ == "__main__":
    main()
