/** Which values are available where a text is evaluated: `request` everywhere, `answer` where a response is changed, `target` in Host. */
export type Scope = 'request' | 'answer' | 'target';

/** Placeholders without an argument, by their long names; each with its short names. Names are those of Caddy. */
const PLAIN = {
  'http.request.host': ['host'],
  'http.request.hostport': ['hostport'],
  'http.request.port': ['port'],
  'http.request.scheme': ['scheme'],
  'http.request.method': ['method', 'http.request.orig_method', 'orig_method'],
  'http.request.proto': ['proto'],
  'http.request.uri': ['uri'],
  'http.request.uri.path': ['path'],
  'http.request.uri.path.dir': ['dir'],
  'http.request.uri.path.file': ['file'],
  'http.request.uri.path.file.base': ['file.base'],
  'http.request.uri.path.file.ext': ['file.ext'],
  'http.request.uri.path.remainder': ['remainder'],
  'http.request.uri.query': ['query'],
  'http.request.uri.prefixed_query': ['?query'],
  'http.request.orig_uri': ['orig_uri'],
  'http.request.orig_uri.path': ['orig_path'],
  'http.request.orig_uri.query': ['orig_query'],
  'http.request.orig_uri.prefixed_query': ['orig_?query'],
  'http.request.remote': ['remote'],
  'http.request.remote.host': ['remote_host'],
  'http.request.remote.port': ['remote_port'],
  'http.vars.client_ip': ['client_ip'],
  'http.auth.user.id': [],
  'http.request.uuid': ['uuid', 'request_id', 'http.request.id'],
  'http.request.tls.version': ['tls_version'],
  'http.request.tls.server_name': ['tls_server_name'],
  'http.request.tls.proto': ['tls_proto'],
  'http.request.tls.client.subject': ['tls_client_subject'],
  'http.request.tls.client.issuer': ['tls_client_issuer'],
  'http.request.tls.client.serial': ['tls_client_serial'],
  'http.request.tls.client.fingerprint': ['tls_client_fingerprint'],
  'http.request.tls.client.certificate_der_base64': ['tls_client_certificate_der_base64'],
  'time.now.http': [],
  'time.now.unix': [],
  'time.now.unix_ms': [],
  'time.now.year': [],
} as const;

const OF_ANSWERS = {
  'http.response.status_code': [
    'resp.status_code',
    'http.reverse_proxy.status_code',
    'rp.status_code',
    'http.error.status_code',
    'err.status_code',
  ],
  'http.response.status_text': [
    'resp.status_text',
    'http.reverse_proxy.status_text',
    'rp.status_text',
    'http.error.status_text',
    'err.status_text',
  ],
} as const;

const OF_TARGETS = {
  'http.reverse_proxy.upstream.hostport': ['upstream_hostport', 'http.reverse_proxy.upstream.address'],
  'http.reverse_proxy.upstream.host': ['upstream_host'],
} as const;

/** Placeholders whose last part is chosen by the site: `{header.X-Id}`. */
const WITH_ARGUMENT = {
  'http.request.header.': ['header.'],
  'http.request.cookie.': ['cookie.'],
  'http.request.uri.query.': ['query.'],
  'http.request.host.labels.': ['labels.'],
  'http.request.uri.path.': ['path.'],
  'http.request.tls.client.san.dns_names.': [],
  'http.request.tls.client.san.emails.': [],
  'http.request.tls.client.san.ips.': [],
  'http.request.tls.client.san.uris.': [],
} as const;

/** Those whose argument is an index. */
export const INDEXED: ReadonlySet<PrefixName> = new Set([
  'http.request.host.labels.',
  'http.request.uri.path.',
  'http.request.tls.client.san.dns_names.',
  'http.request.tls.client.san.emails.',
  'http.request.tls.client.san.ips.',
  'http.request.tls.client.san.uris.',
]);

const OF_ANSWERS_WITH_ARGUMENT = {
  'http.response.header.': ['resp.header.', 'http.reverse_proxy.header.', 'rp.header.'],
} as const;

export type PlainName = keyof typeof PLAIN | keyof typeof OF_ANSWERS | keyof typeof OF_TARGETS;
export type PrefixName = keyof typeof WITH_ARGUMENT | keyof typeof OF_ANSWERS_WITH_ARGUMENT;

type PlaceholderList<Name extends string> = ReadonlyMap<string, { readonly name: Name; readonly scope: Scope }>;

function listed<Name extends string>(
  ...lists: readonly (readonly [Scope, Readonly<Record<string, readonly string[]>>])[]
): PlaceholderList<Name> {
  return new Map(
    lists.flatMap(([scope, names]) =>
      Object.entries(names).flatMap(([name, others]) => [name, ...others].map((one) => [one, { name: name as Name, scope }] as const)),
    ),
  );
}

/** Every spelling of a placeholder without an argument. */
export const PLAIN_NAMES: PlaceholderList<PlainName> = listed(['request', PLAIN], ['answer', OF_ANSWERS], ['target', OF_TARGETS]);
/** Every spelling of the part before an argument, with the dot. */
export const PREFIXES: PlaceholderList<PrefixName> = listed(['request', WITH_ARGUMENT], ['answer', OF_ANSWERS_WITH_ARGUMENT]);

/** The spellings that are suggested for a name that does not exist, the shortest first. */
export const SUGGESTED: readonly string[] = [...PLAIN_NAMES.keys()].sort((a, b) => a.length - b.length);

const NO_CAPTURE =
  'is not a placeholder: matchers have no patterns that capture; {remainder} is what the * of a path pattern matched, as in redir /old/* /new/{remainder}';

/** Placeholders of Caddy that don't exist here, by the beginning of their name, and what to do instead. */
export const ELSEWHERE: readonly (readonly [begin: string, advice: string])[] = [
  ['env.', 'is not a placeholder: write {$NAME} for a variable of the environment'],
  ['file.', 'is not a placeholder: only {file}, {file.base} and {file.ext} of the path are'],
  ['vars.', 'is not a placeholder: variables are not supported, except {$NAME} for the environment'],
  ['http.vars.', 'is not a placeholder: variables are not supported, except {$NAME} for the environment'],
  ['re.', NO_CAPTURE],
  ['http.regexp.', NO_CAPTURE],
  ['tls_client_certificate_pem', 'has line breaks: use {tls_client_certificate_der_base64}'],
  ['http.request.tls.client.certificate_pem', 'has line breaks: use {tls_client_certificate_der_base64}'],
  ['http.request.body', 'is not a placeholder: bodies are streamed and never kept'],
];
