#!/bin/sh
# report_test.sh PROGRAM FOLDER: what a program of run_main() says of its run where it is asked to.
set -eu
program=$1
folder=$2
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"

RUBATO_CORES=2 RUBATO_REPORT=1 RUBATO_JSON=run.json RUBATO_TRACE=run.trace "$program" 10 2> table
grep -q "busy.*messages, M.*tasks, M" table
python3 - <<'END'
import json
run = json.load(open("run.json"))
(node,) = run["nodes"]
assert node["cores"] == 2 and run["wall_s"] > 0, run
assert node["pooled_run"] == node["pooled"] > 10, node
assert 0 < node["busy_share"] <= 1 and node["records_posted"] == node["records_applied"], node
events = json.load(open("run.trace"))["traceEvents"]
kinds = {event["name"] for event in events if event["ph"] == "X"}
assert "turn" in kinds, kinds
assert any(event["ph"] == "C" for event in events)
END

# A file that cannot be is said, once, and is no success.
if RUBATO_JSON=no/such/folder/run.json "$program" 5 2> error; then
  echo "expected a failure" >&2
  exit 1
fi
grep -q "no/such/folder" error
