#!/usr/bin/env python3
"""Fails on public headers that do not compile alone: check_headers.py [ROOT [BUILD]].

Public is every header outside of detail/. BUILD keeps the names of what passed. Run by ctest (tidy).
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
headers = [p for p in sources.cpp_files(root, (".hpp",))
           if "detail" not in p.parts and p.relative_to(root).parts[:4] != ("src", "rubato", "net", "mpi")]


def command_for(path):
    # As an include of an empty file: "#pragma once in main file" would be a warning.
    return ["g++", *flags, *include, "-include", str(path), "/dev/null"]


findings = []
failed, _ = remembered.run_all(headers, command_for, build / "headers", *flags)
for output in failed:
    errors = re.findall(r"^\S+:\d+:\d+: (?:fatal )?error: .*$", output, re.M)
    findings.append("does not compile alone: " + (errors[0] if errors else output))
sources.finish(findings)
