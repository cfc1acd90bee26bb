/** Limits that several modules check, separate from the schemas because those take long to load. */

/** A higher connection limit must be a typo. */
export const MAX_CONNECTIONS = 10_000_000;
/** The longest time a request may be held for a target (s). */
export const MAX_HOLD_SECS = 300;

/** The maximum number of targets of a pool. */
export const MAX_TARGETS = 10_000;
/** The highest weight of a target. */
export const MAX_WEIGHT = 1_000;
/** The maximum number of checks in a row that a change of a target's health may need. */
export const MAX_CONSECUTIVE = 100;
/** The status that a health check expects: 200, or 2xx. */
export const HEALTHY_STATUS = /^[1-5](?:\d\d|xx)$/;
/** The maximum number of targets that a request may be tried on after its first one. */
export const MAX_RETRIES = 10;
/** A status that may count as a failure: 503, or 5xx. */
export const RETRIED_STATUS = /^[45](?:\d\d|xx)$/;
/** The maximum number of failures in a row that may be needed to take a target out of rotation. */
export const MAX_FAILS = 1_000;
/** The longest time that failures take a target out (s). */
export const LONGEST_EJECTION_SECS = 3_600;
/** How many requests one worker needs within ten seconds to judge a target by its error rate; the default of routes. */
export const USUAL_CIRCUIT_REQUESTS = 20;
/** The longest slow start (s). */
export const LONGEST_SLOW_START_SECS = 3_600;
/** The highest limit of requests in flight to a target. */
export const MAX_IN_FLIGHT = 100_000;
/** The maximum number of requests that may wait for a target that is at its limit, per worker. */
export const MAX_QUEUED = 10_000;
/** How long they wait at most; the default of routes (s). */
export const USUAL_QUEUE_SECS = 5;
/** The longest time that they may wait (s). */
export const LONGEST_QUEUE_SECS = 300;

/** Operations of one worker on disks that may be under way at once; each occupies a thread of the process's pool. */
export const DISK_OPERATIONS_PER_WORKER = 6;
/** The same under one root, so that a disk that hangs leaves room for other sites. */
export const DISK_OPERATIONS_PER_ROOT = 2;

/** The smallest cache of responses (bytes). */
export const MIN_CACHE_BYTES = 1_048_576;

/** The maximum number of ports of one kind, HTTP or HTTPS, that a data plane listens on. Each takes a descriptor per worker. */
export const MAX_PORTS = 16;

/** The maximum number of blocks of a route. */
export const MAX_BLOCKS = 20_000;

/** How long a TLS connection that is passed through may be idle: the default of routes, and the maximum (s). */
export const USUAL_PASSTHROUGH_IDLE_SECS = 3_600;
export const LONGEST_PASSTHROUGH_IDLE_SECS = 604_800;
