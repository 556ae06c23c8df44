#!/usr/bin/env python3
"""Fails where docs/promises.md names what is not there. Run by ctest (label tidy).

Its tables have, for each promise, the sources that keep it and the tests that would fail if they did not.
Checked are: each source, below the root or src/rubato; each test, Suite.name, which must stand in a TEST
somewhere; each `bench NAME` and each other entry of ctest, which must stand in bench/ or a CMakeLists.txt.
"""

import re
import sys

import sources

TEST = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)")
# Under a prefix a typed suite has its tests, or one with values: only the suite's own name is in the source.
TYPED = re.compile(r"\bTYPED_TEST(?:_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)")
FILE = re.compile(r"(?<![\w/.-])[\w.-]+(?:/[\w.-]+)*\.(?:hpp|cpp|py|md|json|costs|cmake|txt|h|c)\b|(?<![\w/.-])[\w-]+(?:/[\w-]+)*/(?=[\s,;)|]|$)")
NAMED = re.compile(r"\b([A-Z]\w*)\.(\w+)")
BENCH = re.compile(r"\bbench ([a-z][\w-]*)")
ENTRY = re.compile(r"(?<![\w.])([a-z]\w*\.[\w-]+)")


def tests_of(root):
    found = set()
    for path in sources.cpp_files(root, (".cpp", ".hpp")):
        if "_test." in path.name:
            text = path.read_text()
            found |= set(TEST.findall(text)) | set(TYPED.findall(text))
    return found


def rows_of(text):
    """(number, cells) of each row of a table that has three cells, but for heads."""
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 3 and not set(line) <= set("|- "):
            yield number, cells


def is_there(name, root):
    if "/" in name:
        return (root / name).exists() or (root / "src/rubato" / name).exists()
    # Of the folder of a source before it, or of any.
    return any((root / "src/rubato").rglob(name))


def check_row(cells, root, tests, registered):
    _, files, checks = cells
    for name in FILE.findall(files):
        if not is_there(name, root):
            yield f"no file {name}"
    for suite, name in NAMED.findall(checks):
        if (suite, name) not in tests:
            near = sorted(n for s, n in tests if s == suite)
            yield f"no test {suite}.{name}" + (f"; {suite} has {', '.join(near[:8])}" if near else "")
    for suite in re.findall(r"\b([A-Z]\w*)\.\*", checks):
        if all(s != suite for s, _ in tests):
            yield f"no tests of {suite}"
    for name in BENCH.findall(checks):
        if f'"{name}"' not in registered:
            yield f"no benchmark {name}"
    for name in ENTRY.findall(BENCH.sub("", checks)):
        # What a CMakeLists.txt adds to a name, as _build of example.sort_build, is not in it.
        own = name.split(".", 1)[1]
        if not any(stem and re.search(rf"(?<![\w-]){re.escape(stem)}(?![\w-])", registered)
                   for stem in (own, own.rpartition("_")[0])):
            yield f"no entry of ctest {name}"


def main():
    root = sources.root_from_arguments()
    page = root / "docs/promises.md"
    if not page.is_file():
        return sources.finish([])
    tests = tests_of(root)
    registered = "".join(p.read_text() for folder in ("src", "examples", "bench", "cmake")
                         for p in sorted((root / folder).rglob("*"))
                         if p.name in ("CMakeLists.txt",) or p.suffix == ".cmake" or p.parent.name == "bench" and p.suffix == ".cpp")
    findings = []
    for number, cells in rows_of(page.read_text()):
        if cells[0] == "promise":
            continue
        findings += [f"{page}:{number}: {what}" for what in check_row(cells, root, tests, registered)]
    return sources.finish(findings)


if __name__ == "__main__":
    sys.exit(main())
