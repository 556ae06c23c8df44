"""What all gates share: which files are checked, and a reader that blanks comments and strings.

Every gate is called as `check_x.py [ROOT]`, looks at the C++ files under ROOT (default: the project),
prints one `path:line: what is wrong` a finding and exits with 1 if there is any.
"""

import hashlib
import pathlib
import re
import sys

PROJECT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("src", "bench", "examples", "tests")

_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^()\\\s]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
    re.S,
)


def root_from_arguments():
    return pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else PROJECT


def cpp_files(root, suffixes=(".cpp", ".hpp")):
    """All C++ files below the source folders of `root`, sorted."""
    found = []
    for folder in FOLDERS:
        found += (p for p in (root / folder).rglob("*") if p.suffix in suffixes and p.is_file())
    return sorted(found)


def code_only(text):
    """`text` with comments, strings and characters blanked; lines keep their numbers."""
    return _TOKEN.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def includes_closure(path, source_root):
    """`path` and all project headers that it includes, however deep."""
    seen, todo = set(), [path]
    while todo:
        current = todo.pop()
        if current in seen or not current.is_file():
            continue
        seen.add(current)
        for name in re.findall(r'^\s*#\s*include\s*["<]([^">]+)', current.read_text(), re.M):
            todo += [source_root / name, current.parent / name]
    return sorted(seen)


def content_key(paths, *more):
    """A hash over the contents of `paths` and the strings `more`: the key of a remembered result."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(str(path).encode() + b"\0" + path.read_bytes() + b"\0")
    for item in more:
        digest.update(str(item).encode() + b"\0")
    return digest.hexdigest()[:32]


def finish(findings):
    for finding in findings:
        print(finding)
    print(f"{len(findings)} finding(s)")
    sys.exit(1 if findings else 0)
