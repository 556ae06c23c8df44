"""What report_test.sh has had a program write, of any program on global memory, on that many nodes."""

import json
import re
import sys

n_nodes = int(sys.argv[1])
table = open("table").read()
assert re.search(r"busy.*messages, M.*tasks, M", table)
assert re.search(r"blocks, M.*left full.*late.*queued, most", table)
assert len(re.findall(r"^ *all ", table, re.M)) == (2 if n_nodes > 1 else 0), table
assert "Where the time of the cores went" in open("run.html").read()
run = json.load(open("run.json"))
nodes = run["nodes"]
assert [node["node"] for node in nodes] == list(range(n_nodes)) and run["wall_s"] > 0, run


def total(name):
    return sum(node[name] for node in nodes)


# Those that go to another node enter a pool there, too.
assert total("pooled_run") == total("pooled") - total("given") > 10, nodes
assert total("records_posted") == total("records_applied") > 0, nodes
reasons = ["full", "hurried", "late", "idle"]
for node in nodes:
    assert node["cores"] == 2 and 0 < node["busy_share"] <= 1, node
    assert sum(node["buffers_" + reason] for reason in reasons) == node["buffers"], node
    assert node["runs"] > 0 and node["blocks"] >= node["blocks_full"], node
    assert node["slices"] > 0 and node["bytes"] > 0, node
    assert (node["buffers"] > 0) == (n_nodes > 1), node
assert total("switches") >= total("tasks") > 0 and total("queued_max") > 0, nodes
if n_nodes > 1:
    assert total("buffers_idle") > 0 and total("begs") > 0, nodes
trace = json.load(open("run.trace"))
counters = trace["otherData"]["counters"]
assert len(counters) == n_nodes, counters
for node, told in zip(nodes, counters):
    assert {"buffers_hurried", "buffers_idle", "switches", "stolen", "queued_max"} < told.keys(), told
    assert told == {"node": node["node"], **{name: node[name] for name in told}}, told
events = trace["traceEvents"]
kinds = {event["name"] for event in events if event["ph"] == "X"}
assert "turn" in kinds, kinds
assert any(event["ph"] == "C" for event in events)
