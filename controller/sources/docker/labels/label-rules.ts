import { MAX_HOLD_SECS } from '../../../../shared/longest-hold.ts';
import {
  HEADER_NAME,
  HEADER_VALUE,
  isFramingHeader,
  LONGEST_HEADER_NAME,
  LONGEST_HEADER_VALUE,
} from '../../../../shared/response-header.ts';
import { MAX_ANSWER_SECS } from '../../../../shared/transport.ts';
import { parseDuration } from '../../../../shared/values/duration.ts';
import { type Domain, parseDomain } from '../../../../shared/values/host.ts';
import { parseRate } from '../../../../shared/values/rate.ts';

/** What labels write into. */
export type SiteDraft = {
  domains: Domain[];
  port: number | null;
  network: string | null;
  https: 'auto' | 'off';
  rateLimit: number | null;
  headers: { name: string; value: string }[];
  /** Path of the page that tells whether the app is well. */
  health: string | null;
  holdSecs: number | null;
  upstreamTls: boolean;
  /** Whether the certificate of the app may be anybody's. */
  upstreamInsecure: boolean;
  /** The HTTP/2 that the app speaks; null for HTTP/1.1. */
  transport: 'h2' | 'h2c' | null;
  /** Seconds that the app may take to begin an answer, and between two pieces of it; 0 is no limit, null the usual one. */
  responseHeaderTimeoutSecs: number | null;
  readTimeoutSecs: number | null;
};

export type LabelRule = {
  readonly form: string;
  /** Says something about the one container; the others of its pool may say otherwise. */
  readonly perContainer: boolean;
  /** @returns what is wrong with the value; undefined when it was taken. */
  readonly read: (value: string, draft: SiteDraft, header: string) => string | undefined;
};

const NETWORK_NAME = /^[A-Za-z0-9_.-]{1,255}$/;
const MOST_HEADERS = 1_000;

/** All labels by the word after `sluice.` or `sluice.<site>.`; `header` is followed by a field name. */
export const LABELS: ReadonlyMap<string, LabelRule> = new Map<string, LabelRule>([
  ['domain', { form: 'DOMAIN[,DOMAIN…]', perContainer: true, read: readDomains }],
  ['port', { form: 'PORT', perContainer: true, read: readPort }],
  [
    'tls',
    {
      form: 'off',
      perContainer: false,
      read: (value, draft) => {
        if (value !== 'off' && value !== 'auto') return 'it can only be switched off';
        draft.https = value;
        return undefined;
      },
    },
  ],
  [
    'rate_limit',
    {
      form: '<n>/s',
      perContainer: false,
      read: (value, draft) => {
        const rate = parseRate(value);
        if (!rate.ok) return rate.reason;
        draft.rateLimit = rate.value;
        return undefined;
      },
    },
  ],
  ['header', { form: 'VALUE', perContainer: false, read: readHeader }],
  [
    'network',
    {
      form: 'NETWORK',
      perContainer: true,
      read: (value, draft) => {
        if (!NETWORK_NAME.test(value)) return 'a network name is letters, digits, dots, hyphens and underscores';
        draft.network = value;
        return undefined;
      },
    },
  ],
  [
    'health',
    {
      form: '/PATH',
      perContainer: false,
      read: (value, draft) => {
        if (!/^\/[\x21-\x7e]{0,2047}$/.test(value)) return 'a path starts with / and has no space';
        draft.health = value;
        return undefined;
      },
    },
  ],
  ['hold', { form: '10s', perContainer: false, read: readHold }],
  [
    'upstream_tls',
    {
      form: 'true',
      perContainer: false,
      read: (value, draft) => {
        if (value !== 'true' && value !== 'insecure' && value !== 'false') return 'it is true, insecure or false';
        draft.upstreamTls = value !== 'false';
        draft.upstreamInsecure = value === 'insecure';
        return undefined;
      },
    },
  ],
  [
    'transport',
    {
      form: 'h2c',
      perContainer: false,
      read: (value, draft) => {
        if (value !== 'h2c' && value !== 'h2') return 'it is h2c, or h2 where TLS is spoken with the app';
        draft.transport = value;
        return undefined;
      },
    },
  ],
  [
    'response_header_timeout',
    {
      form: '90s',
      perContainer: false,
      read: (value, draft) => readTimeout(value, draft, 'responseHeaderTimeoutSecs'),
    },
  ],
  ['read_timeout', { form: '90s', perContainer: false, read: (value, draft) => readTimeout(value, draft, 'readTimeoutSecs') }],
  [
    'analytics',
    {
      form: 'on',
      perContainer: false,
      read: (value) => (value === 'off' ? undefined : value === 'on' ? 'not available yet' : 'it is on or off'),
    },
  ],
]);

function readDomains(value: string, draft: SiteDraft): string | undefined {
  const wrong: string[] = [];
  for (const part of value.split(',').map((one) => one.trim())) {
    if (part === '') continue;
    const domain = parseDomain(part);
    if (!domain.ok) wrong.push(`${part}: ${domain.reason}`);
    else if (!draft.domains.includes(domain.value)) draft.domains.push(domain.value);
  }
  if (wrong.length > 0) return wrong.join(', ');
  return draft.domains.length === 0 ? 'it names no domain' : undefined;
}

function readPort(value: string, draft: SiteDraft): string | undefined {
  if (!/^[1-9]\d{0,4}$/.test(value) || Number(value) > 65_535) return 'a port is a number from 1 to 65535';
  draft.port = Number(value);
  return undefined;
}

function readHeader(value: string, draft: SiteDraft, name: string): string | undefined {
  if (!HEADER_NAME.test(name) || name.length > LONGEST_HEADER_NAME) return 'a header name is letters, digits and hyphens';
  if (isFramingHeader(name)) return 'the proxy itself sets this header';
  if (!HEADER_VALUE.test(value) || value.length > LONGEST_HEADER_VALUE)
    return 'a header value has no control characters and none beyond U+00FF';
  if (draft.headers.some((other) => other.name.toLowerCase() === name.toLowerCase()))
    return 'the header is named twice, in different letters';
  if (draft.headers.length === MOST_HEADERS) return `a site has at most ${MOST_HEADERS} headers`;
  draft.headers.push({ name, value });
  return undefined;
}

function readTimeout(value: string, draft: SiteDraft, member: 'responseHeaderTimeoutSecs' | 'readTimeoutSecs'): string | undefined {
  const time = parseDuration(value === 'off' ? '0s' : value);
  if (!time.ok) return `${time.reason}; off is no limit`;
  if (time.value % 1_000 !== 0 || time.value > MAX_ANSWER_SECS * 1_000)
    return `whole seconds, ${MAX_ANSWER_SECS}s at most; off is no limit`;
  draft[member] = time.value / 1_000;
  return undefined;
}

function readHold(value: string, draft: SiteDraft): string | undefined {
  const time = parseDuration(value);
  if (!time.ok) return time.reason;
  if (time.value % 1_000 !== 0 || time.value > MAX_HOLD_SECS * 1_000) return `whole seconds, ${MAX_HOLD_SECS}s at most`;
  draft.holdSecs = time.value / 1_000;
  return undefined;
}
