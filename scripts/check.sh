#!/bin/sh
# npm run check: format, lint, import edges, types, tests.
set -eu
cd "$(dirname "$0")/.."
sh scripts/install.sh
PATH=$PWD/node_modules/.bin:$PATH
export PATH
echo "format, lint, edges (biome)"
biome check --error-on-warnings .
echo "types (tsc)"
tsc -p .
if [ "${1-}" != --no-tests ]; then
  exec sh scripts/test.sh
fi
