import { createHmac } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { issuerOf } from '../../../shared/certificates/issuer.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import { type Ledger, openLedger } from '../../ledger/ledger.ts';
import { LineRing } from '../../ledger/line-ring.ts';
import { setHttpDate } from '../codec/date.ts';
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
import { type Compare, compareWithBcrypt, Passwords } from '../policy/basic-auth/passwords.ts';
import { KeySets } from '../policy/jwt/key-sets.ts';
import type { PolicyTools } from '../policy/policy.ts';
import { Bots } from '../policy/under-attack/bots.ts';
import { Clearances } from '../policy/under-attack/clearance.ts';
import type { FromWorker, HttpsSettings, Publication, PublishedChallenge, ToWorker, TrafficSettings, WorkerStart } from '../protocol.ts';
import { TrafficRecord } from '../record/traffic-record.ts';
import { CacheStore } from '../respond/cache/store.ts';
import { Challenges } from '../respond/challenges.ts';
import { newestBlock, passthroughAt, poolsAt } from '../route/choose.ts';
import { type BlockKinds, RouteCompiler } from '../route/compile.ts';
import type { CompiledRoute } from '../route/compiled-route.ts';
import { Departures } from '../route/departures.ts';
import { Server } from '../serve.ts';
import { Tunnels } from '../tunnel/tunnels.ts';
import { Hold } from '../upstream/hold.ts';
import { Endpoints } from '../upstream/pool/endpoints.ts';
import { Pools } from '../upstream/pool/pool.ts';
import { Resolver } from '../upstream/target/resolver.ts';
import { torn } from './backstop.ts';
import { dryRun } from './explain.ts';
import { Reporter } from './reporter.ts';
import { routeIndex } from './route-index.ts';

const BEAT_MS = 250;
/** How often a pool with waiting requests is tried (ms). */
const PROBE_MS = 250;
const SWEEP_MS = 500;
const SECOND = 1_000;

export type WorkerTools = {
  readonly start: WorkerStart;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly post: (message: FromWorker) => void;
  /** How passwords are compared; bcrypt if absent. */
  readonly compare?: Compare;
  /** The maximum number of open connections to one target; the default if absent. */
  readonly maxPerTarget?: number;
  /** The filters and responders that blocks can have; all of them if absent. */
  readonly blockKinds?: BlockKinds;
};

/** The current HTTPS settings. */
type HttpsState = {
  settings: HttpsSettings;
  /** The ports for it, the main one first; none while they are closed. */
  ports: readonly number[];
};

/** Everything in one worker thread, wired from the targets up to the client. */
export class TrafficWorker {
  private readonly tools: WorkerTools;
  private readonly ledger: Ledger;
  readonly faults: Faults;
  private readonly record: TrafficRecord;
  private readonly reporter: Reporter;
  private readonly hold: Hold;
  private readonly tunnels: Tunnels;
  private readonly endpoints: Endpoints;
  private readonly index: HostIndex<CompiledRoute>;
  private readonly https: HttpsState;
  private readonly certificates: Certificates;
  private readonly keySets: KeySets;
  private readonly bots: Bots;
  private readonly policyTools: PolicyTools;
  private readonly cache: CacheStore;
  private readonly challenges = new Challenges();
  private readonly departures: Departures;
  private readonly passthroughs: Passthroughs;
  private readonly tlsServers: TlsServers;
  private readonly listener: Listener;
  /** Publications take effect one after the other. */
  private publishing: Promise<void> = Promise.resolve();
  private draining: 'no' | 'patiently' | 'now' = 'no';

  constructor(tools: WorkerTools) {
    const { start, clock, log, post } = tools;
    const { slot, hashKey, state } = start;
    const countries = new Countries(start.countries, log);
    const ledger = openLedger(start.ledger);
    const { inFlight } = ledger;
    const faults = new Faults({ clock, log });
    const { tracing } = state.settings;
    const debug = state.settings.logLevel === 'debug';
    const accessLog = {
      ring: new LineRing(start.ledger.accessLines, slot),
      defaultOutput: state.settings.accessLog,
      begun: () => post({ kind: 'access-log' }),
    };
    const spans = new LineRing(start.ledger.spans, slot);
    const record = new TrafficRecord({ clock, log, hashKey, countries, debug, accessLog, spans });
    const admission = new Admission({ connections: ledger.connections, slot, now: () => clock.now(), log });
    const runQueue = new RunQueue();
    this.tools = tools;
    this.ledger = ledger;
    this.faults = faults;
    this.record = record;
    this.reporter = new Reporter({ record, faults, post });
    // The upstream side.
    const hold = new Hold({ clock, faults });
    const tunnels = new Tunnels({ clock, answered: (x) => faults.step(() => record.upgraded(x)) });
    this.endpoints = new Endpoints({
      clock,
      log,
      faults,
      targets: ledger.targets,
      slot,
      resolver: new Resolver(clock),
      sockets: admission,
      runQueue,
      ...(tools.maxPerTarget !== undefined && { maxConnections: tools.maxPerTarget }),
      connected: (endpoint) => faults.step(() => hold.connected(endpoint)),
      upgrade: (x, endpoint) => tunnels.begin(x, endpoint),
      blamed: (endpoint, failure) => faults.step(() => record.targetFailed(endpoint, failure)),
      targetChanged: (change) => post({ kind: 'target', change }),
    });
    this.hold = hold;
    this.tunnels = tunnels;
    // Routes and policies.
    this.cache = new CacheStore(start.worker, { post: (message) => post({ kind: 'cache', message }) });
    this.cache.resize(state.settings.cacheSize);
    const compiler = new RouteCompiler(
      new Pools(this.endpoints, { random: tools.random, cookieKey: derivedKey(hashKey, 'sticky cookies') }),
      {
        clock,
        hold,
        faults,
        monotonic: () => clock.monotonic(),
        store: this.cache,
        mirrored: (request, result) => faults.step(() => record.mirrored(request, result)),
      },
      tools.blockKinds,
    );
    const index = routeIndex(compiler, faults);
    const https = { settings: state.settings.https, ports: httpsPortsOf(state.settings) };
    const certificates = new Certificates((name) => {
      const route = index.find(name, ANY_PORT);
      return route !== null && issuerOf(route, https.settings) !== null && mayCover(route.domain, name) ? route.domain : null;
    });
    this.index = index;
    this.https = https;
    this.certificates = certificates;
    this.keySets = new KeySets({ clock, wanted: (name) => post({ kind: 'key-wanted', name }) });
    this.bots = new Bots((claim) => post({ kind: 'bot-claimed', claim }));
    this.policyTools = this.policyToolsOf(ledger, countries);
    const server = new Server(index, this.challenges, this.policyTools);
    this.departures = new Departures({ clock, index, faults });
    // The client side.
    const passthroughs = new Passthroughs({
      faults,
      monotonic: () => clock.monotonic(),
      now: () => clock.now(),
      passed: (pattern, result) => record.passed(pattern, result),
      moved: (pattern, received, sent) => record.moved(pattern, received, sent),
    });
    this.passthroughs = passthroughs;
    this.tlsServers = new TlsServers(log, faults);
    const ended = (x: Exchange) => record.ended(x);
    this.listener = new Listener({
      tools: {
        runQueue,
        monotonic: () => clock.monotonic(),
        faults,
        requestIds: new RequestIds(tools.random),
        tracing: tracing && new Tracing({ ...tracing, random: tools.random, monotonic: () => clock.monotonic() }),
        draining: () => this.draining !== 'no',
        mustCloseIdle: () => this.draining === 'now',
        requestPath: server,
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
      clientAuthOf: (name, port) => index.find(name, port)?.clientAuth ?? null,
      isElsewhere: (name, port) => index.find(name, port) === null && index.find(name, ANY_PORT) !== null,
      passthrough: (name, port, localAddress) => {
        const found = passthroughAt(index, name, port, localAddress);
        return found && ((arrived) => passthroughs.begin(found.route, found.passthrough, name, arrived));
      },
      awaited: (name) => post({ kind: 'awaited', name }),
      tlsServers: this.tlsServers,
      log,
    });
  }

  private policyToolsOf({ rates, passwordChecks, wrongGuesses }: Ledger, countries: Countries): PolicyTools {
    const { start, clock, log, random, compare = compareWithBcrypt } = this.tools;
    const { https, certificates, faults } = this;
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
      keySets: this.keySets,
      bots: this.bots,
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

  /** Applies the initial state, opens the port, and reports that. */
  async start(): Promise<void> {
    const { clock, start } = this.tools;
    const slot = start.slot;
    setHttpDate(clock.now());
    const every = (ms: number, act: () => void): void => void clock.every(ms, () => this.faults.step(act));
    every(SECOND, () => setHttpDate(clock.now()));
    every(BEAT_MS, () => this.ledger.heartbeats.beat(slot));
    every(PROBE_MS, () => this.hold.tick());
    every(PROBE_MS, () => this.keySets.tick());
    every(SWEEP_MS, () => this.sweep());
    every(SECOND, () => this.cache.report());
    every(SECOND, () => this.reporter.report(null));
    // Publications that arrive meanwhile are newer than the initial state, so they wait for it.
    this.publishing = this.open();
    await this.publishing;
  }

  private async open(): Promise<void> {
    const { start, post } = this.tools;
    const { routes, certificates, challenges, uncertified, ticketKeys, settings, keySets } = start.state;
    if (keySets !== undefined) this.keySets.apply(keySets);
    if (ticketKeys !== undefined) this.tlsServers.useTicketKeys(ticketKeys);
    if (challenges !== undefined) this.applyChallenges(challenges);
    if (uncertified !== undefined) this.certificates.setUncertified(uncertified);
    if (certificates !== undefined) await this.certificates.apply(certificates, nextTurn);
    if (routes !== undefined) await this.index.apply(routes, nextTurn);
    try {
      await this.listener.listen(settings);
    } catch (error) {
      const { code = '', message, port = null } = error as NodeJS.ErrnoException & { port?: number };
      return post({ kind: 'refused', code, message, port });
    }
    post({ kind: 'serving', generation: start.state.generation });
  }

  get port(): number {
    return this.listener.port;
  }

  get ports(): Listener['ports'] {
    return this.listener.ports;
  }

  get securePort(): number {
    return this.listener.securePort;
  }

  handle(message: ToWorker): void {
    this.faults.step(() => this.dispatch(message));
  }

  private dispatch(message: ToWorker): void {
    switch (message.kind) {
      case 'publish':
        this.publishing = this.publishing.then(() => this.publish(message.publication)).catch(torn);
        return;
      case 'report':
        return this.reporter.report(message.id);
      case 'report-taken':
        return this.reporter.next();
      case 'dry-run':
        return this.tools.post({
          kind: 'dry-run',
          id: message.id,
          result: dryRun(message.request, {
            index: this.index,
            policies: this.policyTools,
            clock: this.tools.clock,
            ports: this.listener.ports,
          }),
        });
      case 'verdicts':
        return this.hold.tick();
      case 'cache':
        return this.cache.handle(message.message);
      case 'bot':
        return this.bots.learn(message.verdict);
      case 'drain':
        void this.drain(message.patient);
    }
  }

  private async publish(publication: Publication): Promise<void> {
    if (publication.ticketKeys !== undefined) this.tlsServers.useTicketKeys(publication.ticketKeys);
    if (publication.keySets !== undefined) this.keySets.apply(publication.keySets);
    if (publication.challenges !== undefined) this.applyChallenges(publication.challenges);
    if (publication.certificates !== undefined) await this.certificates.apply(publication.certificates, nextTurn);
    if (publication.uncertified !== undefined) this.certificates.setUncertified(publication.uncertified);
    if (publication.certificates !== undefined || publication.uncertified !== undefined) this.listener.certificatesChanged();
    if (publication.settings !== undefined) {
      this.cache.resize(publication.settings.cacheSize);
      this.https.settings = publication.settings.https;
      this.https.ports = httpsPortsOf(publication.settings);
    } else if (publication.certificates !== undefined) this.https.settings = { ...this.https.settings };
    const refused = publication.settings === undefined ? null : await this.listener.apply(publication.settings);
    if (publication.routes !== undefined) {
      const replaced = await this.index.apply(publication.routes, nextTurn);
      this.faults.step(() => this.hold.tableChanged((x) => newestBlock(this.index, x)?.pool ?? null));
      const poolsNow = (domain: string, address: string) => poolsAt(this.index, domain, address);
      this.faults.step(() => this.tunnels.tableChanged(poolsNow));
      this.faults.step(() => this.passthroughs.tableChanged(poolsNow));
      this.acknowledge(publication, refused);
      try {
        return await this.departures.follow(replaced, nextTurn);
      } catch (error) {
        // The new table is live; resources that only the old one used are cleaned up over time.
        return this.faults.note('nothing', error);
      }
    }
    this.acknowledge(publication, refused);
  }

  private acknowledge({ generation, settings }: Publication, refused: NodeJS.ErrnoException | null): void {
    const listening = settings !== undefined && { refused: refused && { code: refused.code ?? '', message: refused.message } };
    this.tools.post({ kind: 'acknowledged', generation, ...listening });
  }

  private applyChallenges(challenges: readonly PublishedChallenge[]): void {
    this.challenges.apply(challenges);
    this.certificates.applyChallenges(challenges);
  }

  private sweep(): void {
    const now = this.tools.clock.monotonic();
    // A target that stops reading a body makes its client wait, so targets are checked first.
    this.endpoints.sweep(now);
    this.listener.sweep(now);
    this.record.sweep(now);
  }

  private async drain(patient: boolean): Promise<void> {
    this.draining = patient ? 'patiently' : 'now';
    await this.listener.drain(patient);
    this.record.end(this.tools.clock.monotonic());
    this.reporter.finish();
    this.tools.post({ kind: 'drained' });
  }
}

const httpsPortsOf = ({ httpsPort, otherHttpsPorts }: TrafficSettings): readonly number[] =>
  httpsPort === null ? [] : [httpsPort, ...otherHttpsPorts];

/** Whether a certificate for the domain may cover the host: a wildcard in a certificate is one label (RFC 6125 6.4.3). */
const mayCover = (domain: string, host: string): boolean =>
  !domain.startsWith('*.') || domain === host || domain.slice(1) === host.slice(Math.max(0, host.indexOf('.')));

/** Derives a key for another purpose, as stable as the original. */
const derivedKey = (key: Uint8Array, purpose: string): Uint8Array => createHmac('sha256', key).update(purpose).digest();
