#!/bin/sh
# npm run bench: measures speed and memory of what is installed, and of other proxies in the same run. Arguments are options and the names of benchmarks.
set -eu
cd "$(dirname "$0")/.."
sh scripts/install.sh
# In node_modules the launcher runs what was built, as in an installed package.
TESTED_BUILD=$PWD/node_modules/.bench
export TESTED_BUILD
node_modules/.bin/node scripts/build.ts "$TESTED_BUILD/dist"
cp sluice package.json "$TESTED_BUILD"
exec node_modules/.bin/node e2e/bench/main.ts "$@"
