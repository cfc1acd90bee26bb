import { isIPv4 } from 'node:net';
import { PROCESS_USER } from '../../../shared/runtime/process/process-user.ts';

/** Every way in which a response can end before it is complete, or can't begin. This is the only place that maps a failure to a status. */
export type Failure = {
  readonly status: 500 | 502 | 503 | 504;
  /** Short and stable, for logs and metrics; never an address. */
  readonly code: string;
  readonly reason: string;
  /** Whether it counts against the target. A client's own fault never does. */
  readonly blamesTarget: boolean;
};

const failure = (status: Failure['status'], code: string, reason: string, blamesTarget: boolean): Failure => ({
  status,
  code,
  reason,
  blamesTarget,
});

export const FAILURE = {
  noTarget: failure(503, 'no_target', 'no target of the pool is in rotation', false),
  queueFull: failure(503, 'queue_full', 'too many requests are waiting for a connection', false),
  queueTimeout: failure(503, 'queue_timeout', 'no connection became available in time', false),
  atLimit: failure(503, 'at_limit', 'every target of the pool has as many requests as it may have at once', false),
  limitQueueFull: failure(503, 'limit_queue_full', 'every target is at its limit, and too many requests wait for one', false),
  limitTimeout: failure(503, 'limit_timeout', 'no target was below its limit in time', false),
  holdFull: failure(503, 'hold_full', 'too many requests are waiting for a target', false),
  noDescriptors: failure(503, 'no_descriptors', 'the proxy has no file descriptor left for another connection', false),
  noPorts: failure(503, 'no_ports', 'the proxy has no local port left for another connection to the target', false),
  unresolved: failure(502, 'unresolved', 'the host name of the target does not resolve', true),
  refused: failure(502, 'refused', 'the target refused the connection', true),
  noSocket: failure(502, 'no_socket', 'the socket of the target does not exist', true),
  socketDenied: failure(502, 'socket_denied', `${PROCESS_USER} is not allowed to open the socket of the target`, true),
  socketFull: failure(503, 'socket_full', 'the queue of the target’s socket is full', false),
  unreachable: failure(502, 'unreachable', 'the target cannot be reached', true),
  connectTimeout: failure(504, 'connect_timeout', 'the target did not accept the connection in time', true),
  tls: failure(502, 'tls', 'the TLS handshake with the target failed', true),
  closed: failure(502, 'closed', 'the target closed the connection before its response was complete', true),
  ended: failure(502, 'ended', 'the target was told to stop and closed the connection before its response was complete', false),
  malformed: failure(502, 'malformed', 'the response of the target is not valid HTTP', true),
  longHead: failure(502, 'long_head', 'the head of the response is larger than max_response_header_size of the transport', true),
  noHttp2: failure(502, 'no_http2', 'the target does not speak HTTP/2', true),
  reset: failure(502, 'reset', 'the target reset its response', true),
  deadline: failure(504, 'deadline', 'the target cancelled the call after the deadline that its client had set', false),
  turnedAway: failure(503, 'turned_away', 'the target accepts no more requests at the moment', false),
  badStatus: failure(502, 'bad_status', 'the target answers with a status that counts as a failure', true),
  retriedStatus: failure(502, 'retried_status', 'the target answered with a status after which another target is tried', false),
  headTimeout: failure(504, 'head_timeout', 'the target did not begin its response in time', true),
  fault: failure(500, 'fault', 'something failed in the proxy itself while it connected to the target', false),
  requestTimeout: failure(504, 'request_timeout', 'the response was not complete within the request_timeout of the transport', false),
  bodyTimeout: failure(504, 'body_timeout', 'the target stopped in the middle of its response', true),
  unread: failure(503, 'unread', 'the client did not read its response, and others waited for its target', false),
  leftUnread: failure(503, 'left_unread', 'clients left too much unread, and this one read too little of its responses', false),
  leftHeld: failure(503, 'left_held', 'clients had too many request bodies held, and this one several for too long', false),
  fileShortened: failure(500, 'file_shortened', 'the file became shorter while it was sent', false),
  fileUnreadable: failure(500, 'file_unreadable', 'the file could not be read to its end', false),
  diskTimeout: failure(503, 'disk_timeout', 'the disk stopped responding in the middle of a file', false),
} as const;

const NO_TARGET_AVAILABLE: ReadonlySet<Failure> = new Set([
  FAILURE.noTarget,
  FAILURE.unresolved,
  FAILURE.refused,
  FAILURE.noSocket,
  FAILURE.socketFull,
  FAILURE.unreachable,
  FAILURE.connectTimeout,
  FAILURE.ended,
]);

/** Whether the failure means that no target was available: no connection was accepted, or only by a target that was shutting down. */
export const noTargetAvailable = (failure: Failure): boolean => NO_TARGET_AVAILABLE.has(failure);

/** The failure for an error of a socket that was still connecting. */
export function connectFailure(error: NodeJS.ErrnoException): Failure {
  switch (error.code) {
    case 'ECONNREFUSED':
      return FAILURE.refused;
    case 'ENOENT':
      return FAILURE.noSocket;
    case 'EACCES':
    case 'EPERM':
      // For a network address this means a firewall.
      return 'port' in error ? FAILURE.unreachable : FAILURE.socketDenied;
    case 'EAGAIN':
      return FAILURE.socketFull;
    case 'ETIMEDOUT':
      return FAILURE.connectTimeout;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return FAILURE.unresolved;
    case 'EMFILE':
    case 'ENFILE':
      return FAILURE.noDescriptors;
    case 'EADDRNOTAVAIL':
      // For an IPv6 address this may also mean that the system has none of its own.
      return 'address' in error && typeof error.address === 'string' && isIPv4(error.address) ? FAILURE.noPorts : FAILURE.unreachable;
    case 'ENETUNREACH':
    case 'EHOSTUNREACH':
    case 'ECONNRESET':
      return FAILURE.unreachable;
    default:
      return error.code?.startsWith('ERR_TLS') || error.code?.startsWith('ERR_SSL') || 'reason' in error || isCertificateCode(error.code)
        ? FAILURE.tls
        : FAILURE.unreachable;
  }
}

/** OpenSSL has its own names for verification failures (`DEPTH_ZERO_SELF_SIGNED_CERT`, `CERT_HAS_EXPIRED`). */
const isCertificateCode = (code: string | undefined): boolean => code !== undefined && /CERT|ISSUER|SIGNATURE|CRL/.test(code);
