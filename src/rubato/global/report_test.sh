#!/bin/sh
# report_test.sh PROGRAM NUMBER FOLDER CHECK [LAUNCHER ..]: what PROGRAM NUMBER, a program of run_main(),
# says of its run where it is asked to: a table, a page, JSON and a trace. CHECK, a script of Python, reads
# them in FOLDER and knows what has to be in them. With a launcher, `mpirun -np 2` or the like, it is a job
# of two nodes.
set -eu
program=$1
number=$2
folder=$3
check=$4
shift 4
n_nodes=$(if test $# -gt 0; then echo 2; else echo 1; fi)
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
export RUBATO_CORES=2

RUBATO_REPORT=1 RUBATO_JSON=run.json RUBATO_TRACE=run.trace "$@" "$program" "$number" 2> table
RUBATO_REPORT=run.html "$@" "$program" "$number" 2> own
if grep "messages, M" own; then
  echo "expected the table in the page alone" >&2
  exit 1
fi
python3 "$check" "$n_nodes"
test "$n_nodes" = 1 || exit 0

# A file that cannot be is said, once, before the run.
for wanted in RUBATO_JSON RUBATO_TRACE; do
  if env "$wanted=no/such/folder/run.json" "$program" 5 > out 2> error; then
    echo "expected a failure" >&2
    exit 1
  fi
  test "$(grep -c "no/such/folder" error)" = 1
  if test -s out; then
    echo "expected no run" >&2
    exit 1
  fi
done
