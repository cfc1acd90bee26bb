#!/bin/sh
# npm test: installs missing packages and runs the whole suite. Arguments replace the list of test files. --quick runs
# only the tests next to the sources, without those of both processes, and fewer rounds of the longest. TEST_JOBS is the number of processes run at a time.
set -eu
cd "$(dirname "$0")/.."
sh scripts/install.sh
PATH=$PWD/node_modules/.bin:$PATH
export PATH
node e2e/components.ts
# Processes are tested as they are installed, beside their packages.
TESTED_BUILD=$PWD/node_modules/.built
export TESTED_BUILD
node scripts/build.ts "$TESTED_BUILD/dist"
cp sluice package.json "$TESTED_BUILD"
# Keeps Node's compile cache, because many tests start processes.
export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE:-$PWD/node_modules/.cache/node}"
# As the launcher of Sluice sets it. Without it, glibc clears and keeps the 14 MB of each ledger: a process of unit tests grew to 2.7 GB.
export MALLOC_MMAP_THRESHOLD_="${MALLOC_MMAP_THRESHOLD_:-131072}"
times=$(mktemp)
trap 'rm -f "$times"' EXIT
node scripts/run-tests.ts "$@" &
tests=$!
trap 'kill "$tests"' INT TERM
status=0
wait "$tests" || status=$?
# A signal ends that wait.
wait "$tests" 2>/dev/null || true
# In a pipe, times would count only what the pipe started.
times >"$times"
sed -n '2s/^\(.*\) \(.*\)$/CPU time of the tests and all that they started: \1 user, \2 system/p' "$times"
exit "$status"
