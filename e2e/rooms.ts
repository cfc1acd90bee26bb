/** A room is a single file, or a folder with everything below it that is not itself a room. */
export type Room = {
  readonly name: string;
  /** Its purpose, for `docs/rooms.md`. */
  readonly holds: string;
  /** Rooms that its files may import, besides `shared`. */
  readonly mayImport: readonly string[];
};

const room = (name: string, holds: string, ...mayImport: string[]): Room => ({ name, holds, mayImport });

const T = 'dataplane/traffic';
const traffic = (name: string, holds: string, ...below: string[]): Room =>
  room(`${T}/${name}`, holds, ...below.map((one) => (one === 'ledger' ? 'dataplane/ledger' : `${T}/${one}`)));

/** The only list of who may import whom. Each room is listed below those that may import it, so imports only go down. */
export const ROOMS: readonly Room[] = [
  room('shared', 'what both processes share: types, formats and protocols'),

  room('controller/sources/source.ts', 'the interface that every source implements'),
  room('controller/sources', 'helpers for several sources', 'controller/sources/source.ts'),
  room('controller/sources/docker', 'containers and their labels', 'controller/sources/source.ts', 'controller/sources'),
  room('controller/sources/file', 'the Sluicefile', 'controller/sources/source.ts', 'controller/sources'),
  room('controller/sources/kubernetes', 'the objects of a cluster', 'controller/sources/source.ts', 'controller/sources'),
  room('controller/desired', 'snapshots → one routing table; pure', 'controller/sources/source.ts'),
  room('controller/reconcile', 'hold-off, revision, retry', 'controller/sources/source.ts', 'controller/desired'),
  room('controller/push', 'the apply stream to the data plane', 'controller/desired', 'controller/reconcile'),
  room('controller/status', 'the state of every object', 'controller/sources/source.ts', 'controller/reconcile'),
  room(
    'controller',
    'the flags, the wiring in flow order, and the process itself, which creates the sources',
    'controller/sources/source.ts',
    'controller/sources/docker',
    'controller/sources/file',
    'controller/sources/kubernetes',
    'controller/reconcile',
    'controller/push',
    'controller/status',
  ),
  room(
    'controller/cli',
    'the commands',
    'controller/sources/source.ts',
    'controller/sources/file',
    'controller/desired',
    'controller/status',
    'controller',
  ),

  room('dataplane/ledger', 'shared memory for state that is exact across workers'),
  room(`${T}/protocol.ts`, 'the messages between the main thread and a worker', 'dataplane/ledger'),
  traffic('io', 'bytes and sockets: scheduling, read buffers, closing'),
  traffic('codec', 'bytes ⇄ headers, framing, bodies; independent of exchanges', 'io'),
  traffic('exchange', 'one request and its response', 'protocol.ts', 'codec'),
  traffic('match', 'matching of sites, paths and conditions', 'ledger', 'protocol.ts', 'codec', 'exchange'),
  traffic('upstream', 'pools, targets, connections to them, retries', 'ledger', 'protocol.ts', 'codec', 'io', 'exchange'),
  traffic('respond', 'responses without an upstream, and filters', 'ledger', 'protocol.ts', 'codec', 'exchange', 'match'),
  traffic('policy', 'access rules and limits, in their order', 'ledger', 'protocol.ts', 'codec', 'exchange', 'match', 'respond'),
  traffic('route', 'a route compiled for the request path', 'exchange', 'match', 'upstream', 'respond', 'policy'),
  traffic('client', 'client connections over HTTP/1.1 and HTTP/2', 'protocol.ts', 'codec', 'io', 'exchange'),
  traffic('passthrough', 'TLS connections that are passed on to targets', 'protocol.ts', 'exchange', 'upstream', 'route', 'client'),
  traffic('tunnel', 'upgraded connections', 'codec', 'io', 'exchange', 'upstream'),
  traffic('record', 'exchange → counters and log', 'ledger', 'protocol.ts', 'codec', 'exchange', 'match', 'upstream', 'respond', 'client'),
  traffic('serve.ts', 'the request path in one file', 'exchange', 'match', 'policy', 'respond', 'route'),
  traffic('listener', 'ports, PROXY header, TLS', 'ledger', 'protocol.ts', 'io', 'exchange', 'match', 'policy', 'client'),
  traffic(
    'worker',
    'one worker thread, wired',
    'ledger',
    'protocol.ts',
    'codec',
    'io',
    'exchange',
    'match',
    'upstream',
    'respond',
    'policy',
    'route',
    'passthrough',
    'tunnel',
    'record',
    'serve.ts',
    'listener',
  ),

  room('dataplane/workers', 'starting, watching and replacing worker threads', 'dataplane/ledger', `${T}/protocol.ts`, `${T}/io`),
  room('dataplane/access-log', 'writing the access log, in a thread of its own', 'dataplane/ledger'),
  room('dataplane/tracing', 'sending spans, in a thread of its own', 'dataplane/ledger'),
  room('dataplane/publish', 'the only way from the main thread to the workers', `${T}/protocol.ts`, `${T}/match`, 'dataplane/workers'),
  room('dataplane/settings', 'settings and their origins', `${T}/protocol.ts`, 'dataplane/publish'),
  room('dataplane/table', 'the routes: owners, applying, disk', 'dataplane/publish'),
  room('dataplane/tls', 'certificates: store, issuing, internal authority', 'dataplane/publish'),
  room('dataplane/health', 'active health checks', 'dataplane/ledger'),
  room('dataplane/analytics', 'visitor statistics', `${T}/protocol.ts`),
  room('dataplane/metrics', 'Prometheus metrics', `${T}/protocol.ts`),
  room('dataplane/cache', 'the index of the cache: what is stored and what goes', `${T}/protocol.ts`),
  room('dataplane/bots', 'search engines, verified by their addresses', `${T}/protocol.ts`),
  room('dataplane/key-sets', 'public keys of token issuers, fetched by URL', `${T}/protocol.ts`),
  room('dataplane/takeover', 'one process taking over from another'),
  room(
    'dataplane/status',
    'status, readiness and explanations',
    'dataplane/ledger',
    `${T}/protocol.ts`,
    'dataplane/table',
    'dataplane/health',
  ),
  room('dataplane/admin/dashboard/page', 'the dashboard; it runs in the browser'),
  room(
    'dataplane/admin',
    'the Admin API',
    'dataplane/publish',
    'dataplane/table',
    'dataplane/tls',
    'dataplane/analytics',
    'dataplane/status',
  ),
  room(
    'dataplane',
    'the wiring of the main thread, and the process itself',
    'dataplane/ledger',
    'dataplane/workers',
    'dataplane/access-log',
    'dataplane/tracing',
    'dataplane/publish',
    'dataplane/settings',
    'dataplane/table',
    'dataplane/tls',
    'dataplane/health',
    'dataplane/analytics',
    'dataplane/metrics',
    'dataplane/cache',
    'dataplane/bots',
    'dataplane/key-sets',
    'dataplane/takeover',
    'dataplane/status',
    'dataplane/admin',
  ),
];
