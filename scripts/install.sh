#!/bin/sh
# Installs the locked packages (prebuilt all; no script of theirs runs) when they are missing or older than the lockfile. Needs npm, nothing else.
set -eu
cd "$(dirname "$0")/.."

stamp=node_modules/.installed-lockfile
if [ -x node_modules/.bin/node ] && cmp -s package-lock.json "$stamp"; then
  exit 0
fi
echo "Installing packages (npm ci) ..." >&2
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2
if [ ! -x node_modules/.bin/node ]; then
  echo "There is no Node 26 package for this platform ($(uname -sm)); supported are Linux x64 and arm64, macOS arm64." >&2
  exit 1
fi
cp package-lock.json "$stamp"
