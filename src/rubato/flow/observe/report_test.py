"""What report_test.sh has had a flow write that computes a Fibonacci number by tasks."""

import json
import re

table = open("table").read()
assert re.search(r"messages, M.*tasks, M", table)
assert re.search(r"task.*kind.*number.*failed.*mean", table)
assert "fibonacci.cpp:" in table
assert "The slowest tasks" in open("run.html").read()
run = json.load(open("run.json"))
# Each call is a task, but those of 0 and 1 start one more, and each sum is one.
assert sum(name["number"] for name in run["names"]) == run["run"] > 1000, run["names"]
assert run["failed"] == 0 and run["failures"] == [], run
assert run["not_freed"] == {"number": 0, "places": []}, run["not_freed"]
assert len(run["slowest"]) == 20, run["slowest"]
times = [task["seconds"] for task in run["slowest"]]
assert times == sorted(times, reverse=True), times
assert len(run["use"]["cores"]) == 2
busy = sum(sum(core["busy"]) for core in run["use"]["cores"]) * run["use"]["bin_s"]
assert 0 < busy <= 2 * run["wall_s"] + 2 * run["use"]["bin_s"], (busy, run["wall_s"])
events = json.load(open("run.trace"))["traceEvents"]
tasks = [e for e in events if e.get("cat") == "task" and e["ph"] in "Xb"]
assert len(tasks) == run["run"], (len(tasks), run["run"])
