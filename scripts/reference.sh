#!/bin/sh
# Regenerates the reference pages that are made from code.
set -eu
cd "$(dirname "$0")/.."
sh scripts/install.sh
PATH=$PWD/node_modules/.bin:$PATH
export PATH
exec node e2e/reference/write.ts
