#!/bin/sh
# npm run check: format, lint, types, rooms, tests.
set -eu
cd "$(dirname "$0")/.."
sh scripts/install.sh
PATH=$PWD/node_modules/.bin:$PATH
export PATH
echo "format, lint (biome)"
biome check --error-on-warnings .
echo "types (tsc)"
tsc -p .
tsc -p dataplane/admin/dashboard/page
echo "rooms (who may import whom)"
node --test --test-reporter=dot e2e/rooms.test.ts
if [ "${1-}" != --no-tests ]; then
  exec sh scripts/test.sh
fi
