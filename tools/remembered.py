"""Runs a slow check on many files, two at a time, and remembers the files that passed.

A result belongs to the contents of the file, of every project header that it includes, and of the
check's own settings: a file that passed with the same contents is not run again. A fresh clone runs all.
"""

import concurrent.futures
import os
import subprocess
import time

import sources


def run_all(paths, command_for, memory, *settings, budget_s=None):
    """Runs `command_for(path)` for each path; returns (the outputs of those that failed, paths left out).

    `memory` is a folder of empty files, one a passed content; `settings` are strings that, if changed,
    make all results void. After `budget_s` seconds no more are begun: those are left out.
    """
    begin = time.monotonic()
    left_out = []
    memory.mkdir(parents=True, exist_ok=True)

    def one(path):
        closure = sources.includes_closure(path, sources.PROJECT / "src")
        passed = memory / sources.content_key(closure, *settings)
        if passed.exists():
            return None
        if budget_s is not None and time.monotonic() - begin > budget_s:
            left_out.append(path)
            return None
        run = subprocess.run(command_for(path), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, check=False)
        if run.returncode == 0:
            passed.touch()
            return None
        return run.stdout

    n_jobs = min(2, os.cpu_count() or 1)
    with concurrent.futures.ThreadPoolExecutor(n_jobs) as pool:
        failed = [output for output in pool.map(one, paths) if output is not None]
    return failed, left_out
