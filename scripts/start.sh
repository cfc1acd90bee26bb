#!/bin/sh
# npm start: installs what is missing and runs the demonstration.
set -eu
cd "$(dirname "$0")/.."
sh scripts/install.sh
exec node_modules/.bin/node deploy/demo/start.ts "$@"
