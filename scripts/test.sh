#!/bin/sh
# npm test: installs what is missing and passes the whole suite. Arguments replace the list of test files.
set -eu
cd "$(dirname "$0")/.."
sh scripts/install.sh
PATH=$PWD/node_modules/.bin:$PATH
export PATH
node e2e/components.ts
if [ $# -eq 0 ]; then
  set -- 'shared/**/*.test.ts' 'controller/**/*.test.ts' 'dataplane/**/*.test.ts' 'deploy/**/*.test.ts' 'e2e/**/*.test.ts'
fi
exec node --test --test-reporter=spec --test-timeout=120000 "$@"
