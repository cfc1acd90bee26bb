#!/bin/sh
# Replaces the data plane of docker-compose.lossless.yml by the image that is there now, without a lost request. A container
# beside the old one takes over, the old one is created anew, and takes over in its turn. Arguments go to compose:
#
#   docker compose -f deploy/compose/docker-compose.lossless.yml build     # or pull
#   sh deploy/compose/upgrade.sh -f deploy/compose/docker-compose.lossless.yml
#
# Where a step fails the script ends there, and what serves goes on serving.
set -eu
compose=${COMPOSE:-docker compose}
between=sluice-between

# What an attempt that failed may have left.
if docker container inspect "$between" >/dev/null 2>&1; then
  echo "There is a container $between from an attempt before. If it does not serve (docker logs $between), docker rm -f $between." >&2
  exit 1
fi
$compose "$@" run --detach --no-deps --name "$between" dataplane
docker exec "$between" sluice upgrade --wait
$compose "$@" up --detach --no-deps dataplane
$compose "$@" exec -T dataplane sluice upgrade --wait
docker stop "$between" >/dev/null
docker rm "$between" >/dev/null
echo "The data plane runs from the new image."
