#!/bin/sh
# report_test.sh PROGRAM FOLDER: what a program of flow::run_main() says of its run where it is asked
# to. PROGRAM N computes a Fibonacci number by tasks.
set -eu
program=$1
folder=$2
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"

RUBATO_CORES=2 RUBATO_REPORT=1 RUBATO_JSON=run.json RUBATO_TRACE=run.trace "$program" 15 2> table
grep -q "messages, M.*tasks, M" table
grep -q "task.*kind.*number.*failed.*mean" table
grep -q "fibonacci.cpp:" table
RUBATO_CORES=2 RUBATO_REPORT=run.html "$program" 15 2> nothing
test ! -s nothing
grep -q "The slowest tasks" run.html
python3 - <<'END'
import json
run = json.load(open("run.json"))
# Each call is a task, but those of 0 and 1 start one more, and each sum is one.
assert sum(name["number"] for name in run["names"]) == run["run"] > 1000, run["names"]
assert run["failed"] == 0 and run["failures"] == [], run
assert len(run["slowest"]) == 20, run["slowest"]
times = [task["seconds"] for task in run["slowest"]]
assert times == sorted(times, reverse=True), times
assert len(run["use"]["cores"]) == 2
busy = sum(sum(core["busy"]) for core in run["use"]["cores"]) * run["use"]["bin_s"]
assert 0 < busy <= 2 * run["wall_s"] + 2 * run["use"]["bin_s"], (busy, run["wall_s"])
events = json.load(open("run.trace"))["traceEvents"]
tasks = [e for e in events if e.get("cat") == "task" and e["ph"] in "Xb"]
assert len(tasks) == run["run"], (len(tasks), run["run"])
END
