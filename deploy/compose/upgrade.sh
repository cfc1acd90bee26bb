#!/bin/sh
# Updates the data plane of docker-compose.lossless.yml to the current image without losing requests: a temporary container
# takes over, the original one is recreated, and then takes over in turn. Arguments are passed to compose:
#
#   docker compose -f deploy/compose/docker-compose.lossless.yml build     # or pull
#   sh deploy/compose/upgrade.sh -f deploy/compose/docker-compose.lossless.yml
#
# If a step fails, the script stops and the data plane that is serving continues; run it again to resume.
set -eu
compose=${COMPOSE:-docker compose}

# Waits until the process of a service's own container serves. It checks the output rather than the exit code, because without
# input docker-compose 1 ends an exec before the command has finished.
await() {
  service=$1
  shift
  tries=0
  until $compose "$@" exec -T "$service" sluice upgrade --wait | grep ' serves$'; do
    tries=$((tries + 1))
    if [ "$tries" -ge 60 ]; then
      echo "$service has not taken over; the previous process continues to serve" >&2
      exit 1
    fi
    sleep 1
  done
}

$compose "$@" up --detach --no-deps dataplane-between
await dataplane-between "$@"
$compose "$@" up --detach --no-deps dataplane
await dataplane "$@"
$compose "$@" rm --stop --force dataplane-between
