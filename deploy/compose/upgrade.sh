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

$compose "$@" up --detach --no-deps dataplane-between
$compose "$@" exec -T dataplane-between sluice upgrade --wait
$compose "$@" up --detach --no-deps dataplane
$compose "$@" exec -T dataplane sluice upgrade --wait
$compose "$@" rm --stop --force dataplane-between
