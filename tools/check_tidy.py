#!/usr/bin/env python3
"""Runs clang-tidy with .clang-tidy: check_tidy.py BUILD [--budget SECONDS] [FILE ...]. Run by ctest (tidy).

BUILD has compile_commands.json and keeps the names of what passed. Without FILE every .cpp of src/ is
checked that is not a test; headers are checked through them. With a budget the files that were changed
last, or include what was changed last, come first, and the number of those left out is printed:
docs/decisions/0002 says why.
"""

import argparse
import json
import pathlib
import re
import subprocess

import remembered
import sources


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--budget", type=float, help="seconds after which no file is begun")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    return parser.parse_args()


def newest_first(paths):
    """`paths` by the last commit that touched them or a header that they include, newest first."""
    log = subprocess.run(["git", "log", "--format=", "--name-only"], cwd=sources.PROJECT, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
    age = {}
    for position, name in enumerate(filter(None, log.splitlines())):
        age.setdefault(sources.PROJECT / name, position)

    def key(path):
        # What is in no commit is being worked on: the newest of all.
        ages = [age.get(p, -1) for p in sources.includes_closure(path, sources.PROJECT / "src")]
        return (min(ages), age.get(path, -1))

    return sorted(paths, key=key)


def main():
    arguments = parse_arguments()
    build = arguments.build
    known = {pathlib.Path(c["directory"], c["file"]).resolve()
             for c in json.loads((build / "compile_commands.json").read_text())}
    source = sources.PROJECT / "src"
    paths = [p.resolve() for p in arguments.files] or newest_first(
        p for p in known
        if p.suffix == ".cpp" and not p.name.endswith("_test.cpp") and p.is_relative_to(source))
    config = sources.PROJECT / ".clang-tidy"
    version = subprocess.run(["clang-tidy", "--version"], stdout=subprocess.PIPE, text=True,
                             check=True).stdout

    def command_for(path):
        # Of the compiler's own options, some are not clang's.
        command = ["clang-tidy", f"--config-file={config}", "--quiet",
                   "--extra-arg=-Wno-unused-command-line-argument"]
        if path in known:
            return [*command, "-p", str(build), str(path)]
        return [*command, str(path), "--", "-std=c++20", "-I", str(source)]

    failed, left_out = remembered.run_all(paths, command_for, build / "tidy", version,
                                          config.read_text(), budget_s=arguments.budget)
    findings = set()
    for output in failed:
        findings.update(re.findall(r"^\S+:\d+:\d+: (?:error|warning): .*$", output, re.M) or [output])
    if left_out:
        print(f"{len(left_out)} of {len(paths)} files left out: the budget of {arguments.budget:.0f} s is used up")
    sources.finish(sorted(findings))


main()
