#!/usr/bin/env python3
"""Runs clang-tidy with .clang-tidy: check_tidy.py BUILD [FILE ...]. Run by ctest (label tidy).

BUILD has compile_commands.json and keeps the names of what passed. Without FILE every .cpp of src/ is
checked that is not a test; headers are checked through them. Tests are left out: clang-tidy takes
seconds a file, more with GoogleTest's macros, and tests already meet the compiler's warnings, the
format and the size gates.
"""

import json
import pathlib
import re
import subprocess
import sys

import remembered
import sources

build = pathlib.Path(sys.argv[1])
chosen = [pathlib.Path(p).resolve() for p in sys.argv[2:]]
known = {pathlib.Path(c["directory"], c["file"]).resolve()
         for c in json.loads((build / "compile_commands.json").read_text())}
paths = chosen or sorted(p for p in known if p.suffix == ".cpp" and not p.name.endswith("_test.cpp")
                         and p.is_relative_to(sources.PROJECT / "src"))
config = sources.PROJECT / ".clang-tidy"
version = subprocess.run(["clang-tidy", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout


def command_for(path):
    command = ["clang-tidy", f"--config-file={config}", "--quiet"]
    if path in known:
        return [*command, "-p", str(build), str(path)]
    return [*command, str(path), "--", "-std=c++20", "-I", str(sources.PROJECT / "src")]


findings = []
for output in remembered.run_all(paths, command_for, build / "tidy", version, config.read_text()):
    found = re.findall(r"^\S+:\d+:\d+: (?:error|warning): .*$", output, re.M)
    findings += found or [output]
sources.finish(sorted(set(findings)))
