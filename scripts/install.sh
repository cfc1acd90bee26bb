#!/bin/sh
# Installs the locked packages if they are missing or older than the lockfile. They are all prebuilt, and none of their scripts run. Needs only npm.
set -eu
cd "$(dirname "$0")/.."

# The lockfile that this script installed last. If npm was run manually, compare the installed packages instead.
stamp=node_modules/.installed-lockfile
if [ -x node_modules/.bin/node ]; then
  if cmp -s package-lock.json "$stamp"; then
    exit 0
  fi
  if node_modules/.bin/node scripts/installed.ts; then
    cp package-lock.json "$stamp"
    exit 0
  fi
fi
echo "Installing packages (npm ci) ..." >&2
# Without a network, npm would retry for minutes.
if ! npm ci --ignore-scripts --no-audit --no-fund --loglevel=error --prefer-offline \
  --fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000 --fetch-timeout=30000 >&2; then
  echo "The packages could not be installed; npm's lines above say why. They come from $(npm config get registry): can this machine reach it?" >&2
  exit 1
fi
if [ ! -x node_modules/.bin/node ]; then
  echo "There is no Node 26 package for this platform ($(uname -sm)); supported are Linux x64 and arm64, macOS arm64." >&2
  exit 1
fi
cp package-lock.json "$stamp"
