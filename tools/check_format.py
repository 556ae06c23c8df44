#!/usr/bin/env python3
"""Fails on files that clang-format would change. Run by ctest (label tidy)."""

import subprocess
import sys

import sources

root = sources.root_from_arguments()
paths = sources.cpp_files(root)
if not paths:
    sys.exit(f"no C++ files below {root}")
style = f"--style=file:{sources.PROJECT / '.clang-format'}"
run = subprocess.run(["clang-format", style, "--dry-run", "--Werror", *map(str, paths)],
                     stderr=subprocess.PIPE, text=True, check=False)
wrong = sorted({line.split(":")[0] for line in run.stderr.splitlines() if " error: " in line})
if run.returncode != 0 and not wrong:
    sys.exit(run.stderr)
sources.finish([f"{path}:1: not formatted: clang-format -i {path}" for path in wrong])
