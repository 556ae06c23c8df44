#!/usr/bin/env python3
"""Plants offences and expects each gate to find them: canary.py GATE BUILD. Run by ctest (label tidy).

A gate that has stopped to look would pass for ever. Each offence is a file in an otherwise empty tree;
the gate must exit with 1 and name the offence, and must pass a clean file, since a gate that always
fails finds everything too.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import sources

PROMISES = "| promise | sources | tests |\n|---|---|---|\n| it keeps | {} | {} |\n"
BASE = "src/rubato/base/planted.cpp"
TICK = "src/rubato/tick/planted.cpp"
CLEAN = "// A clean file.\n\nint rubato_clean() {\n  return 1;\n}\n"


def function_of(n_lines):
    return "int planted() {\n" + "  // A line.\n" * (n_lines - 3) + "  return 1;\n}\n"


# gate -> [(path of the planted file, its text, what the gate must say)]
OFFENCES = {
    "layers": [
        (BASE, '#include "rubato/net/fabric.hpp"\n', r"planted.cpp:1: base/ must not include net/"),
        ("src/rubato/models/planted.hpp", '#include "rubato/core/team.hpp"\n', r"models/ must not include core/"),
        (TICK, '#include "rubato/graph/graph.hpp"\n', r"tick/ must not include graph/"),
        (TICK, "#include <mpi.h>\n", r"only src/rubato/net/mpi/ and bench/baselines/ may include"),
        (TICK, '#include "rubato/core/detail/ring.hpp"\n', r"detail/ is private to core/"),
        ("examples/planted.cpp", '#include "rubato/tick/detail/x.hpp"\n', r"detail/ is private to tick/"),
        ("src/rubato/misc/planted.cpp", "int x;\n", r"misc/ is no layer"),
    ],
    "sizes": [
        (BASE, function_of(71), r"planted.cpp:1: a function of 71 lines"),
        (BASE, "class Planted {\n " + function_of(80).replace("planted()", "get() const noexcept") + "};\n",
         r"planted.cpp:2: a function of 80 lines"),
        (BASE, "// Why not.\n" + "int x;\n" * 600, r"planted.cpp:1: 601 lines, at most 600"),
    ],
    "calls": [
        (TICK, "int x = std::rand();\n", r"planted.cpp:1: rand: random numbers"),
        (BASE, "void f() { srand(1); }\n", r"srand: random numbers"),
        (TICK, "std::mt19937 twister;\n", r"mt19937: random numbers"),
        (BASE, "long t = time(nullptr);\n", r"time: no wall clock"),
        (BASE, "auto t = std::chrono::system_clock::now();\n", r"system_clock: no wall clock"),
        (TICK, "auto t = rubato::steady_now();\n", r"steady_now: no clock and no sleep"),
        (TICK, "void f() { std::this_thread::sleep_for(1s); }\n", r"this_thread::sleep_for: no clock"),
        (TICK, "using std::this_thread::sleep_for;\n", r"using std::this_thread: no clock"),
        (TICK, "std::unordered_map<int, std::vector<int>> a_;\nvoid f() {\n  for (auto& x : a_) g(x);\n}\n",
         r"planted.cpp:3: iterates over the unordered a_"),
    ],
    "promises": [
        ("docs/promises.md", PROMISES.format("tick/planted.hpp", "-"), r"promises.md:3: no file tick/planted.hpp"),
        ("docs/promises.md", PROMISES.format("docs/promises.md", "Planted.is_kept"), r"no test Planted.is_kept"),
        ("docs/promises.md", PROMISES.format("docs/", "Planted.*"), r"no tests of Planted"),
        ("docs/promises.md", PROMISES.format("docs/", "bench planted"), r"no benchmark planted"),
        ("docs/promises.md", PROMISES.format("docs/", "example.planted"), r"no entry of ctest example.planted"),
    ],
    "format": [(BASE, "int  x ;\n", r"planted.cpp:1: not formatted")],
    "headers": [
        ("src/rubato/base/planted.hpp", "#pragma once\nstd::string planted();\n", r"planted.hpp:2:.*string"),
        ("src/rubato/base/planted.hpp", "#pragma once\ninline int f(int x) { return 0; }\n", r"unused parameter"),
    ],
    "tidy": [
        (BASE, "int BadName() { return 1; }\n", r"readability-identifier-naming"),
        (BASE, "int planted(int* p) {\n  delete p;\n  return *p;\n}\n", r"NewDelete|Use of memory after"),
    ],
}


def run_gate(gate, tree, path, build):
    script = sources.PROJECT / "tools" / f"check_{gate}.py"
    arguments = {"tidy": [build, tree / path], "headers": [tree, build / "canary"]}.get(gate, [tree])
    run = subprocess.run([sys.executable, str(script), *map(str, arguments)], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, check=False)
    return run.returncode, run.stdout


def complaint(gate, path, text, pattern, build):
    """What is wrong with the gate's answer to this file; "" if nothing. No pattern: it must pass."""
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder).resolve()
        (tree / path).parent.mkdir(parents=True)
        (tree / path).write_text(text)
        code, output = run_gate(gate, tree, path, build)
    if code == (1 if pattern else 0) and (not pattern or re.search(pattern, output)):
        return ""
    expected = f"1 and a line that matches {pattern!r}" if pattern else "0 for a clean file"
    return f"gate {gate}: expected exit {expected}, found exit {code} and:\n{output}"


gate, build = sys.argv[1], pathlib.Path(sys.argv[2])
clean = "src/rubato/base/clean.hpp" if gate == "headers" else "src/rubato/base/clean.cpp"
clean_text = "#pragma once\nint rubato_clean();\n" if gate == "headers" else CLEAN
cases = [*OFFENCES[gate], (clean, clean_text, "")]
complaints = list(filter(None, (complaint(gate, *case, build) for case in cases)))
print("\n".join(complaints) or f"gate {gate}: {len(OFFENCES[gate])} offence(s) found, a clean file passed")
sys.exit(1 if complaints else 0)
