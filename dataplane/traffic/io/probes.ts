import type { Socket } from 'node:net';

/**
 * When the system asks a client that sends nothing whether it is still there, and how often without an answer before the connection is
 * over. A client that has closed its connection looks like one that has only ended its side, one that has lost its network says nothing,
 * and a tunnel or an event stream may be silent for any time. Most systems answer for 60 s after a program has closed a connection.
 */
export const CLIENT_PROBES = { idleSecs: 75, intervalSecs: 15, count: 8 } as const;

/**
 * Silence after which a target is asked (ms), which takes ten seconds. One that has lost its power or its network says nothing, and an
 * event stream, a tunnel or a response without a time limit may be silent for any time.
 */
const TARGET_SILENCE_MS = 30_000;

/** Has a connection closed to a target that is no longer there. */
export const probeTarget = (socket: Socket): void => void socket.setKeepAlive(true, TARGET_SILENCE_MS);
