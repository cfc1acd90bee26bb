#!/bin/sh
# npm run build: creates dist/, which installed packages and images run.
set -eu
cd "$(dirname "$0")/.."
sh scripts/install.sh
rm -rf dist
PATH=$PWD/node_modules/.bin:$PATH
export PATH
tsc -p tsconfig.dist.json
node dataplane/admin/dashboard/page/build.ts dist/dataplane/admin/dashboard/page.html
