import { createHmac } from 'node:crypto';
import { issuerOf } from '../../../shared/certificates/issuer.ts';
import { Resolver } from '../../../shared/upstreams/resolver.ts';
import { type Ledger, openLedger } from '../../ledger/ledger.ts';
import { LineRing } from '../../ledger/line-ring.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { Faults } from '../exchange/faults.ts';
import { RequestIds } from '../exchange/request-ids.ts';
import { Tracing } from '../exchange/tracing/tracing.ts';
import { RunQueue } from '../io/run-queue.ts';
import { Admission } from '../listener/admission.ts';
import { Certificates } from '../listener/certificates.ts';
import { Listener } from '../listener/listener.ts';
import { TlsServers } from '../listener/tls-servers.ts';
import { Countries } from '../match/countries.ts';
import { ANY_PORT, type HostIndex } from '../match/host-index.ts';
import { Passthroughs } from '../passthrough/passthroughs.ts';
import { compareWithBcrypt, Passwords } from '../policy/basic-auth/passwords.ts';
import { clientAuthAt } from '../policy/client-certificate/client-auth.ts';
import { KeySets } from '../policy/jwt/key-sets.ts';
import type { PolicyTools } from '../policy/policy.ts';
import { Bots } from '../policy/under-attack/bots.ts';
import { Clearances } from '../policy/under-attack/clearance.ts';
import type { HttpsSettings, IdleClose, TrafficSettings } from '../protocol.ts';
import { TrafficRecord } from '../record/traffic-record.ts';
import { CacheStore } from '../respond/cache/store.ts';
import { Challenges } from '../respond/challenges.ts';
import { passthroughAt } from '../route/choose.ts';
import { RouteCompiler } from '../route/compile.ts';
import type { CompiledRoute } from '../route/compiled-route.ts';
import { Departures } from '../route/departures.ts';
import { Server } from '../serve.ts';
import { Tunnels } from '../tunnel/tunnels.ts';
import { Hold } from '../upstream/hold.ts';
import { Endpoints } from '../upstream/pool/endpoints.ts';
import { Pools } from '../upstream/pool/pool.ts';
import { Reporter } from './reporter.ts';
import { routeIndex } from './route-index.ts';
import type { WorkerTools } from './worker-tools.ts';

/** The current HTTPS settings. */
export type HttpsState = {
  settings: HttpsSettings;
  /** The ports for it, the main one first; none while they are closed. */
  ports: readonly number[];
};

export type Recording = ReturnType<typeof recordingOf>;
export type UpstreamSide = ReturnType<typeof upstreamSideOf>;
export type Routing = ReturnType<typeof routingOf>;
export type ClientSide = ReturnType<typeof clientSideOf>;

/** What every other part counts, logs and reports with. */
export function recordingOf({ start, clock, log, post }: WorkerTools) {
  const { slot, hashKey, state } = start;
  const ledger = openLedger(start.ledger);
  const faults = new Faults({ clock, log });
  const countries = new Countries(start.countries, log);
  const accessLog = {
    ring: new LineRing(start.ledger.accessLines, slot),
    defaultOutput: state.settings.accessLog,
    begun: () => post({ kind: 'access-log' }),
  };
  const spans = new LineRing(start.ledger.spans, slot);
  const debug = state.settings.logLevel === 'debug';
  const record = new TrafficRecord({ clock, log, hashKey, countries, debug, accessLog, spans });
  return { ledger, faults, countries, record, reporter: new Reporter({ record, faults, post }) };
}

/** The targets, the requests that wait for one, and the tunnels through them. */
export function upstreamSideOf({ start, clock, log, post, maxPerTarget }: WorkerTools, { ledger, faults, record }: Recording) {
  const { slot } = start;
  const admission = new Admission({ connections: ledger.connections, slot, now: () => clock.now(), log });
  const runQueue = new RunQueue();
  const hold = new Hold({ clock, faults });
  const tunnels = new Tunnels({ clock, answered: (x) => faults.step(() => record.upgraded(x)) });
  const endpoints = new Endpoints({
    clock,
    log,
    faults,
    targets: ledger.targets,
    slot,
    resolver: new Resolver(clock),
    sockets: admission,
    runQueue,
    ...(maxPerTarget !== undefined && { maxConnections: maxPerTarget }),
    connected: (endpoint) => {
      endpoint.loss?.connected();
      faults.step(() => hold.connected(endpoint));
    },
    upgrade: (x, endpoint) => tunnels.begin(x, endpoint),
    blamed: (endpoint, failure) => faults.step(() => record.targetFailed(endpoint, failure)),
    targetChanged: (change) => post({ kind: 'target', change }),
    lost: (target) => post({ kind: 'lost', target }),
  });
  return { admission, runQueue, hold, tunnels, endpoints };
}

/** The routes, and what their policies and responders need. */
export function routingOf(tools: WorkerTools, recording: Recording, { admission, hold, endpoints }: UpstreamSide) {
  const { start, clock, post, random, blockKinds } = tools;
  const { hashKey, state } = start;
  const { faults, record } = recording;
  const cache = new CacheStore(start.worker, { post: (message) => post({ kind: 'cache', message }) });
  cache.resize(state.settings.cacheSize);
  const compiler = new RouteCompiler(
    new Pools(endpoints, { random, cookieKey: derivedKey(hashKey, 'sticky cookies') }),
    {
      clock,
      hold,
      faults,
      monotonic: () => clock.monotonic(),
      store: cache,
      descriptors: admission,
      mirrored: (request, result) => faults.step(() => record.mirrored(request, result)),
    },
    blockKinds,
  );
  const index = routeIndex(compiler, faults);
  const https: HttpsState = { settings: state.settings.https, ports: httpsPortsOf(state.settings) };
  const certificates = certificatesOf(index, https);
  const keySets = new KeySets({ clock, wanted: (name) => post({ kind: 'key-wanted', name }) });
  const bots = new Bots((claim) => post({ kind: 'bot-claimed', claim }));
  const policyTools = policyToolsOf(tools, recording, { https, certificates, keySets, bots });
  const departures = new Departures({ clock, index, faults });
  return { cache, index, https, certificates, keySets, bots, policyTools, departures, challenges: new Challenges() };
}

/** Certificates by name. For a name without one it finds the domain whose route has one issued. */
function certificatesOf(index: HostIndex<CompiledRoute>, https: HttpsState): Certificates {
  return new Certificates((name) => {
    const route = index.find(name, ANY_PORT);
    return route !== null && issuerOf(route, https.settings) !== null && mayCover(route.domain, name) ? route.domain : null;
  });
}

type PolicyParts = Pick<PolicyTools, 'keySets' | 'bots'> & { readonly https: HttpsState; readonly certificates: Certificates };

function policyToolsOf(
  { start, clock, log, random, compare = compareWithBcrypt }: WorkerTools,
  { ledger, countries, faults }: Recording,
  { https, certificates, keySets, bots }: PolicyParts,
): PolicyTools {
  const { rates, passwordChecks, wrongGuesses }: Ledger = ledger;
  return {
    get https() {
      return https.settings;
    },
    get httpsPorts() {
      return https.ports;
    },
    isProvided: (domain) => https.ports.length > 0 && (certificates.find(domain)?.provided ?? false),
    now: () => clock.now(),
    rates,
    countries,
    keySets,
    bots,
    clearances: new Clearances(start.hashKey),
    passwords: new Passwords({
      semaphore: passwordChecks,
      slot: start.slot,
      wrong: wrongGuesses,
      clock,
      log,
      faults,
      key: random.bytes(32),
      compare,
    }),
  };
}

/** The ports and the connections of clients. */
export function clientSideOf(
  { start, clock, log, post, random }: WorkerTools,
  { ledger: { inFlight }, faults, record }: Recording,
  { admission, runQueue }: UpstreamSide,
  { index, certificates, challenges, policyTools }: Routing,
  idleClose: () => IdleClose | null,
) {
  const { slot } = start;
  const { tracing } = start.state.settings;
  const monotonic = () => clock.monotonic();
  const passthroughs = new Passthroughs({
    faults,
    monotonic,
    now: () => clock.now(),
    passed: (pattern, result) => record.passed(pattern, result),
    moved: (pattern, received, sent) => record.moved(pattern, received, sent),
  });
  const tlsServers = new TlsServers(log, faults);
  const ended = (x: Exchange) => record.ended(x);
  const listener = new Listener({
    tools: {
      runQueue,
      monotonic,
      faults,
      requestIds: new RequestIds(random),
      tracing: tracing && new Tracing({ ...tracing, random, monotonic }),
      draining: () => idleClose() !== null,
      mustCloseIdle: () => idleClose() === 'now',
      requestPath: new Server(index, challenges, policyTools),
      begun: () => inFlight.begin(slot),
      // A failure to count or log must not affect the client.
      record: (x) => {
        inFlight.end(slot);
        x.cancelTimeLimit?.();
        faults.step(ended, x);
      },
      refused: (head, bytes) => faults.step(() => record.refused(head, bytes)),
    },
    admission,
    certificates,
    clientAuthOf: (name, port, localAddress) => clientAuthAt(index.find(name, port)?.clientAuth ?? [], port, localAddress),
    isElsewhere: (name, port) => index.find(name, port) === null && index.find(name, ANY_PORT) !== null,
    passthrough: (name, port, localAddress) => {
      const found = passthroughAt(index, name, port, localAddress);
      return found && ((arrived) => passthroughs.begin(found.route, found.passthrough, name, arrived));
    },
    awaited: (name) => post({ kind: 'awaited', name }),
    tlsServers,
    log,
  });
  return { passthroughs, tlsServers, listener };
}

export const httpsPortsOf = ({ httpsPort, otherHttpsPorts }: TrafficSettings): readonly number[] =>
  httpsPort === null ? [] : [httpsPort, ...otherHttpsPorts];

/** Whether a certificate for the domain may cover the host: a wildcard in a certificate is one label (RFC 6125 6.4.3). */
const mayCover = (domain: string, host: string): boolean =>
  !domain.startsWith('*.') || domain === host || domain.slice(1) === host.slice(Math.max(0, host.indexOf('.')));

/** Derives a key for another purpose, as stable as the original. */
const derivedKey = (key: Uint8Array, purpose: string): Uint8Array => createHmac('sha256', key).update(purpose).digest();
