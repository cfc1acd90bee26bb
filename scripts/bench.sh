#!/bin/sh
# npm run bench: measures speed and memory as ratios within one run. Arguments select single benchmarks.
set -eu
cd "$(dirname "$0")/.."
sh scripts/install.sh
exec node_modules/.bin/node e2e/bench/main.ts "$@"
