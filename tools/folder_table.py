#!/usr/bin/python3
"""Writes the table of folders in docs/architecture.md from what CMake knows.

    tools/folder_table.py       rewrites the table; tools/check.py says when it is not current

Each row is a src/**/CMakeLists.txt that calls sluice_module(), in the order of the root CMakeLists.txt. What the folder
is for is the comment at the top of its file, up to the first line that is none. What it may use is its DEPS and
PRIVATE_DEPS; what only its tests use is left out.
"""

import pathlib
import re
import sys

PAGE = "docs/architecture.md"
BEGIN, END = "<!-- folders: written by tools/folder_table.py -->", "<!-- end of folders -->"
KEYWORDS = "DEPS|PRIVATE_DEPS|TEST_DEPS|TESTS|SOURCES|SHARED|GENERATED"


class Folder:
    """A folder of src/: its path, what it is for, and the modules that it may use."""

    def __init__(self, path, text):
        self.path = path
        top = re.match(r"(#[^\n]*\n)*", text)[0]
        self.what = " ".join(line.lstrip("# ").strip() for line in top.splitlines()).rstrip(".")
        call = re.search(r"\bsluice_module\(\s*(\w+)([^)]*)\)", re.sub(r"#[^\n]*", "", text))
        self.module = call[1] if call else None
        parts = re.findall(rf"\b(DEPS|PRIVATE_DEPS)\b(.*?)(?=\b(?:{KEYWORDS})\b|$)", call[2], re.DOTALL) if call else []
        self.uses = [name for _, part in parts for name in re.findall(r"\bsluice_(\w+)", part)]


def folders(files):
    """The folders of a repository, given as {path: text}, lowest first."""
    order = re.findall(r"^\s*add_subdirectory\((src/[\w/]+)\)", files.get("CMakeLists.txt", ""), re.MULTILINE)
    place = lambda path: next((i for i, one in enumerate(order) if (path + "/").startswith(one + "/")), len(order))
    paths = [path.removesuffix("/CMakeLists.txt") for path in files if re.fullmatch(r"src/.+/CMakeLists\.txt", path)]
    found = [Folder(path, files[path + "/CMakeLists.txt"]) for path in sorted(paths, key=lambda path: (place(path), path))]
    return [folder for folder in found if folder.module]


def table(files):
    rows = folders(files)
    order = [folder.module for folder in rows]
    lines = ["| folder | what it is for | may use |", "|---|---|---|"]
    for folder in rows:
        uses = [name for name in order if name in folder.uses]
        lines.append(f"| `{folder.path}` | {folder.what} | {', '.join(uses) or '–'} |")
    return "\n".join(lines)


def with_table(page, files):
    """The page with the current table between its two marks."""
    before, _, rest = page.partition(BEGIN)
    _, mark, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table(files)}\n{END}{after}" if mark else page


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    names = ["CMakeLists.txt", *(str(path.relative_to(root)) for path in (root / "src").rglob("CMakeLists.txt"))]
    files = {name: (root / name).read_text(encoding="utf-8") for name in names}
    if missing := [folder.path for folder in folders(files) if not folder.what]:
        sys.exit(f"say what it is for, in a comment on the first line of CMakeLists.txt: {', '.join(missing)}")
    page = root / PAGE
    page.write_text(with_table(page.read_text(encoding="utf-8"), files), encoding="utf-8")


if __name__ == "__main__":
    main()
