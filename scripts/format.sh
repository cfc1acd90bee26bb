#!/bin/sh
# npm run format: formats every file and sorts its imports.
set -eu
cd "$(dirname "$0")/.."
sh scripts/install.sh
exec node_modules/.bin/biome check --write .
