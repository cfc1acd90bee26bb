#!/bin/sh
# npm test: installs missing packages and runs the whole suite. Arguments replace the list of test files. --quick runs
# only the tests next to the sources, without those of both processes. TEST_JOBS is the number of processes run at a time.
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
# Tests wait for sockets, processes and timers, some of them most of their time, so more of them run than there are cores.
jobs=${TEST_JOBS:-$(($(node -p 'os.availableParallelism()') * 3))}
groups=$(mktemp -d)
trap 'rm -rf "$groups"' EXIT
if [ "${1-}" = --quick ]; then
  shift
  # A tenth of the random inputs that npm test compares with Node's own parser.
  export SLUICE_FUZZ="${SLUICE_FUZZ:-50000}" SLUICE_FUZZ_SEED="${SLUICE_FUZZ_SEED:-1}"
  # shellcheck disable=SC2046 # No name of a test has a space in it.
  set -- $(node scripts/groups.ts "$groups") "$@"
elif [ $# -eq 0 ]; then
  # shellcheck disable=SC2046
  set -- $(node scripts/groups.ts "$groups") 'e2e/**/*.test.ts'
fi
# Half an hour for a group; a file in it has five minutes. So much is only needed on a very busy machine.
node --test --test-concurrency="$jobs" --test-timeout=1800000 \
  --test-reporter=spec --test-reporter-destination=stdout \
  --test-reporter=./scripts/slowest.ts --test-reporter-destination=stdout "$@" &
tests=$!
trap 'kill "$tests"' INT TERM
status=0
wait "$tests" || status=$?
# A signal ends that wait.
wait "$tests" 2>/dev/null || true
for note in "$groups"/*.running; do
  if [ -f "$note" ]; then
    status=1
    echo "A process of tests ended while it ran $(cat "$note"); those after it in that process did not run." >&2
  fi
done
# In a pipe, times would count only what the pipe started.
times >"$groups/times"
sed -n '2s/^\(.*\) \(.*\)$/CPU time of the tests and all that they started: \1 user, \2 system/p' "$groups/times"
exit "$status"
