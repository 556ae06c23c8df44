#!/usr/bin/env python3
"""Fails on public headers that do not compile alone: check_headers.py [ROOT [BUILD]].

Public is every header outside of detail/. Those that a file of the build includes first have been
shown to compile alone by the build. BUILD keeps the names of what passed. Run by ctest (tidy).
"""

import pathlib
import re
import sys

import remembered
import sources

root = sources.root_from_arguments()
build = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else sources.PROJECT / "build/tidy"
flags = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-x", "c++"]
# As targets see them: bench includes its own headers from the root.
include = ["-I", str(root / "src"), "-I", str(root), "-I", str(sources.PROJECT / "src")]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def is_built(path):
    return path.relative_to(root).parts[0] in ("src", "bench") and "compile_fail" not in str(path)


def first_include(path):
    """The header that a file of the build includes before all others: building it has shown that it
    compiles alone."""
    found = INCLUDE.search(path.read_text())
    return found.group(2) if found and found.group(1) == '"' else ""


shown = {first_include(p) for p in sources.cpp_files(root, (".cpp",)) if is_built(p)}
headers = [p for p in sources.cpp_files(root, (".hpp",))
           if "detail" not in p.parts and p.relative_to(root).parts[:4] != ("src", "rubato", "net", "mpi")
           and str(p.relative_to(root)).removeprefix("src/") not in shown]


def command_for(path):
    # As an include of an empty file: "#pragma once in main file" would be a warning.
    return ["g++", *flags, *include, "-include", str(path), "/dev/null"]


findings = []
failed, _ = remembered.run_all(headers, command_for, build / "headers", *flags)
for output in failed:
    errors = re.findall(r"^\S+:\d+:\d+: (?:fatal )?error: .*$", output, re.M)
    findings.append("does not compile alone: " + (errors[0] if errors else output))
sources.finish(findings)
