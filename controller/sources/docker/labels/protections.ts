import { closest } from '../../../../shared/closest.ts';
import { CONFIG_FILE, LABEL_PREFIX } from '../../../../shared/name.ts';
import { LABELS } from './label-rules.ts';

/** A label that none of ours is, and that was to keep somebody out: without it the site would be more open than it was meant to be. */
export type Protection = {
  /** The word in front of it, which names the site that it was meant for. */
  readonly site: string | null;
  /** What to write instead. */
  readonly advice: string;
};

const label = (form: string) => `write ${LABEL_PREFIX}${form}`;
const inFile = (directive: string) => `no label does that: give the site a block in the ${CONFIG_FILE}, with ${directive}`;

const RATE = label('rate_limit=<n>/s');
const PASSWORDS = `labels carry no passwords: give the site a block in the ${CONFIG_FILE}, with basic_auth`;
const ADDRESSES = inFile('respond 403 for a matcher of remote_ip');
const CLIENTS = inFile('tls { client_ca … }');
const ELSEWHERE = 'it is not available: leave it out, and let the app itself or a proxy behind this one ask';

/** By their words without hyphens and underscores: ours, those of other proxies, and what people call them. */
const PROTECTIONS: ReadonlyMap<string, string> = new Map([
  ...many(RATE, 'ratelimit', 'ratelimits', 'ratelimiting', 'limit', 'limits', 'limitreq', 'throttle'),
  ...many(PASSWORDS, 'basicauth', 'basicauthentication', 'auth', 'authentication', 'authorization', 'authorize', 'password', 'passwords'),
  ...many(PASSWORDS, 'users', 'htpasswd', 'digestauth', 'login', 'private', 'protect', 'protected', 'require', 'secure'),
  ...many(ELSEWHERE, 'forwardauth', 'authrequest', 'oidc', 'oauth', 'oauth2', 'sso', 'jwt', 'underattack', 'challenge', 'captcha', 'waf'),
  ...many(ADDRESSES, 'ipfilter', 'ipallow', 'ipallowlist', 'ipwhitelist', 'ipdeny', 'ipblock', 'ipdenylist', 'ipblacklist', 'iprestrict'),
  ...many(ADDRESSES, 'allow', 'allowlist', 'allowfrom', 'whitelist', 'deny', 'denylist', 'block', 'blocklist', 'blacklist', 'remoteip'),
  ...many(CLIENTS, 'clientauth', 'clientca', 'clientcert', 'clientcertificate', 'mtls'),
  ...many(label('upstream_tls=true'), 'upstreamtls', 'upstreamhttps'),
]);

function many(advice: string, ...words: string[]): [string, string][] {
  return words.map((word) => [word, advice]);
}

/** Short words are near to too many others. */
const SHORTEST_TO_GUESS = 7;
const GUESSED = [...PROTECTIONS.keys()].filter((word) => word.length >= SHORTEST_TO_GUESS);
const KNOWN = [...LABELS.keys()].map(bare).filter((word) => !PROTECTIONS.has(word));
/** Somebody says that there is to be none. */
const SWITCHED_OFF = /^(?:off|false|no|none|0|disabled)$/i;

/** What an unknown label was to protect; undefined where it was not. `rest` is what follows the prefix. */
export function protectionOf(rest: string, value: string): Protection | undefined {
  if (SWITCHED_OFF.test(value)) return undefined;
  const words = rest.split('.');
  // sluice.WORD…, sluice.SITE.WORD…: what follows the word is the protection's own.
  for (const [at, word] of words.slice(0, 2).entries()) {
    const advice = adviceOn(bare(word));
    if (advice !== undefined) return { site: at === 0 ? null : (words[0] ?? null), advice };
  }
  return undefined;
}

function adviceOn(word: string): string | undefined {
  const exact = PROTECTIONS.get(word);
  if (exact !== undefined || KNOWN.includes(word)) return exact;
  const meant = closest(word, [...KNOWN, ...GUESSED]);
  return meant === undefined ? undefined : PROTECTIONS.get(meant);
}

function bare(word: string): string {
  return word.toLowerCase().replace(/[-_]/g, '');
}
