#!/bin/sh
# npm run build: creates dist/, which installed packages and images run. An argument names another directory.
set -eu
cd "$(dirname "$0")/.."
sh scripts/install.sh
exec node_modules/.bin/node scripts/build.ts "${1:-dist}"
