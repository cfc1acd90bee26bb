#!/bin/sh
# npm run format: lays out every file and orders its imports.
set -eu
cd "$(dirname "$0")/.."
sh scripts/install.sh
exec node_modules/.bin/biome check --write .
