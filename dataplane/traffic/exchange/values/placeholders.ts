import type { PlainName, PrefixName } from '../../../../shared/placeholders/names.ts';
import type { Placeholder } from '../../../../shared/placeholders/template.ts';
import { STATUS_CODES } from '../../../../shared/runtime/http/node-http.ts';
import { httpDate } from '../../codec/date.ts';
import { fieldIn, fieldsIn } from '../../codec/http1/kept-lines.ts';
import type { ClientIdentity, NameKind } from '../client-identity.ts';
import { cookieIn } from './cookie.ts';
import type { EvaluatedRequest } from './evaluated-request.ts';
import { parameterIn, pathOf, queryOf } from './query.ts';

/** The response that a value may be about. `lines` are its fields as whole lines. */
export type AnswerFacts = { readonly status: number; readonly lines: string };
export const NO_ANSWER: AnswerFacts = { status: 0, lines: '' };

/** The value of a placeholder for a request, one character per byte; empty where there is none. */
export type Value = (x: EvaluatedRequest, answer: AnswerFacts) => string;

/** What some placeholders depend on where they are written. */
export type PlaceholderContext = {
  /** The path and query as changed so far, for texts that change them; otherwise as the client sent them. */
  readonly target?: (x: EvaluatedRequest) => string;
  /** What `*` of the pattern around the text matched. */
  readonly remainder?: (x: EvaluatedRequest) => string;
};

const asSent = (x: EvaluatedRequest): string => x.target;

/** Compiles a placeholder that validation has accepted. */
export function compilePlaceholder(placeholder: Placeholder, { target = asSent, remainder = () => '' }: PlaceholderContext): Value {
  const { name, argument } = placeholder;
  switch (name) {
    case 'http.request.uri':
      return (x) => target(x);
    case 'http.request.uri.path':
      return (x) => pathOf(target(x));
    case 'http.request.uri.path.dir':
      return (x) => dirOf(pathOf(target(x)));
    case 'http.request.uri.path.file':
      return (x) => fileOf(pathOf(target(x)));
    case 'http.request.uri.path.file.base':
      return (x) => baseOf(fileOf(pathOf(target(x))));
    case 'http.request.uri.path.file.ext':
      return (x) => extensionOf(fileOf(pathOf(target(x))));
    case 'http.request.uri.query':
      return (x) => queryOf(target(x));
    case 'http.request.uri.prefixed_query':
      return (x) => prefixed(queryOf(target(x)));
    case 'http.request.uri.path.remainder':
      return (x) => remainder(x);
    case 'http.request.uri.path.':
      return (x) => pathOf(target(x)).split('/', Number(argument) + 2)[Number(argument) + 1] ?? '';
    case 'http.request.uri.query.':
      return (x) => parameterIn(queryOf(target(x)), argument) ?? '';
    case 'http.request.header.':
      return argument === 'host' ? (x) => x.hostField : (x) => fieldsIn(x.fields, argument).join(', ');
    case 'http.request.cookie.':
      return (x) => cookieIn(x.fields, argument) ?? '';
    case 'http.request.host.labels.':
      return (x) => x.host.split('.').at(-1 - Number(argument)) ?? '';
    case 'http.request.tls.client.san.dns_names.':
    case 'http.request.tls.client.san.emails.':
    case 'http.request.tls.client.san.ips.':
    case 'http.request.tls.client.san.uris.':
      return compileName(NAME_KINDS[name], Number(argument));
    case 'http.response.header.':
      return (_, { lines }) => fieldsIn(lines, argument).join(', ');
    case 'http.reverse_proxy.upstream.host':
    case 'http.reverse_proxy.upstream.hostport':
      throw new Error(`${name} has a value only once a target is chosen`);
    default:
      return VALUES[name];
  }
}

type Simple = Exclude<PlainName, `http.request.uri${string}` | `http.reverse_proxy.upstream.${string}`>;

/** Placeholders that depend on nothing but the exchange. */
const VALUES: Readonly<Record<Simple, Value>> = {
  'http.request.host': (x) => x.host,
  'http.request.hostport': (x) => x.hostField,
  'http.request.port': (x) => /:(\d+)$/.exec(x.hostField)?.[1] ?? '',
  'http.request.scheme': (x) => (x.secure ? 'https' : 'http'),
  'http.request.method': (x) => x.method,
  'http.request.proto': (x) => x.client.facts().protocol,
  'http.request.orig_uri': (x) => x.target,
  'http.request.orig_uri.path': (x) => pathOf(x.target),
  'http.request.orig_uri.query': (x) => queryOf(x.target),
  'http.request.orig_uri.prefixed_query': (x) => prefixed(queryOf(x.target)),
  'http.request.remote': (x) => {
    const { address, port } = x.client.facts().connection;
    const host = address.includes(':') ? `[${address}]` : address;
    return port === null ? host : `${host}:${port}`;
  },
  'http.request.remote.host': (x) => x.client.facts().connection.address,
  'http.request.remote.port': (x) => `${x.client.facts().connection.port ?? ''}`,
  'http.vars.client_ip': (x) => x.client.address,
  'http.auth.user.id': (x) => (x.user === null ? '' : Buffer.from(x.user).toString('latin1')),
  'http.request.uuid': (x) => fieldIn(x.forwarding, 'x-request-id') ?? '',
  'http.request.tls.version': (x) => TLS_VERSIONS.get(x.client.facts().connection.tls?.version ?? 0) ?? '',
  'http.request.tls.server_name': (x) => x.client.facts().connection.tls?.serverName ?? '',
  'http.request.tls.proto': (x) => x.client.facts().connection.tls?.protocol ?? '',
  'http.request.tls.client.subject': (x) => identityOf(x)?.subject ?? '',
  'http.request.tls.client.issuer': (x) => identityOf(x)?.issuer ?? '',
  'http.request.tls.client.serial': (x) => identityOf(x)?.serial ?? '',
  'http.request.tls.client.fingerprint': (x) => identityOf(x)?.fingerprint ?? '',
  'http.request.tls.client.certificate_der_base64': (x) => identityOf(x)?.der ?? '',
  'time.now.http': now,
  'time.now.unix': () => `${Math.floor(Date.parse(now()) / 1_000)}`,
  'time.now.unix_ms': () => `${Date.parse(now())}`,
  'time.now.year': () => now().slice(12, 16),
  'http.response.status_code': (_, { status }) => `${status}`,
  'http.response.status_text': (_, { status }) => STATUS_CODES[status] ?? '',
};

const NAME_KINDS = {
  'http.request.tls.client.san.dns_names.': 'dns_names',
  'http.request.tls.client.san.emails.': 'emails',
  'http.request.tls.client.san.ips.': 'ips',
  'http.request.tls.client.san.uris.': 'uris',
} as const;

const compileName =
  (kind: NameKind, nth: number): Value =>
  (x) =>
    identityOf(x)?.name(kind, nth) ?? '';

const identityOf = (x: EvaluatedRequest): ClientIdentity | null => x.client.facts().connection.tls?.client ?? null;

/** As in Caddy. */
const TLS_VERSIONS: ReadonlyMap<number, string> = new Map([
  [0x0303, 'tls1.2'],
  [0x0304, 'tls1.3'],
]);

/** The placeholders whose values are short and safe for any request that a client may send. */
export const BOUNDED: ReadonlySet<PlainName | PrefixName> = new Set(
  (Object.keys(VALUES) as Simple[]).filter(
    (name) => !name.startsWith('http.request.orig_') && !name.startsWith('http.request.tls.client.'),
  ),
);

/** `Sun, 06 Nov 1994 08:49:37 GMT`, to the second, from the worker's clock. */
function now(): string {
  const line = httpDate();
  return line.slice(line.indexOf(' ') + 1, -2);
}

const prefixed = (query: string): string => (query === '' ? '' : `?${query}`);
const dirOf = (path: string): string => path.slice(0, path.lastIndexOf('/') + 1);
const fileOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

function extensionOf(file: string): string {
  const dot = file.lastIndexOf('.');
  return dot < 0 ? '' : file.slice(dot);
}

const baseOf = (file: string): string => file.slice(0, file.length - extensionOf(file).length);
