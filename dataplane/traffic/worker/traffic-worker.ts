import { setImmediate as nextTurn } from 'node:timers/promises';
import { certifierOf } from '../../../shared/certificates/issuer.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import { type Ledger, openLedger } from '../../ledger/ledger.ts';
import { setHttpDate } from '../codec/date.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { Faults, onBehalf } from '../exchange/faults.ts';
import { RunQueue } from '../io/run-queue.ts';
import { Admission } from '../listener/admission.ts';
import { Certificates } from '../listener/certificates.ts';
import { Listener } from '../listener/listener.ts';
import { Handshakes } from '../listener/tls-servers.ts';
import { HostIndex } from '../match/host-index.ts';
import { type Compare, compareWithBcrypt, Passwords } from '../policy/basic-auth/passwords.ts';
import type { PolicyTools } from '../policy/order.ts';
import type { FromWorker, HttpsSettings, Publication, PublishedChallenge, ToWorker, WorkerStart } from '../protocol.ts';
import { Recorder } from '../record/recorder.ts';
import { RefusedHeads } from '../record/refused-heads.ts';
import { RequestLog } from '../record/request-log.ts';
import { Challenges } from '../respond/challenges.ts';
import { blockFor, type CompiledRoute, compileRoute } from '../route/compile.ts';
import { Departures } from '../route/departures.ts';
import { Server } from '../serve.ts';
import { Tunnels } from '../tunnel/tunnels.ts';
import { Endpoints, type EndpointTools } from '../upstream/endpoint.ts';
import { Forwarder } from '../upstream/forward.ts';
import { Hold } from '../upstream/hold.ts';
import { Pools } from '../upstream/pool.ts';
import { Resolver } from '../upstream/resolver.ts';
import { torn } from './backstop.ts';
import { dryRun } from './explain.ts';

const BEAT_MS = 250;
/** How often a pool that requests wait for is tried (ms). */
const PROBE_MS = 250;
const SWEEP_MS = 500;
const SECOND = 1_000;

type Parts = {
  readonly start: WorkerStart;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly tell: (message: FromWorker) => void;
  /** How passwords are compared; bcrypt if absent. */
  readonly compare?: Compare;
  /** Open connections to one target; as many as usual if absent. */
  readonly maxPerTarget?: number;
};

/** Everything that one worker thread holds, wired in the order in which a request meets it. */
export class TrafficWorker {
  private readonly parts: Parts;
  private readonly ledger: Ledger;
  readonly faults: Faults;
  private readonly index: HostIndex<CompiledRoute>;
  private readonly certificates: Certificates;
  private readonly handshakes: Handshakes;
  private readonly challenges = new Challenges();
  private readonly listener: Listener;
  private readonly endpoints: Endpoints;
  private readonly hold: Hold;
  private readonly departures: Departures;
  private readonly recorder: Recorder;
  private readonly requestLog: RequestLog;
  private readonly tunnels: Tunnels;
  /** Whether there is a port that visitors could be sent to. */
  private showsHttps: boolean;
  private readonly policyTools: PolicyTools & { https: HttpsSettings };
  /** Publications take effect one after the other. */
  private publishing: Promise<void> = Promise.resolve();
  private draining: 'no' | 'patiently' | 'now' = 'no';

  constructor(parts: Parts) {
    const { start, clock, random, log } = parts;
    this.parts = parts;
    const faults = new Faults({ clock, log });
    this.faults = faults;
    const { slot } = start;
    const ledger = openLedger(start.ledger);
    this.ledger = ledger;
    const forwarder = new Forwarder(
      clock,
      () => this.hold,
      (x, endpoint) => this.tunnels.begin(x, endpoint),
    );
    // One that something was thrown for has its end, whoever may still be at it.
    const goOn = (x: Exchange, act: () => void): void => {
      if (x.status === 0) onBehalf(x, act);
    };
    const failed: EndpointTools['failed'] = (x, endpoint, failure, progress) =>
      goOn(x, () => forwarder.failed(x, endpoint, failure, progress));
    const admission = new Admission({ connections: ledger.connections, slot, now: () => clock.now(), log });
    const runQueue = new RunQueue();
    this.endpoints = new Endpoints({
      clock,
      log,
      faults,
      targets: ledger.targets,
      slot,
      resolver: new Resolver(clock),
      sockets: admission,
      runQueue,
      ...(parts.maxPerTarget !== undefined && { maxConnections: parts.maxPerTarget }),
      connected: (endpoint) => faults.step(() => this.hold.connected(endpoint)),
      failed,
      blamed: (endpoint, failure) => faults.step(() => recorder.targetFailed(endpoint, failure, clock.now())),
      targetChanged: (change) => parts.tell({ kind: 'target', change }),
    });
    const pools = new Pools(this.endpoints);
    this.index = new HostIndex<CompiledRoute>((_, json) => compileRoute(json, pools));
    const { rates, inFlight } = ledger;
    this.showsHttps = start.state.settings.httpsPort !== null;
    this.policyTools = {
      https: start.state.settings.https,
      isBrought: (domain) => this.showsHttps && (this.certificates.find(domain)?.brought ?? false),
      now: () => clock.now(),
      admit: rates.admit.bind(rates),
      wouldAdmit: rates.wouldAdmit.bind(rates),
      passwords: new Passwords({
        turns: ledger.turns,
        slot,
        clock,
        log,
        faults,
        key: random.bytes(32),
        compare: parts.compare ?? compareWithBcrypt,
        resume: (x, own) => goOn(x, () => server.resume(x, own)),
      }),
    };
    const server = new Server(this.index, this.challenges, this.policyTools, forwarder);
    const blockOf = (x: Exchange) => {
      const route = this.index.find(x.host);
      return route && blockFor(route, x);
    };
    this.departures = new Departures({
      clock,
      blockOf,
      routeOf: (domain) => this.index.at(domain),
      serve: (x) => goOn(x, () => server.serve(x)),
      faults,
    });
    this.hold = new Hold({
      clock,
      poolOf: (x) => blockOf(x)?.pool ?? null,
      faults,
      retry: (x) => goOn(x, () => forwarder.attempt(x)),
      serve: (x) => goOn(x, () => server.serve(x)),
      giveUp: (x, failure) => goOn(x, () => forwarder.giveUp(x, failure)),
    });
    const recorder = new Recorder(start.hashKey);
    this.recorder = recorder;
    const refusedHeads = new RefusedHeads(log);
    this.requestLog = new RequestLog(log, start.state.settings.logLevel === 'debug');
    this.tunnels = new Tunnels({
      clock,
      routeOf: (domain) => this.index.at(domain),
      failed,
      giveUp: (x, failure) => goOn(x, () => forwarder.giveUp(x, failure)),
      answered: (x) => {
        faults.step(() => recorder.record(x, clock.monotonic()));
        x.counted = true;
      },
    });
    const idPrefix = random.hex(8);
    let ids = 0;
    this.certificates = new Certificates((name) => {
      const route = this.index.find(name);
      return route !== null && certifierOf(route, this.policyTools.https) !== null ? route.domain : null;
    });
    this.handshakes = new Handshakes(log, faults);
    this.listener = new Listener({
      tools: {
        runQueue,
        monotonic: () => clock.monotonic(),
        faults,
        nextRequestId: () => `${idPrefix}${(ids++).toString(16).padStart(8, '0')}`,
        draining: () => this.draining !== 'no',
        hurried: () => this.draining === 'now',
        serve: (x) => server.serve(x),
        begun: () => inFlight.begin(slot),
        record: (x) => {
          inFlight.end(slot);
          // What can't be counted or logged is no harm to its client.
          faults.step(() => {
            const now = clock.monotonic();
            if (x.counted) recorder.more(x, x.bytesSent);
            else recorder.record(x, now);
            this.requestLog.over(x, now);
          });
        },
        refused: (head, bytes) =>
          faults.step(() => {
            recorder.refused(head.status, bytes);
            refusedHeads.saw(head, clock.monotonic());
          }),
      },
      admission,
      certificates: this.certificates,
      clientAuthOf: (name) => this.index.find(name)?.clientAuth ?? null,
      awaited: (name) => parts.tell({ kind: 'awaited', name }),
      handshakes: this.handshakes,
      log,
    });
  }

  /** Takes in the state it was started with, opens the port, and says so. */
  async start(): Promise<void> {
    const { clock, start } = this.parts;
    const slot = start.slot;
    setHttpDate(clock.now());
    const every = (ms: number, act: () => void): void => void clock.every(ms, () => this.faults.step(act));
    every(SECOND, () => setHttpDate(clock.now()));
    every(BEAT_MS, () => this.ledger.heartbeats.beat(slot));
    every(PROBE_MS, () => this.hold.tick());
    every(SWEEP_MS, () => this.sweep());
    every(SECOND, () => this.report(null));
    // What is published meanwhile is newer than the state it starts with, so it waits for that.
    this.publishing = this.open();
    await this.publishing;
  }

  private async open(): Promise<void> {
    const { start, tell } = this.parts;
    const { routes, certificates, challenges, uncertified, ticketKeys, settings } = start.state;
    if (ticketKeys !== undefined) this.handshakes.useTicketKeys(ticketKeys);
    if (challenges !== undefined) this.takeChallenges(challenges);
    if (uncertified !== undefined) this.certificates.giveUp(uncertified);
    if (certificates !== undefined) await this.certificates.apply(certificates, nextTurn);
    if (routes !== undefined) await this.index.apply(routes, nextTurn);
    try {
      await this.listener.listen(settings);
    } catch (error) {
      const { code = '', message } = error as NodeJS.ErrnoException;
      return tell({ kind: 'refused', code, message });
    }
    tell({ kind: 'serving', generation: start.state.generation });
  }

  get port(): number {
    return this.listener.port;
  }

  get securePort(): number {
    return this.listener.securePort;
  }

  take(message: ToWorker): void {
    this.faults.step(() => this.obey(message));
  }

  private obey(message: ToWorker): void {
    switch (message.kind) {
      case 'publish':
        this.publishing = this.publishing.then(() => this.publish(message.publication)).catch(torn);
        return;
      case 'report':
        return this.report(message.id);
      case 'dry-run':
        return this.parts.tell({
          kind: 'dry-run',
          id: message.id,
          result: dryRun(message.request, this.index, this.policyTools, this.parts.clock),
        });
      case 'verdicts':
        return this.hold.tick();
      case 'drain':
        void this.drain(message.patient);
    }
  }

  private async publish(publication: Publication): Promise<void> {
    if (publication.ticketKeys !== undefined) this.handshakes.useTicketKeys(publication.ticketKeys);
    if (publication.challenges !== undefined) this.takeChallenges(publication.challenges);
    if (publication.certificates !== undefined) await this.certificates.apply(publication.certificates, nextTurn);
    if (publication.uncertified !== undefined) this.certificates.giveUp(publication.uncertified);
    if (publication.certificates !== undefined || publication.uncertified !== undefined) this.listener.certificatesChanged();
    if (publication.settings !== undefined) {
      this.policyTools.https = publication.settings.https;
      this.showsHttps = publication.settings.httpsPort !== null;
    } else if (publication.certificates !== undefined) this.policyTools.https = { ...this.policyTools.https };
    const refused = publication.settings === undefined ? null : await this.listener.apply(publication.settings);
    if (publication.routes !== undefined) {
      const replaced = await this.index.apply(publication.routes, nextTurn);
      this.faults.step(() => this.hold.tableChanged());
      this.faults.step(() => this.tunnels.tableChanged());
      this.acknowledge(publication, refused);
      try {
        return await this.departures.follow(replaced, nextTurn);
      } catch (error) {
        // The new table is served. What has gone with the old one goes by itself in time.
        return this.faults.note('nothing', error);
      }
    }
    this.acknowledge(publication, refused);
  }

  private acknowledge({ generation, settings }: Publication, refused: NodeJS.ErrnoException | null): void {
    const listening = settings !== undefined && { refused: refused && { code: refused.code ?? '', message: refused.message } };
    this.parts.tell({ kind: 'acknowledged', generation, ...listening });
  }

  private takeChallenges(challenges: readonly PublishedChallenge[]): void {
    this.challenges.apply(challenges);
    this.certificates.takeChallenges(challenges);
  }

  private report(id: number | null): void {
    const faults = this.faults.take();
    const report = { ...this.recorder.take(), ...(faults !== null && { faults }) };
    if (id !== null || report.domains.length > 0 || report.targets !== undefined || faults !== null)
      this.parts.tell({ kind: 'report', id, report });
  }

  private sweep(): void {
    const now = this.parts.clock.monotonic();
    // A target that takes no more of a body makes its client wait: the target is judged first.
    this.endpoints.sweep(now);
    this.listener.sweep(now);
    this.requestLog.tick(now);
  }

  private async drain(patient: boolean): Promise<void> {
    this.draining = patient ? 'patiently' : 'now';
    await this.listener.drain(patient);
    this.requestLog.end(this.parts.clock.monotonic());
    this.report(null);
    this.parts.tell({ kind: 'drained' });
  }
}
