import { type RouteInput, readAppliedRoute } from '../../../../shared/route.ts';
import { systemRandom } from '../../../../shared/runtime/random.ts';
import { ManualClock } from '../../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../../shared/runtime/testing/memory-log.ts';
import { until } from '../../../../shared/runtime/testing/until.ts';
import type { Cidr } from '../../../../shared/values/cidr.ts';
import { parseRequestUrl } from '../../../../shared/values/request-url.ts';
import { createLedger, type Ledger } from '../../../ledger/ledger.ts';
import { targetKey } from '../../../ledger/targets.ts';
import type { CacheFromWorker } from '../../cache-messages.ts';
import type { PublishedCertificate } from '../../listener/certificates.ts';
import { packEntries } from '../../match/packed.ts';
import type { Compare } from '../../policy/basic-auth/passwords.ts';
import type {
  BotVerdict,
  CountryDatabase,
  DryRunResult,
  EntriesPublication,
  FromWorker,
  IdleClose,
  Publication,
  PublishedChallenge,
  PublishedKeySet,
  TargetChange,
  TrafficSettings,
} from '../../protocol.ts';
import type { BlockKinds } from '../../route/compile.ts';
import { TrafficWorker } from '../../worker/traffic-worker.ts';
import { type Message, Wire } from '../wire.ts';

/** The parts of a worker that a test may replace. */
export type ReplacedParts = {
  readonly compare?: Compare;
  readonly maxPerTarget?: number;
  readonly blockKinds?: BlockKinds;
  /** The number of the worker among those that serve, which decides what target is first; 0 by default. */
  readonly slot?: number;
  /** A database; none by default. */
  readonly countries?: CountryDatabase | null;
  /** Receives the worker's messages to the index of the cache; by default there is no answer. */
  readonly onCache?: (message: CacheFromWorker, worker: TrafficWorker) => void;
};

export const SETTINGS: TrafficSettings = {
  bind: '127.0.0.1',
  httpPort: 0,
  otherHttpPorts: [],
  httpsPort: null,
  otherHttpsPorts: [],
  closedPorts: [],
  https: { automatic: false, anyName: false, dns: false, internal: false, local: false, publicPort: 443 },
  trustedProxies: [],
  proxyProtocol: false,
  proxyProtocolPorts: [],
  maxConnections: 20_000,
  maxConnectionsPerAddress: 20_000,
  maxSockets: 40_000,
  logLevel: 'debug',
  accessLog: null,
  tracing: null,
  cacheSize: 0,
};

/** `classes` as in a report: 1xx to 5xx and other. */
export type RequestCounts = { requests: number; classes: number[]; bytes: number };

/** Test support: one traffic worker on a port of its own, in this thread, with a clock that only the test advances. */
export class ProxyFixture {
  readonly clock = new ManualClock();
  readonly log = memoryLog();
  readonly ledger: Ledger = createLedger(2);
  readonly messages: FromWorker[] = [];
  /** Of its worker in the ledger. */
  readonly slot: number;
  private readonly worker: TrafficWorker;
  private readonly wires: Wire[] = [];
  private generation = 1;

  private constructor(
    routes: readonly RouteInput[],
    settings: Partial<TrafficSettings>,
    { countries = null, onCache, slot = 0, ...parts }: ReplacedParts,
  ) {
    this.slot = slot;
    this.worker = new TrafficWorker({
      start: {
        worker: 1,
        slot,
        ledger: this.ledger.buffers,
        hashKey: Buffer.alloc(16),
        countries,
        listenersFrom: null,
        memoryBytes: Number.POSITIVE_INFINITY,
        state: {
          generation: 1,
          routes: publication(routes, true),
          settings: { ...SETTINGS, ...settings },
        },
      },
      clock: this.clock,
      random: systemRandom,
      log: this.log,
      post: (message) => {
        this.messages.push(message);
        if (message.kind === 'report' && message.more) setImmediate(() => this.worker.handle({ kind: 'report-taken' }));
        if (message.kind === 'cache') onCache?.(message.message, this.worker);
      },
      ...parts,
    });
  }

  static async start(routes: readonly RouteInput[], trustedProxies: readonly string[] = [], compare?: Compare): Promise<ProxyFixture> {
    return ProxyFixture.with(routes, { trustedProxies: trustedProxies as Cidr[] }, compare && { compare });
  }

  static async with(routes: readonly RouteInput[], settings: Partial<TrafficSettings>, parts: ReplacedParts = {}): Promise<ProxyFixture> {
    const fixture = new ProxyFixture(routes, settings, parts);
    await fixture.worker.start();
    return fixture;
  }

  /** A proxy with one site, `a.test`, in front of these targets. */
  static before(...upstreams: readonly { readonly address: string }[]): Promise<ProxyFixture> {
    return ProxyFixture.start([site('a.test', ...upstreams)]);
  }

  get port(): number {
    return this.worker.port;
  }

  /** All open ports, the main ones first. */
  get ports(): TrafficWorker['ports'] {
    return this.worker.ports;
  }

  get securePort(): number {
    return this.worker.securePort;
  }

  async connect(port = this.port): Promise<Wire> {
    const wire = await Wire.to(port);
    this.wires.push(wire);
    return wire;
  }

  /** One request on a new connection, which stays open. */
  async request(text: string, port = this.port): Promise<Message> {
    const wire = await this.connect(port);
    wire.send(text);
    return wire.readAnswer(text.slice(0, text.indexOf(' ')));
  }

  publish(routes: readonly RouteInput[]): Promise<void> {
    return this.apply(publication(routes, false));
  }

  /** Publishes and waits for the acknowledgement. */
  apply(routes: EntriesPublication): Promise<void> {
    return this.acknowledged({ routes });
  }

  /** Publishes each certificate under every name that it is valid for. */
  certify(...certificates: readonly PublishedCertificate[]): Promise<void> {
    const entries = certificates.flatMap((one) => one.domains.map((domain) => ({ domain, json: JSON.stringify(one) })));
    return this.acknowledged({ certificates: { whole: false, ...packEntries(entries), removed: [] } });
  }

  /** Adds a certificate under a name that is not in it. */
  certifyAs(name: string, certificate: PublishedCertificate): Promise<void> {
    const entry = { domain: name, json: JSON.stringify(certificate) };
    return this.acknowledged({ certificates: { whole: false, ...packEntries([entry]), removed: [] } });
  }

  /** Sets the pending challenges. */
  challenge(challenges: readonly PublishedChallenge[]): Promise<void> {
    return this.acknowledged({ challenges });
  }

  /** Publishes that no certificate could be obtained for these names. */
  giveUp(...uncertified: readonly string[]): Promise<void> {
    return this.acknowledged({ uncertified });
  }

  /** Replaces the keys that were fetched. */
  useKeySets(...keySets: readonly PublishedKeySet[]): Promise<void> {
    return this.acknowledged({ keySets });
  }

  /** Says whether an address belongs to a search engine. */
  learn(verdict: BotVerdict): void {
    this.worker.handle({ kind: 'bot', verdict });
  }

  /** Encrypts session tickets with other keys. */
  useTicketKeys(ticketKeys: Uint8Array): Promise<void> {
    return this.acknowledged({ ticketKeys });
  }

  /** Changes the settings of the running proxy. */
  configure(settings: Partial<TrafficSettings>): Promise<void> {
    return this.acknowledged({ settings: { ...SETTINGS, ...settings } });
  }

  private async acknowledged(news: Omit<Publication, 'generation'>): Promise<void> {
    const generation = ++this.generation;
    this.worker.handle({ kind: 'publish', publication: { generation, ...news } });
    await eventually(`generation ${generation} to be acknowledged`, () =>
      this.messages.some((message) => message.kind === 'acknowledged' && message.generation === generation),
    );
  }

  /** What would happen to a GET of this URL. */
  dryRun(url: string): DryRunResult {
    const asked = parseRequestUrl(url);
    if (asked === null) throw new Error(`not a URL: ${url}`);
    this.worker.handle({ kind: 'dry-run', id: 0, request: { origin: asked.origin.href, target: asked.target } });
    const answer = this.messages.findLast((message) => message.kind === 'dry-run');
    if (answer === undefined) throw new Error('no dry run');
    return answer.result;
  }

  /** Notifies the worker that a health verdict in the ledger has changed. */
  notifyVerdicts(): void {
    this.worker.handle({ kind: 'verdicts' });
  }

  drain(idleClose: IdleClose = 'now'): void {
    this.worker.handle({ kind: 'drain', idleClose });
  }

  /** Requests a report of the counts since the last one. */
  collect(id: number): void {
    this.worker.handle({ kind: 'report', id });
  }

  /** The counts so far, by host. */
  counted(): ReadonlyMap<string, RequestCounts> {
    this.collect(0);
    const sums = new Map<string, RequestCounts>();
    for (const message of this.messages) {
      if (message.kind !== 'report') continue;
      for (const { host, requests, classes, bytes } of message.report.domains) {
        const sum = sums.get(host) ?? { requests: 0, classes: [0, 0, 0, 0, 0, 0], bytes: 0 };
        sum.requests += requests;
        sum.bytes += bytes;
        sum.classes = sum.classes.map((count, index) => count + (classes[index] ?? 0));
        sums.set(host, sum);
      }
    }
    return sums;
  }

  /** The changes of targets reported so far. */
  targetChanges(): readonly TargetChange[] {
    return this.messages.flatMap((message) => (message.kind === 'target' ? [message.change] : []));
  }

  [Symbol.dispose](): void {
    for (const { socket } of this.wires) socket.destroy();
    this.drain();
  }
}

/** A site that forwards all requests to these targets in turn. */
export const site = (domain: string, ...upstreams: readonly { readonly address: string }[]): RouteInput => ({
  domain,
  upstream: null,
  tls: false,
  upstreams: upstreams.map(({ address }) => ({ address })),
});

/** Routes in their published form. Invalid ones fail the test. */
export function publication(routes: readonly RouteInput[], whole: boolean): EntriesPublication {
  const entries = routes.map((input) => {
    const result = readAppliedRoute(input);
    if ('problem' in result) throw new Error(`${result.problem.member}: ${result.problem.reason}`);
    const { domain, wildcard } = result.route;
    return { domain, json: JSON.stringify(result.route), severalLabels: wildcard === 'many' };
  });
  return { whole, ...packEntries(entries), removed: [] };
}

/** A GET for `a.test` with additional field lines. */
export const get = (path = '/', fields = ''): string => `GET ${path} HTTP/1.1\r\nHost: a.test\r\n${fields}\r\n`;

/** Waits until what was sent has been read: the proxy runs in this thread, and sockets are read in each turn of its event loop. */
export async function whenRead(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Waits for a condition that no connection of the test signals. */
export async function eventually(what: string, met: () => boolean): Promise<void> {
  await until(what, met);
}

/** Waits until a target has failed this many requests: those that may wait for another target do so then. */
export function failedAt(proxy: ProxyFixture, address: string, times = 1, tls = false): Promise<void> {
  const { targets } = proxy.ledger;
  return eventually('the target to have failed', () => {
    const slot = targets.find(targetKey(address, tls));
    return slot >= 0 && targets.failures(slot) >= times;
  });
}
