import { BEACON_PATH, BEACON_SCRIPT_PATH } from '../../../../shared/name.ts';

/** One policy: its directives, the first of each name (CSP Level 3, 2.2.1). */
export type ContentSecurityPolicy = ReadonlyMap<string, readonly string[]>;

/** The parts of a page's origin that source expressions refer to. `host` in lower case, with its port if there is one. */
export type PageOrigin = { readonly secure: boolean; readonly host: string };

/** Parses the value of a Content-Security-Policy field, which may hold several policies. */
export const parsePolicies = (value: string): ContentSecurityPolicy[] => value.split(',').map(parsePolicy);

function parsePolicy(text: string): ContentSecurityPolicy {
  const directives = new Map<string, readonly string[]>();
  for (const directive of text.split(';')) {
    const [name = '', ...sources] = directive.split(/[\t\n\f\r ]+/).filter((token) => token !== '');
    if (name !== '' && !directives.has(name.toLowerCase())) directives.set(name.toLowerCase(), sources);
  }
  return directives;
}

/**
 * The policies of a `<meta>`, which can't sandbox its page (CSP Level 3, 3.3). Browsers differ on whether a comma begins another policy:
 * both readings must be obeyed.
 */
export function metaPolicies(content: string): ContentSecurityPolicy[] {
  const readings = content.includes(',') ? [parsePolicy(content), ...parsePolicies(content)] : [parsePolicy(content)];
  return readings.map(withoutSandbox);
}

/** Report-only policies: a page that violates them runs, but each visit is reported to its owner. */
export const reportedPolicies = (value: string): ContentSecurityPolicy[] => parsePolicies(value).map(withoutSandbox);

const withoutSandbox = (policy: ContentSecurityPolicy): ContentSecurityPolicy =>
  new Map([...policy].filter(([directive]) => directive !== 'sandbox'));

/**
 * Whether a page with these policies may load the script of its own origin and let it post to that origin.
 * @returns the nonce that the script element needs, empty if it needs none; null if a policy forbids either.
 */
export function scriptNonce(policies: readonly ContentSecurityPolicy[], origin: PageOrigin): string | null {
  if (policies.some((policy) => !mayRun(policy) || !mayConnect(policy, origin))) return null;
  const [first, ...others] = policies.filter((policy) => !mayLoad(policy, origin)).map(noncesOf);
  if (first === undefined) return '';
  return [...first].find((nonce) => others.every((nonces) => nonces.has(nonce))) ?? null;
}

/** A sandboxed page needs its origin as well: without one it posts as `null`, which is refused. */
function mayRun(policy: ContentSecurityPolicy): boolean {
  const flags = policy.get('sandbox')?.map((flag) => flag.toLowerCase());
  return flags === undefined || ['allow-scripts', 'allow-same-origin'].every((flag) => flags.includes(flag));
}

function mayConnect(policy: ContentSecurityPolicy, origin: PageOrigin): boolean {
  const sources = policy.get('connect-src') ?? policy.get('default-src');
  return sources === undefined || sources.some((source) => matchesSource(source, origin, BEACON_PATH));
}

/** Whether the script is allowed without a nonce. */
function mayLoad(policy: ContentSecurityPolicy, origin: PageOrigin): boolean {
  const sources = scriptSources(policy);
  if (sources === undefined) return true;
  if (sources.some((source) => source.toLowerCase() === "'strict-dynamic'")) return false;
  return sources.some((source) => matchesSource(source, origin, BEACON_SCRIPT_PATH));
}

const scriptSources = (policy: ContentSecurityPolicy): readonly string[] | undefined =>
  policy.get('script-src-elem') ?? policy.get('script-src') ?? policy.get('default-src');

const noncesOf = (policy: ContentSecurityPolicy): ReadonlySet<string> =>
  new Set(scriptSources(policy)?.flatMap((source) => /^'nonce-([A-Za-z0-9+/_-]+={0,2})'$/i.exec(source)?.[1] ?? []));

/** Whether a source expression allows a path of the page's own origin (CSP Level 3, 6.7.2.8). */
function matchesSource(expression: string, { secure, host }: PageOrigin, path: string): boolean {
  const source = expression.toLowerCase();
  if (source === "'self'" || source === '*') return true;
  if (/^[a-z][a-z0-9+.-]*:$/.test(source)) return matchesScheme(source.slice(0, -1), secure);
  const parts = /^(?:([a-z][a-z0-9+.-]*):\/\/)?([^/:[\]]+)(?::(\d+|\*))?(\/[^?#]*)?$/.exec(source);
  if (parts === null) return false;
  const [, scheme, name = '', port] = parts;
  if (scheme !== undefined && !matchesScheme(scheme, secure)) return false;
  const [ownName = '', ownPort] = splitPort(host);
  if (name !== '*' && !(name.startsWith('*.') ? ownName.endsWith(name.slice(1)) : ownName === name)) return false;
  const standard = secure ? '443' : '80';
  if (port !== '*' && (port ?? standard) !== (ownPort ?? standard)) return false;
  const prefix = /\/[^?#]*$/.exec(expression.replace(/^[^/]*\/\//, ''))?.[0] ?? '';
  return prefix === '' || (prefix.endsWith('/') ? path.startsWith(prefix) : path === prefix);
}

/** `http:` also matches secure schemes (CSP Level 3, 6.7.2.9). */
const matchesScheme = (scheme: string, secure: boolean): boolean => (scheme === 'https' ? secure : scheme === 'http');

function splitPort(host: string): [name: string, port?: string] {
  const match = /^(.*):(\d+)$/.exec(host);
  return match === null ? [host] : [match[1] as string, match[2] as string];
}
