#!/bin/sh
# npm run build: creates dist/, which installed packages and images run.
set -eu
cd "$(dirname "$0")/.."
sh scripts/install.sh
rm -rf dist
PATH=$PWD/node_modules/.bin:$PATH tsc -p tsconfig.dist.json
