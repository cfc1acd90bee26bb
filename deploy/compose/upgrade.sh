#!/bin/sh
# Replaces the data plane of docker-compose.lossless.yml by the image that is there now, without a lost request: a container
# beside the old one takes over, the old one is created anew, and takes over in its turn. Arguments go to compose:
#
#   docker compose -f deploy/compose/docker-compose.lossless.yml build     # or pull
#   sh deploy/compose/upgrade.sh -f deploy/compose/docker-compose.lossless.yml
#
# Where a step fails the script ends there, and what serves goes on serving; the same line again takes it up.
set -eu
compose=${COMPOSE:-docker compose}

# Waits until the process of a service's own container serves. What is printed counts, not the exit code: where there is
# nothing on its input, docker-compose 1 ends an exec before the command has ended.
await() {
  service=$1
  shift
  tries=0
  until $compose "$@" exec -T "$service" sluice upgrade --wait | grep ' serves$'; do
    tries=$((tries + 1))
    if [ "$tries" -ge 60 ]; then
      echo "$service has not taken over; what served before serves on" >&2
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
