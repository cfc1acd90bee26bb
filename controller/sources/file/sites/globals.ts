import { isIP } from 'node:net';
import { parseDirectoryUrl } from '../../../../shared/certificates/acme-directory.ts';
import { readAcmeRoots } from '../../../../shared/certificates/acme-roots.ts';
import { quote } from '../../../../shared/config-file/quote.ts';
import type { Word } from '../../../../shared/config-file/word.ts';
import { MAX_CONNECTIONS, MAX_PORTS, MIN_CACHE_BYTES } from '../../../../shared/limits.ts';
import { parseRanges } from '../../../../shared/private-ranges.ts';
import type { Globals } from '../../../../shared/settings.ts';
import type { Cidr } from '../../../../shared/values/cidr.ts';
import { parseDuration } from '../../../../shared/values/duration.ts';
import { readPort } from '../../../../shared/values/port.ts';
import { parseSize } from '../../../../shared/values/size.ts';
import { type Context, oneArgument, type Rule, type Rules, rulesByName } from '../directives/rule.ts';

/** The globals being read. */
export type GlobalsDraft = { -readonly [Name in keyof Globals]: Globals[Name] };

const MAX_RANGES = 1_000;
const LONGEST_EMAIL = 320;
const LONGEST_DRAIN_MS = 86_400_000;

type Reader = Parameters<typeof oneArgument<GlobalsDraft>>[3];

const global = (name: string, argument: string, reader: Reader): Rule<GlobalsDraft> => oneArgument(name, argument, ['globals'], reader);

/** The first port is the main one. */
const ports = (name: 'http_port' | 'https_port', other: 'http_port' | 'https_port'): Rule<GlobalsDraft> => ({
  name,
  form: `${name} <port> [<port> …]`,
  scopes: ['globals'],
  args: [1, Infinity],
  block: 'none',
  repeats: false,
  read({ args }, draft, { report }) {
    const numbers: number[] = [];
    const extra = args[MAX_PORTS];
    if (extra) report.error(extra, `${name} ${quote(extra.text)}: at most ${MAX_PORTS} ports`);
    for (const word of args) {
      const refuse = (why: string): void => report.error(word, `${name} ${quote(word.text)}: ${why}`);
      const port = readPort(word.text);
      if (!port.ok) refuse(port.reason);
      else if ([draft[other] ?? []].flat().includes(port.value)) refuse(`${other} is the same port; choose another one`);
      else if (numbers.includes(port.value)) refuse('this port is already there; leave one out');
      else numbers.push(port.value);
    }
    const [first] = numbers;
    if (first !== undefined) draft[name] = numbers.length === 1 ? first : numbers;
  },
});

const bind = global('bind', '<ip-address>', ({ text }, draft, refuse) => {
  if (isIP(text) === 0) refuse('bind takes an IP address, for example 127.0.0.1 or ::1; without it every address is bound');
  else draft.bind = text;
});

const email = global('email', '<address>', ({ text }, draft, refuse) => {
  if (!/^[^\s@]+@[^\s@]+$/.test(text) || text.length > LONGEST_EMAIL) refuse('email takes one address, for example admin@example.com');
  else draft.email = text;
});

const acmeDirectory = global('acme_directory', '<url>', ({ text }, draft, refuse) => {
  const directory = parseDirectoryUrl(text);
  if (directory.ok) draft.acme_directory = directory.value;
  else refuse(directory.reason);
});

const acmeCaRoot = global('acme_ca_root', '<path>', (word, draft, refuse, { textOf }) => {
  const text = textOf(word);
  const roots = text.ok ? readAcmeRoots(text.value) : text;
  if (roots.ok) draft.acme_ca_root = roots.value;
  else refuse(roots.reason);
});

const localCerts: Rule<GlobalsDraft> = {
  name: 'local_certs',
  form: 'local_certs',
  scopes: ['globals'],
  args: [0, 0],
  block: 'none',
  repeats: false,
  read(_, draft) {
    draft.local_certs = true;
  },
};

const drainTimeout = global('drain_timeout', '<duration>', ({ text }, draft, refuse) => {
  const duration = parseDuration(text);
  if (!duration.ok) refuse(duration.reason);
  else if (duration.value > LONGEST_DRAIN_MS) refuse('the longest drain_timeout is 24h');
  else draft.drain_timeout = duration.value;
});

const connections = (name: 'max_connections' | 'max_connections_per_address') =>
  global(name, '<number>', ({ text }, draft, refuse) => {
    const number = /^[1-9]\d{0,7}$/.test(text) ? Number(text) : 0;
    if (number < 1 || number > MAX_CONNECTIONS) refuse(`it is a number from 1 to ${MAX_CONNECTIONS}`);
    else draft[name] = number;
  });

const cacheSize = global('cache', '<size>', ({ text }, draft, refuse) => {
  const size = parseSize(text);
  if (!size.ok) refuse(size.reason);
  else if (size.value < MIN_CACHE_BYTES) refuse('a cache has at least 1mb');
  else draft.cache = size.value;
});

const trustedProxies: Rule<GlobalsDraft> = {
  name: 'trusted_proxies',
  form: 'trusted_proxies <ip-or-range> [<ip-or-range> …]',
  scopes: ['globals'],
  args: [1, MAX_RANGES],
  block: 'none',
  repeats: false,
  read({ args }, draft, { report }) {
    draft.trusted_proxies = args.flatMap((word) => readRange(word, report));
  },
};

function readRange(word: Word, report: Context['report']): readonly Cidr[] {
  const ranges = parseRanges(word.text);
  if (ranges.ok) return ranges.value;
  report.error(word, `trusted_proxies ${quote(word.text)}: ${ranges.reason}`);
  return [];
}

/** All globals. */
export const GLOBAL_RULES: Rules<GlobalsDraft> = rulesByName([
  ports('http_port', 'https_port'),
  ports('https_port', 'http_port'),
  bind,
  email,
  acmeDirectory,
  acmeCaRoot,
  localCerts,
  trustedProxies,
  connections('max_connections'),
  connections('max_connections_per_address'),
  drainTimeout,
  cacheSize,
]);
