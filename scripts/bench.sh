#!/bin/sh
# npm run bench: speed and memory as ratios of one run. Arguments name single benchmarks.
set -eu
cd "$(dirname "$0")/.."
sh scripts/install.sh
exec node_modules/.bin/node e2e/bench/main.ts "$@"
