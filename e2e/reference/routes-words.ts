/** The objects that a route is made of, where the schema has them, and what each is. */
export const PARTS: readonly { readonly name: string; readonly at: readonly string[]; readonly about: string }[] = [
  { name: 'route', at: [], about: 'A domain and what answers for it. The first six are those that `GET /routes` answers.' },
  { name: 'upstream', at: ['upstreams', '[]'], about: 'One target of a pool. Requests go to them in turn.' },
  {
    name: 'transport',
    at: ['transport'],
    about: 'How targets are spoken to, and how long they may take. `server_name`, `ca` and `insecure` are for targets with TLS.',
  },
  { name: 'health', at: ['health'], about: 'A page that each target is asked for again and again.' },
  { name: 'header', at: ['headers', '[]'], about: 'A field of the answer that is set or removed. The last one of a name wins.' },
  { name: 'redirect', at: ['redirects', '[]'], about: 'A path that has moved. The first that matches answers.' },
  { name: 'basic_auth', at: ['basic_auth'], about: 'Who may come in (RFC 7617).' },
  {
    name: 'users',
    at: ['basic_auth', 'users', '[]'],
    about: 'One of them. Answers show a mark in place of the hash, the same for the same hash.',
  },
  {
    name: 'client_auth',
    at: ['client_auth'],
    about: 'Visitors show a certificate of their own in the handshake, or are not served. Without TLS there is nobody to show it to: 403.',
  },
  { name: 'respond', at: ['respond'], about: 'A fixed answer, as plain text.' },
  { name: 'rate_limits', at: ['rate_limits', '[]'], about: 'A limit that counts for some requests, beside the one for all.' },
  { name: 'responds', at: ['responds', '[]'], about: 'A fixed answer to some requests. They are asked in order.' },
  {
    name: 'handle',
    at: ['handles', '[]'],
    about: 'What applies to some paths. Blocks are tried in order, and the first that matches answers.',
  },
  {
    name: 'match',
    at: ['rate_limits', '[]', 'match'],
    about: 'What a request must be like: every member that stands must match, and none of `not`. In a list any entry does.',
  },
];

/** What each member says, by `part.member`. A block's members are its site's where they are not listed. */
export const WORDS: Readonly<Record<string, string>> = {
  'route.domain': 'A domain, or `*.example.com` for exactly one label more; in an apply stream also `*`, every host without a route.',
  'route.upstream':
    '`host:port`, or `unix/` and the absolute path of a socket; null where blocks or the route itself answer. With `upstreams` it is the first of them.',
  'route.tls': 'Whether the proxy speaks TLS to the targets.',
  'route.rate_limit_rps': 'Requests a second and client address; null is no limit.',
  'route.rate_limits': 'Limits for some requests.',
  'route.under_attack': 'Not available yet.',
  'route.source': 'The tag of the controller that owns the route.',
  'route.https':
    '`auto`: a certificate is ordered where one can be had. `internal`: of our own authority. `provided`: one comes along, none is ordered. `off`: none.',
  'route.client_auth': 'What visitors have to show before they are served; null and absent are nothing.',
  'route.path_case': 'Whether path patterns are compared without regard to the case of letters A to Z.',
  'route.upstreams': 'The pool.',
  'route.transport': 'How the targets are spoken to; null is HTTP/1.1, over TLS with a certificate that the system trusts.',
  'route.hold_secs': 'Seconds that a request waits for a target when none can be reached; null and 0 are not at all.',
  'route.health': 'Active health checks; null is none.',
  'route.headers': 'Fields of the answer.',
  'route.redirects': 'What has moved.',
  'route.basic_auth': 'Passwords; null is none.',
  'route.respond': 'A fixed answer to everything; null is none.',
  'route.responds': 'Fixed answers to some requests, asked before `respond`.',
  'route.handles': 'Blocks by path or condition.',
  'route.origin': 'Where the route was written, in words for people: `Sluicefile:12`.',
  'upstream.address':
    '`host:port`; an IPv6 address stands in brackets. Or `unix/` and the absolute path of a socket: `unix//run/app.sock`.',
  'upstream.id': 'A name of the target that stays while its address may change or go to another one.',
  'upstream.weight': 'Its share of the requests relative to the others; 0 gets none.',
  'upstream.state':
    'Only `healthy` gets requests. `draining` finishes what it has, and gets more only where no other is left and none are held; the others wait for a better state.',
  'upstream.probe':
    'Whether one that is `starting` comes into rotation by itself: once a connection to it stays open for 100 ms, or its health check is passed.',
  'transport.protocol': 'HTTP/2, over TLS (`h2`) or without (`h2c`); HTTP/1.1 where it is left out.',
  'transport.server_name':
    'The name that the certificates must show; the host of the target where it is left out, or the domain where that is an address.',
  'transport.ca': 'PEM: who vouches for the certificates, in place of those whom the system trusts.',
  'transport.insecure': "Whether the certificates may be anybody's.",
  'transport.dial_timeout_secs':
    'Seconds that a connection may take to stand, name look-up and TLS included. Where it is left out: 5, or 1 for targets with an `id`.',
  'transport.response_header_timeout_secs':
    'Seconds from the end of a request until its answer must begin, or it is 504; 0 is no limit. 60 where it is left out.',
  'transport.read_timeout_secs':
    'Seconds between two pieces of the body of an answer, or it is cut; 0 is no limit. 60 where it is left out. Streams of events and calls of gRPC have none.',
  'transport.max_response_header_bytes':
    'Bytes that the head of an answer may be, or it is 502. 262,144 where it is left out, and 1,000 lines; larger ones may have a line for each 256 bytes.',
  'health.path': 'Path and query that are asked for with GET; 2xx and 3xx are well.',
  'health.interval_secs': 'Seconds from one question to the next.',
  'health.timeout_secs': 'Seconds that an answer may take.',
  'header.name': 'Letters, digits and hyphens.',
  'header.value': 'What it is set to; null removes it.',
  'header.match': 'Which requests it is for; all where it is left out.',
  'redirect.from': 'A path pattern.',
  'redirect.to': 'A path or a URL; it may name placeholders.',
  'redirect.status': 'The status of the answer.',
  'redirect.match': 'Which requests it is for; all where it is left out.',
  'basic_auth.realm': 'What a browser shows when it asks.',
  'basic_auth.users': 'At least one; each name stands once.',
  'users.name': 'Without colon and control characters.',
  'users.hash': 'A bcrypt hash, `$2a$`, `$2b$` or `$2y$`, with a cost from 4 to 16.',
  'client_auth.ca': 'PEM: the roots that vouch for visitors, and what clients may leave out between those and their own.',
  'respond.status': 'The status of the answer.',
  'respond.body': 'Its text.',
  'rate_limits.rps': 'Requests a second and client address.',
  'rate_limits.match': 'Which requests it counts.',
  'responds.status': 'The status of the answer.',
  'responds.body': 'Its text.',
  'responds.match': 'Which requests it answers.',
  'handle.path': 'A path pattern; null matches every path.',
  'handle.match': 'What else a request must be like.',
  'handle.strip_prefix': 'Whether what stands before `*` in the pattern is taken off the path before the upstream sees it.',
  'match.name': 'What people call it: `@api`.',
  'match.path': 'Path patterns; also what a path ends with, `*.php`, or holds, `*/admin/*`.',
  'match.method': 'Methods.',
  'match.header':
    'Fields of the request, each `{name, values, absent}`: any of the values, any value at all where the list is empty, or with `absent` no such field.',
  'match.query': 'Parameters, each `{name, values}`.',
  'match.remote_ip': 'Client addresses and ranges.',
  'match.not': 'Conditions of the same members, none of which may match.',
};
