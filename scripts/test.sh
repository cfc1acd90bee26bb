#!/bin/sh
# npm test: installs what is missing and runs the whole suite. Arguments replace the list of test files; --quick is
# everything beside the sources, without the tests of both processes. TEST_JOBS is how many files run at a time.
set -eu
cd "$(dirname "$0")/.."
sh scripts/install.sh
PATH=$PWD/node_modules/.bin:$PATH
export PATH
node e2e/components.ts
# What Node has compiled is kept: each file runs in a process of its own, and many start others.
export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE:-$PWD/node_modules/.cache/node}"
# Most tests wait for sockets and processes, so there is room for one file more than there are cores.
jobs=${TEST_JOBS:-$(($(node -p 'os.availableParallelism()') + 1))}
if [ "${1-}" = --quick ]; then
  shift
  # A tenth of the random inputs that npm test compares with Node's own parser.
  export SLUICE_FUZZ="${SLUICE_FUZZ:-50000}" SLUICE_FUZZ_SEED="${SLUICE_FUZZ_SEED:-1}"
  set -- 'shared/**/*.test.ts' 'controller/**/*.test.ts' 'dataplane/**/*.test.ts' 'deploy/**/*.test.ts' "$@"
elif [ $# -eq 0 ]; then
  set -- 'shared/**/*.test.ts' 'controller/**/*.test.ts' 'dataplane/**/*.test.ts' 'deploy/**/*.test.ts' 'e2e/**/*.test.ts'
fi
exec node --test --test-concurrency="$jobs" --test-timeout=120000 \
  --test-reporter=spec --test-reporter-destination=stdout \
  --test-reporter=./scripts/slowest.ts --test-reporter-destination=stdout "$@"
