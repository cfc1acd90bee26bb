#!/bin/sh
# npm run build: dist/, which is what an installed package and an image run.
set -eu
cd "$(dirname "$0")/.."
sh scripts/install.sh
rm -rf dist
PATH=$PWD/node_modules/.bin:$PATH tsc -p tsconfig.dist.json
