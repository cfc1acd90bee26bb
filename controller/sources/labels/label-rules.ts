import { readBalancing } from '../../../shared/balancing/read-balancing.ts';
import {
  LONGEST_SLOW_START_SECS,
  MAX_HOLD_SECS,
  MAX_IN_FLIGHT,
  MAX_PORTS,
  MAX_QUEUED,
  MAX_WEIGHT,
  USUAL_QUEUE_SECS,
} from '../../../shared/limits.ts';
import { SITE_POLICIES } from '../../../shared/policy/policies.ts';
import type { Label } from '../../../shared/policy/policy.ts';
import type { RouteDraft } from '../../../shared/route.ts';
import { healthCheckSchema } from '../../../shared/upstreams/health-check.ts';
import { MAX_ANSWER_SECS } from '../../../shared/upstreams/transport.ts';
import { parseDuration, parseSeconds } from '../../../shared/values/duration.ts';
import { type Domain, parseDomain } from '../../../shared/values/host.ts';
import { readPort as readTcpPort } from '../../../shared/values/port.ts';

/** The draft that labels are read into. */
export type LabelDraft = {
  domains: Domain[];
  port: number | null;
  network: string | null;
  weight: number;
  /** Members of the route. */
  members: RouteDraft;
};

export type LabelRule = Omit<Label<LabelDraft>, 'word'> & {
  /** Describes the single container; others of its pool may differ. */
  readonly perContainer: boolean;
};

const MAX_LISTENED = 2 * MAX_PORTS;
const NETWORK_NAME = /^[A-Za-z0-9_.-]{1,255}$/;

const ownLabel = (label: Label<LabelDraft>): [string, LabelRule] => [label.word, { ...label, perContainer: true }];
/** A label that describes the route. */
const routeLabel = (label: Label<RouteDraft>): [string, LabelRule] => [
  label.word,
  { ...label, perContainer: false, read: (value, { members }, field) => label.read(value, members, field) },
];

/** All labels by the text after `sluice.` or `sluice.<site>.`; `header` is followed by a field name. In the order of the reference. */
export const LABELS: ReadonlyMap<string, LabelRule> = new Map([
  ownLabel({
    word: 'domain',
    form: 'DOMAIN[,DOMAIN…]',
    otherwise: 'the site is not routed',
    example: 'shop.example,www.shop.example',
    read: readDomains,
  }),
  ownLabel({ word: 'port', form: 'PORT', otherwise: 'the only TCP port that the image exposes', example: '8080', read: readPort }),
  ownLabel({
    word: 'network',
    form: 'NETWORK',
    otherwise: 'see [Addresses](#addresses)',
    example: 'shop_default',
    read(value, draft) {
      if (!NETWORK_NAME.test(value)) return 'a network name is letters, digits, dots, hyphens and underscores';
      draft.network = value;
      return undefined;
    },
  }),
  ownLabel({
    word: 'weight',
    form: 'N',
    otherwise: '1',
    example: '3',
    read(value, draft) {
      if (!/^\d{1,4}$/.test(value) || Number(value) > MAX_WEIGHT) return `a weight is a number from 0 to ${MAX_WEIGHT}`;
      draft.weight = Number(value);
      return undefined;
    },
  }),
  routeLabel({
    word: 'listen',
    form: 'PORT[,PORT…]',
    otherwise: 'every port of `http_port` and `https_port`',
    example: '8443',
    read: readListen,
  }),
  routeLabel({
    word: 'tls',
    form: 'off',
    otherwise: 'automatic HTTPS, as for every site',
    example: 'off',
    read(value, members) {
      if (value !== 'off' && value !== 'auto') return 'it can only be switched off';
      members.https = value;
      return undefined;
    },
  }),
  routeLabel({
    word: 'https_redirect',
    form: 'off',
    otherwise: 'HTTP is redirected to HTTPS',
    example: 'off',
    read(value, members) {
      if (value !== 'off' && value !== 'on') return 'it is off or on';
      members.https_redirect = value === 'on';
      return undefined;
    },
  }),
  ...SITE_POLICIES.flatMap(({ labels = [] }) => labels.map(routeLabel)),
  routeLabel({
    word: 'health',
    form: '/PATH',
    otherwise: 'no health check',
    example: '/healthz',
    read(value, members) {
      if (!/^\/[\x21-\x7e]{0,2047}$/.test(value)) return 'a path must start with / and must not contain spaces';
      members.health = healthCheckSchema.parse({ path: value });
      return undefined;
    },
  }),
  routeLabel({ word: 'lb_policy', form: 'POLICY', otherwise: 'round_robin', example: 'cookie', read: readPolicy }),
  routeLabel({
    word: 'slow_start',
    form: '30s',
    otherwise: 'a new container gets its full share at once',
    example: '30s',
    read: readSlowStart,
  }),
  routeLabel({
    word: 'max_in_flight',
    form: 'N [QUEUE]',
    otherwise: 'any number of requests at once',
    example: '20 100',
    read: readConcurrency,
  }),
  routeLabel({ word: 'hold', form: '10s', otherwise: 'requests do not wait for a target', example: '10s', read: readHold }),
  routeLabel({
    word: 'upstream_tls',
    form: 'true',
    otherwise: 'plain HTTP',
    example: 'true',
    read(value, members) {
      if (value !== 'true' && value !== 'insecure' && value !== 'false') return 'it is true, insecure or false';
      members.tls = value !== 'false';
      if (value === 'insecure') members.transport = { ...members.transport, insecure: true };
      return undefined;
    },
  }),
  routeLabel({
    word: 'transport',
    form: 'h2c',
    otherwise: 'HTTP/1.1',
    example: 'h2c',
    read(value, members) {
      if (value !== 'h2c' && value !== 'h2') return 'it is h2c, or h2 where TLS is spoken with the app';
      members.transport = { ...members.transport, protocol: value };
      return undefined;
    },
  }),
  timeout('response_header_timeout', '5m', 'response_header_timeout_secs', '60 s'),
  timeout('read_timeout', 'off', 'read_timeout_secs', '60 s'),
  timeout('request_timeout', '2m', 'request_timeout_secs', 'no limit'),
]);

function readDomains(value: string, draft: LabelDraft): string | undefined {
  const wrong: string[] = [];
  const found = new Set<Domain>();
  for (const part of value.split(',').map((one) => one.trim())) {
    if (part === '') continue;
    const domain = parseDomain(part);
    if (domain.ok) found.add(domain.value);
    else wrong.push(`${part}: ${/\s/.test(part) ? 'a comma must separate domains' : domain.reason}`);
  }
  draft.domains = [...found];
  if (wrong.length > 0) return wrong.join(', ');
  return draft.domains.length === 0 ? 'it names no domain' : undefined;
}

function readPort(value: string, draft: LabelDraft): string | undefined {
  const port = readTcpPort(value);
  if (!port.ok) return port.reason;
  draft.port = port.value;
  return undefined;
}

function timeout(
  word: string,
  example: string,
  member: 'response_header_timeout_secs' | 'read_timeout_secs' | 'request_timeout_secs',
  otherwise: string,
): [string, LabelRule] {
  return routeLabel({
    word,
    form: '90s',
    otherwise,
    example,
    read(value, members) {
      const time = parseDuration(value === 'off' ? '0s' : value);
      if (!time.ok) return `${time.reason}; off is no limit`;
      if (time.value > MAX_ANSWER_SECS * 1_000) return `at most ${MAX_ANSWER_SECS}s; off is no limit`;
      members.transport = { ...members.transport, [member]: time.value / 1_000 };
      return undefined;
    },
  });
}

function readPolicy(value: string, members: RouteDraft): string | undefined {
  const result = readBalancing(value.split(/\s+/));
  if ('fault' in result) return result.fault.reason;
  members.lb_policy = result.spec;
  return undefined;
}

function readSlowStart(value: string, members: RouteDraft): string | undefined {
  const time = parseSeconds(value, LONGEST_SLOW_START_SECS);
  if (!time.ok) return time.reason;
  members.slow_start_secs = time.value;
  return undefined;
}

function readConcurrency(value: string, members: RouteDraft): string | undefined {
  const [requests, queue = 0, ...rest] = value.split(/\s+/).map((word) => (/^\d{1,6}$/.test(word) ? Number(word) : -1));
  if (rest.length > 0 || requests === undefined || requests < 1 || requests > MAX_IN_FLIGHT || queue < 0 || queue > MAX_QUEUED)
    return `it is a number of requests from 1 to ${MAX_IN_FLIGHT}, and perhaps how many may wait, up to ${MAX_QUEUED}`;
  members.max_in_flight = { requests, queue, queue_secs: USUAL_QUEUE_SECS };
  return undefined;
}

function readListen(value: string, members: RouteDraft): string | undefined {
  const ports: number[] = [];
  for (const text of value.split(',')) {
    const port = readTcpPort(text.trim());
    if (!port.ok) return port.reason;
    if (!ports.includes(port.value)) ports.push(port.value);
  }
  if (ports.length > MAX_LISTENED) return `at most ${MAX_LISTENED} ports`;
  members.ports = ports;
  return undefined;
}

function readHold(value: string, members: RouteDraft): string | undefined {
  const time = parseSeconds(value, MAX_HOLD_SECS);
  if (!time.ok) return time.reason;
  members.hold_secs = time.value;
  return undefined;
}
