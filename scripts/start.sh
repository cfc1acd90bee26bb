#!/bin/sh
# npm start: installs missing packages and runs the demo.
set -eu
cd "$(dirname "$0")/.."
sh scripts/install.sh
exec node_modules/.bin/node deploy/demo/start.ts "$@"
