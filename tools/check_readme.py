#!/usr/bin/env python3
"""Fails if README.md, docs/global.md or docs/tick.md says what is not so: check_readme.py RUBATO WAVES. Run by ctest.

RUBATO and WAVES are the built programs. Checked are: its length; the files and folders that it names;
the code that it shows, which stands in the named files byte by byte; each line with a rubato command,
whose words must be known to that command's --help, and which is run if it is a short one; and what its
consoles show, which the programs must print. Of the chapters in docs: files; listings, which are of the
example that is linked before; commands, which are not run but for those of consoles; and names in its text.
With --canary, offences are planted and must be found.
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap

PROJECT = pathlib.Path(__file__).resolve().parent.parent
LINES_MAX = 150
PICTURE_BYTES_MAX = 300_000
SECONDS_MAX = 100
# Code in README -> the file that it is.
LISTINGS = {"cpp": "examples/02_waves/waves.cpp", "cmake": "examples/02_waves/CMakeLists.txt"}
# Commands that are run as they stand, where only `examples` is; the others are long, or need hosts or root.
SHORT = ("doctor", "bench", "run fish", "run traffic", "run heat", "run jacobi", "run nbody",
         "run pagerank", "flow run examples/20_tic")
LAUNCHERS = ("launch", "lab")
# In text about the library, what is no name of it.
OTHER_NAMES = {"Debug", "Node", "fesetround", "lambda_C", "lambda_L", "max_map_count", "walk"}


class Readme:
    name = "README.md"
    parts = ("length", "files", "listings", "commands", "consoles")

    def __init__(self, text, rubato, waves, known=()):
        """`known` are commands, as lists of words, that need not be run again."""
        self.text = text
        self.known = known
        self.programs = {"./rubato": rubato, "rubato": rubato, "build/waves/waves": waves}
        self.findings = []
        self.helps = {}

    def complain(self, line, what):
        self.findings.append(f"{self.name}:{line}: {what}")

    def line_of(self, offset):
        return self.text.count("\n", 0, offset) + 1

    def blocks(self):
        """(kind, number of the first line, text) of each block of code."""
        for found in re.finditer(r"^```(\w*)\n(.*?)^```$", self.text, re.M | re.S):
            yield found[1], self.line_of(found.start(2)), found[2]

    def run(self, words, folder=None):
        """The finished process of a command line, with the built program for its first word."""
        return subprocess.run([self.programs[words[0]], *words[1:]], cwd=folder, text=True, timeout=SECONDS_MAX,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              env={**os.environ, "NO_COLOR": "1", "LC_ALL": "C.UTF-8"})

    def check_length(self):
        n_lines = self.text.count("\n")
        if n_lines > LINES_MAX:
            self.complain(n_lines, f"{n_lines} lines, at most {LINES_MAX}")

    def prose(self):
        """What is no block of code, on the same lines."""
        return re.sub(r"^```.*?^```$", lambda m: "\n" * m[0].count("\n"), self.text, flags=re.M | re.S)

    def check_files(self):
        prose = self.prose()
        folder = pathlib.Path(self.name).parent
        no_code = re.sub(r"`[^`\n]*`", lambda m: "`" * len(m[0]), prose)
        links = [(folder / m[1], m.start()) for m in re.finditer(r"\]\(([^)#]+)(?:#[^)]*)?\)", no_code)]
        names = [(m[1], m.start()) for m in re.finditer(r"`((?:src|examples|docs|bench|tools|cmake)\b[\w./]*)`", prose)]
        for name, offset in links + names:
            path = PROJECT / name
            if not path.exists():
                self.complain(self.line_of(offset), f"{name}: no such file")
            elif path.suffix == ".png" and path.stat().st_size > PICTURE_BYTES_MAX:
                self.complain(self.line_of(offset), f"{name}: {path.stat().st_size} bytes, at most {PICTURE_BYTES_MAX}")

    def check_listings(self):
        for kind, name in LISTINGS.items():
            shown = [(line, text) for block, line, text in self.blocks() if block == kind]
            if len(shown) != 1:
                self.complain(1, f"expected one block of {kind}, found {len(shown)}")
            elif shown[0][1] != (PROJECT / name).read_text():
                self.complain(shown[0][0], f"differs from {name}")

    def help_of(self, words):
        """What --help of a command says, "" if there is no such command. Asked once."""
        key = tuple(words)
        if key not in self.helps:
            answer = self.run([*words, "--help"])
            self.helps[key] = answer.stdout if answer.returncode == 0 else ""
        return self.helps[key]

    def check_command(self, line, words):
        """A command must exist, and its --help must know the options; behind "--" stands another one."""
        if "--" in words:
            at = words.index("--")
            own, inner = words[:at], words[at + 1:]
            if own[1] in LAUNCHERS and inner and inner[0] in self.programs:
                self.check_command(line, inner)
            words = own
        if words[1:] == ["test"]:  # the wrapper's own
            if not re.search(r'"\$\{1-\}" = test', (PROJECT / "rubato").read_text()):
                self.complain(line, "./rubato has no word test")
            return
        names = []
        for word in words[1:]:
            if word.startswith("-"):
                break
            names.append(word)
        # A program with one model takes the options of its command run.
        implied = ["run"] if not names and self.programs[words[0]] == self.programs["build/waves/waves"] else names
        text = self.help_of([words[0], *implied])
        if implied == ["bench", *names[1:]] and len(names) == 2:  # which lists its own
            text += self.run([words[0], "bench"]).stdout
        # A mistyped word is answered with the help of what stands before it.
        unknown = [name for name in names if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)]
        if unknown or not text:
            self.complain(line, f"no such command: {' '.join([words[0], *names])}")
        for word in words[1:]:
            if word.startswith("-") and text and not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text):
                self.complain(line, f"{' '.join([words[0], *names])} has no option {word}")

    def commands(self):
        """(line, words, whether it is for this machine) of what calls a program of ours, in blocks and text."""
        for kind, first, text in self.blocks():
            if kind not in ("", "sh", "console"):
                continue
            for i, line in enumerate(text.splitlines()):
                line = line.removeprefix("$ ")
                words = shlex.split(line, comments=True)
                here = words[:1] != ["srun"]
                if not here:
                    words = words[next(i for i, word in enumerate(words) if word in self.programs):]
                if words and words[0] in self.programs:
                    yield first + i, words, here
        for found in re.finditer(r"`((?:\./)?rubato [^`]+)`", self.text):
            yield self.line_of(found.start()), shlex.split(found[1]), False

    def check_commands(self):
        n_commands = 0
        for line, words, here in self.commands():
            n_commands += 1
            self.check_command(line, words)
            if here and " ".join(words[1:]).startswith(SHORT) and words not in self.known:
                with tempfile.TemporaryDirectory() as folder:
                    pathlib.Path(folder, "examples").symlink_to(PROJECT / "examples")
                    answer = self.run(words, folder)
                if answer.returncode != 0:
                    self.complain(line, f"{' '.join(words)} ends with {answer.returncode}: {answer.stderr}")
        if n_commands < 5:
            self.complain(1, f"expected at least five commands, found {n_commands}")

    def check_consoles(self):
        """What stands below a command of ours is what it prints on its standard output."""
        for kind, first, text in self.blocks():
            if kind != "console":
                continue
            for found in re.finditer(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M):
                line = first + text.count("\n", 0, found.start())
                words = shlex.split(found[1])
                if words[0] not in self.programs:
                    continue
                if words[1:] == ["demo"]:
                    self.check_demo(line, found[2])
                elif (printed := self.run(words).stdout) != found[2]:
                    self.complain(line, f"{found[1]} prints\n{printed}but {self.name} shows\n{found[2]}")

    def check_demo(self, line, shown):
        """The demo takes a minute; a quick one has the same columns and policies, and leaves the files."""
        with tempfile.TemporaryDirectory() as folder:
            answer = self.run(["./rubato", "demo", "--quick", "--output", "demo"], folder)
            files = sorted(p.name for p in pathlib.Path(folder, "demo").glob("*"))
        heads = [[re.split(r"  +", row)[0] for row in text.splitlines() if "──" not in row]
                 for text in (shown, answer.stdout)]
        columns = [text.split("\n")[0].split() for text in (shown, answer.stdout)]
        if heads[0] != heads[1] or columns[0] != columns[1]:
            self.complain(line, f"the demo has another table:\n{answer.stdout}{answer.stderr}")
        checksums = {row.split()[-1] for row in shown.splitlines()[2:]}
        if len(checksums) != 1:
            self.complain(line, f"expected one checksum for all policies, found {sorted(checksums)}")
        if files != ["fish.png", "report.html"]:
            self.complain(line, f"the demo leaves {files}")

    def check(self, parts=()):
        for part in parts or self.parts:
            getattr(self, f"check_{part}")()
        return self.findings


def is_part_of(listing, lines):
    """Whether its lines stand in `lines` one after the other, however far in; "..." stands for others between."""
    at = 0
    for piece in re.split(r"^\.\.\.\n", listing, flags=re.M):
        n = piece.count("\n")
        while at + n <= len(lines) and textwrap.dedent("".join(lines[at:at + n])) != textwrap.dedent(piece):
            at += 1
        if at + n > len(lines):
            return False
        at += n
    return True


class Chapter(Readme):
    name = "docs/global.md"
    parts = ("files", "listings", "commands", "names")

    def check_listings(self):
        links = [(self.line_of(m.start()), m[1])
                 for m in re.finditer(r"\]\(\.\./(examples/[\w/]+\.cpp)\)", self.text)]
        shown = [(line, text) for kind, line, text in self.blocks() if kind == "cpp"]
        if len(shown) < 5:
            self.complain(1, f"expected at least five listings, found {len(shown)}")
        for line, text in shown:
            name = next((name for at, name in reversed(links) if at < line), None)
            if name is None:
                self.complain(line, "no example is linked before this listing")
            elif not is_part_of(text, (PROJECT / name).read_text().splitlines(keepends=True)):
                self.complain(line, f"differs from {name}")

    def check_commands(self):
        for line, words, _ in self.commands():
            self.check_command(line, words)

    def check_names(self):
        """Names of the library stand in its headers, not in comments; its variables in any source."""
        headers = list((PROJECT / "src/rubato").rglob("*.hpp"))
        code = "\n".join(re.sub(r"//.*", "", path.read_text()) for path in headers)
        known = OTHER_NAMES | {path.stem for path in headers} | set(re.findall(r"\w+", code))
        for found in re.finditer(r"`([^`\n]+)`", self.prose()):
            names = re.findall(r"\b(?:[A-Z][a-z]\w+|[a-z]+_\w+|[a-z]\w+(?=\())", found[1])
            if found[1].startswith(("rubato", "examples", "-")):
                continue
            for name in names:
                if name not in known:
                    self.complain(self.line_of(found.start()), f"no header has {name}")
            for name in re.findall(r"[\w/]+\.hpp", found[1]):
                if not any(f"/{path}".endswith(f"/{name}") for path in headers):
                    self.complain(self.line_of(found.start()), f"no header is {name}")
        sources = "\n".join(path.read_text() for path in (PROJECT / "src").rglob("*.cpp"))
        for found in re.finditer(r"\b(?:RUBATO_[A-Z_]+|build/\w+)", self.text):
            name = found[0].removeprefix("build/")
            if f'"{name}"' not in sources and not list(PROJECT.glob(f"examples/*_{name}")):
                self.complain(self.line_of(found.start()), f"no variable or example {name}")


class TickChapter(Chapter):
    name = "docs/tick.md"
    parts = (*Chapter.parts, "consoles")


# The part that must find it, what the text says, what is planted instead, and what must be found.
OFFENCES = [
    ("files", "docs/images/fish.png", "docs/images/flsh.png", r"flsh.png: no such file"),
    ("files", "`src/rubato/tick`", "`src/rubato/tock`", r"src/rubato/tock: no such file"),
    ("listings", "(*here + 1) % 3", "(*here + 2) % 3", r"differs from examples/02_waves/waves.cpp"),
    ("commands", "./rubato reproduce ticks", "./rubato reprise ticks", r"no such command: ./rubato reprise"),
    ("commands", "--edges insulated", "--corners insulated", r"./rubato run heat has no option --corners"),
    ("commands", "-- rubato doctor --latency", "-- rubato doctor --lateness", r"doctor has no option --lateness"),
    ("commands", "data/pages.txt", "data/pagers.txt", r"pagers.txt.* ends with 3"),
    ("commands", "run traffic --columns 8", "run traffic --columns 0", r"--columns 0 .*ends with 2"),
    ("consoles", "16 virtual nodes of 1 core", "17 virtual nodes of 1 core", r"but README.md shows"),
    ("consoles", "over local  waiting", "over bulk  waiting", r"the demo has another table"),
]
CHAPTER_OFFENCES = [
    ("files", "06_updates/updates.cpp", "06_updates/downdates.cpp", r"downdates.cpp: no such file"),
    ("listings", "::make(256)", "::make(257)", r"differs from examples/05_letters/letters.cpp"),
    ("listings", "{ ++word; }", "{ --word; }", r"differs from examples/06_updates/updates.cpp"),
    ("listings", "counts.async_upsert", "counts.async_insert", r"differs from examples/07_words/words.cpp"),
    ("listings", "x = sum += x;", "x = sum;", r"differs from examples/11_prefix/prefix.cpp"),
    ("commands", "rubato bench gups", "rubato bench gulps", r"no such command: rubato bench gulps"),
    ("names", "`async_add(p, 1)`", "`async_plus(p, 1)`", r"no header has async_plus"),
    ("names", "`GlobalHashSet<K>`", "`GlobalHeapSet<K>`", r"no header has GlobalHeapSet"),
    ("names", "MessageOptions::n_waiting_most", "MessageOptions::n_waits_most", r"no header has n_waits_most"),
    ("names", "`cache.hpp`", "`cash.hpp`", r"no header is cash.hpp"),
    ("names", "RUBATO_TRACE=", "RUBATO_TRICE=", r"no variable or example RUBATO_TRICE"),
    ("names", "build/words", "build/swords", r"no variable or example swords"),
]
TICK_OFFENCES = [
    ("listings", "sum.heard += in.weight;", "sum.heard += 1;", r"differs from examples/25_opinions/opinions.cpp"),
    ("commands", "rubato runs list", "rubato runs lists", r"no such command: rubato runs lists"),
    ("names", "`RandomStream`", "`RandomDream`", r"no header has RandomDream"),
    ("consoles", "replicate(2,3)+schedule(10) ", "replicate(2,4)+schedule(10) ", r"but docs/tick.md shows"),
]


def canary(page, offences, text, rubato, waves):
    """Offences that were not found, for each of them the text with that one."""
    missed = []
    known = [words for _, words, _ in page(text, rubato, waves).commands()]
    for part, true, planted, pattern in offences:
        if true not in text:
            missed.append(f"the canary expects {true!r} in {page.name}")
            continue
        findings = page(text.replace(true, planted, 1), rubato, waves, known).check([part])
        if not any(re.search(pattern, finding, re.S) for finding in findings):
            missed.append(f"planted {planted!r}, expected {pattern!r}, found {findings}")
    return missed


programs = [word for word in sys.argv[1:] if word != "--canary"]
found = []
for page, offences in ((Readme, OFFENCES), (Chapter, CHAPTER_OFFENCES), (TickChapter, TICK_OFFENCES)):
    text = (PROJECT / page.name).read_text()
    if "--canary" in sys.argv:
        found += canary(page, offences, text, *programs)
    else:
        found += page(text, *programs).check()
print("\n".join([*found, f"{len(found)} finding(s)"]))
sys.exit(1 if found else 0)
