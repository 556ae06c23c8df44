"""What report_test.sh has had a program write, of any program on global memory."""

import json
import re

assert re.search(r"busy.*messages, M.*tasks, M", open("table").read())
assert re.search(r"blocks, M.*left full.*late.*queued, most", open("table").read())
assert "Where the time of the cores went" in open("run.html").read()
run = json.load(open("run.json"))
(node,) = run["nodes"]
assert node["cores"] == 2 and run["wall_s"] > 0, run
assert node["pooled_run"] == node["pooled"] > 10, node
assert 0 < node["busy_share"] <= 1 and node["records_posted"] == node["records_applied"], node
trace = json.load(open("run.trace"))
(counters,) = trace["otherData"]["counters"]
assert counters["node"] == 0 and counters["slices"] > 0, counters
assert counters == {"node": 0, **{name: node[name] for name in counters}}, counters
assert {"buffers_hurried", "switches", "stolen", "queued_max"} < counters.keys(), counters
events = trace["traceEvents"]
kinds = {event["name"] for event in events if event["ph"] == "X"}
assert "turn" in kinds, kinds
assert any(event["ph"] == "C" for event in events)
