import { setImmediate as nextTurn } from 'node:timers/promises';
import { setHttpDate } from '../codec/date.ts';
import type { Faults } from '../exchange/faults.ts';
import { PassedSockets, receiveSockets } from '../io/passed-sockets.ts';
import { readWaiting } from '../listener/arrivals.ts';
import type { Listener } from '../listener/listener.ts';
import type { IdleClose, ListeningSocket, Publication, PublishedChallenge, ToWorker } from '../protocol.ts';
import { newestPool, poolsAt } from '../route/choose.ts';
import { torn } from './backstop.ts';
import { dryRun } from './explain.ts';
import {
  type ClientSide,
  clientSideOf,
  httpsPortsOf,
  type Recording,
  type Routing,
  recordingOf,
  routingOf,
  type UpstreamSide,
  upstreamSideOf,
} from './parts.ts';
import type { WorkerTools } from './worker-tools.ts';

const BEAT_MS = 250;
/** How often a pool with waiting requests is tried (ms). */
const PROBE_MS = 250;
const SWEEP_MS = 500;
const SECOND = 1_000;

/** Everything in one worker thread, wired from the targets up to the client. */
export class TrafficWorker {
  private readonly tools: WorkerTools;
  private readonly recording: Recording;
  private readonly upstreams: UpstreamSide;
  private readonly routing: Routing;
  private readonly clients: ClientSide;
  /** Publications take effect one after the other. */
  private publishing: Promise<void> = Promise.resolve();
  /** Set once draining has begun. */
  private idleClose: IdleClose | null = null;

  constructor(tools: WorkerTools) {
    this.tools = tools;
    this.recording = recordingOf(tools);
    this.upstreams = upstreamSideOf(tools, this.recording);
    this.routing = routingOf(tools, this.recording, this.upstreams);
    this.clients = clientSideOf(tools, this.recording, this.upstreams, this.routing, () => this.idleClose);
  }

  get faults(): Faults {
    return this.recording.faults;
  }

  /** Applies the initial state, opens the port, and reports that. */
  async start(): Promise<void> {
    const { clock, start } = this.tools;
    const slot = start.slot;
    setHttpDate(clock.now());
    const every = (ms: number, act: () => void): void => void clock.every(ms, () => this.faults.step(act));
    every(SECOND, () => setHttpDate(clock.now()));
    every(BEAT_MS, () => this.recording.ledger.heartbeats.beat(slot));
    every(PROBE_MS, () => this.upstreams.hold.tick());
    every(PROBE_MS, () => this.routing.keySets.tick());
    // After a long turn, or a pause of the machine, timers run before sockets are polled: what has arrived in time is read first.
    every(SWEEP_MS, () => void setImmediate(() => this.faults.step(() => this.enforceTimeLimits())));
    every(SWEEP_MS, () => this.recording.record.sweep(clock.monotonic()));
    every(SECOND, () => this.routing.cache.report());
    every(SECOND, () => this.recording.reporter.report(null));
    // Publications that arrive meanwhile are newer than the initial state, so they wait for it.
    this.publishing = this.open();
    await this.publishing;
  }

  private async open(): Promise<void> {
    const { start, post } = this.tools;
    const { routes, certificates, challenges, uncertified, ticketKeys, settings, keySets } = start.state;
    if (keySets !== undefined) this.routing.keySets.apply(keySets);
    if (ticketKeys !== undefined) this.clients.tlsServers.useTicketKeys(ticketKeys);
    if (challenges !== undefined) this.applyChallenges(challenges);
    if (uncertified !== undefined) this.routing.certificates.setUncertified(uncertified);
    if (certificates !== undefined) await this.routing.certificates.apply(certificates, nextTurn);
    if (routes !== undefined) await this.routing.index.apply(routes, nextTurn);
    const from = start.listenersFrom;
    const passed = from === null ? PassedSockets.none : await receiveSockets(from, this.tools.clock);
    try {
      await this.clients.listener.listen(settings, passed);
    } catch (error) {
      const { code = '', message, port = null } = error as NodeJS.ErrnoException & { port?: number };
      return post({ kind: 'refused', code, message, port });
    } finally {
      passed.closeRest();
    }
    post({ kind: 'serving', generation: start.state.generation, listeners: this.listeners() });
  }

  get port(): number {
    return this.clients.listener.port;
  }

  get ports(): Listener['ports'] {
    return this.clients.listener.ports;
  }

  get securePort(): number {
    return this.clients.listener.securePort;
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
        return this.recording.reporter.report(message.id);
      case 'report-taken':
        return this.recording.reporter.next();
      case 'dry-run':
        return this.tools.post({
          kind: 'dry-run',
          id: message.id,
          result: dryRun(message.request, {
            index: this.routing.index,
            policies: this.routing.policyTools,
            clock: this.tools.clock,
            ports: this.clients.listener.ports,
          }),
        });
      case 'verdicts':
        return this.upstreams.hold.tick();
      case 'cache':
        return this.routing.cache.handle(message.message);
      case 'bot':
        return this.routing.bots.learn(message.verdict);
      case 'drain':
        void this.drain(message.idleClose);
    }
  }

  private async publish(publication: Publication): Promise<void> {
    if (publication.ticketKeys !== undefined) this.clients.tlsServers.useTicketKeys(publication.ticketKeys);
    if (publication.keySets !== undefined) this.routing.keySets.apply(publication.keySets);
    if (publication.challenges !== undefined) this.applyChallenges(publication.challenges);
    if (publication.certificates !== undefined) await this.routing.certificates.apply(publication.certificates, nextTurn);
    if (publication.uncertified !== undefined) this.routing.certificates.setUncertified(publication.uncertified);
    if (publication.certificates !== undefined || publication.uncertified !== undefined) this.clients.listener.certificatesChanged();
    if (publication.settings !== undefined) {
      this.routing.cache.resize(publication.settings.cacheSize);
      this.routing.https.settings = publication.settings.https;
      this.routing.https.ports = httpsPortsOf(publication.settings);
    } else if (publication.certificates !== undefined) this.routing.https.settings = { ...this.routing.https.settings };
    const refused = publication.settings === undefined ? null : await this.clients.listener.apply(publication.settings);
    if (publication.routes !== undefined) {
      const replaced = await this.routing.index.apply(publication.routes, nextTurn);
      this.faults.step(() => this.upstreams.hold.tableChanged((x) => newestPool(this.routing.index, x)));
      const poolsNow = (domain: string, address: string) => poolsAt(this.routing.index, domain, address);
      this.faults.step(() => this.upstreams.tunnels.tableChanged(poolsNow));
      this.faults.step(() => this.clients.passthroughs.tableChanged(poolsNow));
      this.acknowledge(publication, refused);
      try {
        return await this.routing.departures.follow(replaced, nextTurn);
      } catch (error) {
        // The new table is live; resources that only the old one used are cleaned up over time.
        return this.faults.note('nothing', error);
      }
    }
    this.acknowledge(publication, refused);
  }

  private acknowledge({ generation, settings }: Publication, refused: NodeJS.ErrnoException | null): void {
    const listening = settings !== undefined && {
      listeners: this.listeners(),
      refused: refused && { code: refused.code ?? '', message: refused.message },
    };
    this.tools.post({ kind: 'acknowledged', generation, ...listening });
  }

  /** Without them, a successor opens its own: no reason not to serve. */
  private listeners(): readonly ListeningSocket[] {
    let listeners: readonly ListeningSocket[] = [];
    this.faults.step(() => {
      listeners = this.clients.listener.descriptors;
    });
    return listeners;
  }

  private applyChallenges(challenges: readonly PublishedChallenge[]): void {
    this.routing.challenges.apply(challenges);
    this.routing.certificates.applyChallenges(challenges);
  }

  private enforceTimeLimits(): void {
    const now = this.tools.clock.monotonic();
    // A target that stops reading a body makes its client wait, so targets are checked first.
    this.upstreams.endpoints.sweep(now);
    this.upstreams.tunnels.sweep();
    this.clients.listener.sweep(now);
  }

  private async drain(idleClose: IdleClose): Promise<void> {
    const { listener } = this.clients;
    this.idleClose = idleClose;
    if (idleClose === 'now') {
      // Connections and requests that have arrived would be lost without a response.
      await listener.stopAccepting();
      await readWaiting();
    }
    await listener.drain(idleClose);
    this.recording.record.end(this.tools.clock.monotonic());
    this.recording.reporter.finish();
    this.tools.post({ kind: 'drained' });
  }
}
