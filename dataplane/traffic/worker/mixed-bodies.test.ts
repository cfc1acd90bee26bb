import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline, type Readable } from 'node:stream';
import { test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { createBrotliDecompress, createGunzip, createZstdDecompress } from 'node:zlib';
import type { RouteInput } from '../../../shared/route.ts';
import { inputsOf } from '../codec/http1/oracle/testing/differential.ts';
import { ENCODER_MEMORY } from '../respond/encode/memory.ts';
import { CertificatesFixture } from '../testing/certificates.ts';
import { cachingProxy } from '../testing/proxy/caching-proxy.ts';
import { eventually, site } from '../testing/proxy/test-proxy.ts';
import { PATIENCE_MS } from '../testing/wire.ts';
import { type BodyCheck, WrongByte } from './testing/body-pattern.ts';
import { MixedClients, type Sent } from './testing/mixed-clients.ts';
import { CODINGS, CUTS, type Cut, KINDS, MixedRequest, PROTOCOLS, type Protocol } from './testing/mixed-request.ts';
import { readPaced, writePaced } from './testing/paced.ts';
import { PatternUpstreams } from './testing/pattern-upstreams.ts';

/** In an ordinary run. */
const REQUESTS = 640;
const AT_ONCE = 24;
/** So much that there is room for all responses that are being received. */
const CACHE_SIZE = 400_000_000;

/** At least these parts of the requests must be of each kind. There are more. */
const LEAST: readonly (readonly [names: readonly string[], part: number])[] = [
  [KINDS, 1 / 16],
  [PROTOCOLS.map((protocol) => `over ${protocol}`), 1 / 8],
  [PROTOCOLS.map((protocol) => `from ${protocol}`), 1 / 8],
  [[...CODINGS, 'hit', 'collapsed', ...CUTS.map((cut) => `cut ${cut}`)], 1 / 200],
];

const DECODERS = { gzip: createGunzip, br: createBrotliDecompress, zstd: createZstdDecompress };

type Block = NonNullable<RouteInput['handles']>[number];

/** A block for each kind and upstream, and one for files. */
function route(root: string, upstreams: PatternUpstreams): RouteInput {
  const blocks = KINDS.filter((kind) => kind !== 'file').flatMap((kind) =>
    PROTOCOLS.map(
      (protocol): Block => ({
        path: `/${kind}/${protocol}/*`,
        upstreams: [{ address: upstreams.address(protocol) }],
        tls: protocol === 'http1-tls' || protocol === 'http2-tls',
        ...(protocol === 'http2' && { transport: { protocol: 'h2c' } }),
        ...(protocol === 'http2-tls' && { transport: { protocol: 'h2' } }),
        ...(kind === 'encoded' && { encode: { formats: CODINGS.map((name) => ({ name })) } }),
        ...((kind === 'private' || kind === 'stored') && { cache: {} }),
      }),
    ),
  );
  return { ...site('a.test'), root, handles: [...blocks, { path: '/file/*', strip_prefix: true, file_server: {} }] };
}

/** Sends requests, and checks all that is received. */
class CheckedTraffic {
  /** How many responses arrived whole, by kind, upstream, client, coding and result of the cache, and how many were cut as they should be. */
  readonly counts = new Map<string, number>();
  private readonly clients: MixedClients;
  private readonly root: string;
  private readonly timers = new Set<NodeJS.Timeout>();

  constructor(clients: MixedClients, root: string) {
    this.clients = clients;
    this.root = root;
  }

  /** @throws if anything about a response or an upload is wrong. */
  async ask(request: MixedRequest): Promise<void> {
    const { number, kind, path, client, again, cut } = request;
    if (kind === 'file') writeFileSync(join(this.root, `${number}`), request.body);
    try {
      const first = this.once(request, client, cut);
      if (kind !== 'stored') await first;
      else if (again.together) await Promise.all([first, this.once(request, again.client, null)]);
      else {
        await first;
        const status = await this.once(request, again.client, null);
        // The end of a response may arrive after its last byte.
        if (cut === null) assert.match(status, /; (hit|collapsed)/, `${path} is not stored`);
      }
    } catch (error) {
      throw request.fault ?? error;
    }
    request.release();
  }

  private count(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }

  /** @returns the Cache-Status. @throws if it takes too long. */
  private async once(request: MixedRequest, over: Protocol, cut: Cut | null): Promise<string> {
    const check = request.checkBody();
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error(`waited too long, after ${check.progress}${uploadOf(request)}`)), PATIENCE_MS);
    this.timers.add(timer);
    try {
      return await Promise.race([this.exchange(request, over, cut, check), late]);
    } catch (error) {
      const how = cut === null ? '' : `, where the ${cut} is cut at ${request.cutAt}`;
      throw new Error(`${request.path} over ${over}${how}: ${error instanceof Error ? error.message : error}`, { cause: error });
    } finally {
      clearTimeout(timer);
      this.timers.delete(timer);
    }
  }

  private async exchange(request: MixedRequest, over: Protocol, cut: Cut | null, check: BodyCheck): Promise<string> {
    const sent = await this.clients.send(request, over);
    const [status] = await Promise.all([this.receive(request, over, cut, sent, check), sendUpload(request, sent)]);
    if (status === null) this.count(`cut ${cut}`);
    return status ?? '';
  }

  /** @returns null if the response is cut as it should be. */
  private async receive(request: MixedRequest, over: Protocol, cut: Cut | null, sent: Sent, check: BodyCheck): Promise<string | null> {
    const { kind, upstream, coding, cutAt, paces } = request;
    const leaves = cut === 'request' || cut === 'connection';
    const leave = (): null => {
      sent.leave();
      return null;
    };
    if (leaves && cutAt < 0) {
      await paces.reading.begin();
      return leave();
    }
    const answer = await sent.answer;
    if (cut === 'upstream' && (answer instanceof Error || answer.status !== 200)) return leave();
    if (answer instanceof Error) throw answer;
    const { status, fields, body } = answer;
    assert.equal(status, kind === 'tunnel' && (over === 'http1' || over === 'http1-tls') ? 101 : 200);
    if (kind === 'encoded') assert.equal(fields['content-encoding'], coding);
    const decoded: Readable = kind === 'encoded' ? pipeline(body, DECODERS[coding](), () => undefined) : body;
    const enough = (): boolean => leaves && check.at > cutAt;
    try {
      await readPaced(decoded, check, paces.reading, enough);
    } catch (error) {
      if (cut === 'upstream' && !(error instanceof WrongByte)) return leave();
      throw error;
    }
    if (enough()) return leave();
    assert.notEqual(cut, 'upstream', 'a response that its upstream cut off looks complete');
    assert.ok(check.complete, `ended after ${check.progress}`);
    if (kind === 'uploaded' || kind === 'tunnel') assert.ok(request.uploaded, 'its upload has not arrived');
    if (kind === 'tunnel') sent.upload().end();
    for (const name of [kind, `over ${over}`]) this.count(name);
    if (kind !== 'file') this.count(`from ${upstream}`);
    if (kind === 'encoded') this.count(coding);
    const cacheStatus = String(fields['cache-status'] ?? '');
    for (const result of ['hit', 'collapsed']) if (cacheStatus.includes(`; ${result}`)) this.count(result);
    return cacheStatus;
  }

  [Symbol.dispose](): void {
    for (const timer of this.timers) clearTimeout(timer);
  }
}

const uploadOf = ({ uploadSize, uploaded }: MixedRequest): string =>
  uploadSize === null ? '' : `, and ${uploaded ? 'all' : 'not all'} of its upload has arrived`;

async function sendUpload({ kind, uploadSize, upload, paces }: MixedRequest, sent: Sent): Promise<void> {
  if (uploadSize === null || (kind === 'tunnel' && (await sent.answer) instanceof Error)) return;
  await writePaced(sent.upload(), upload, paces.upload);
  // The upstream of a tunnel ends first.
  if (kind !== 'tunnel') sent.upload().end();
}

test('bodies of concurrent requests of all kinds arrive unchanged, and none has a byte of another', async (t) => {
  const certificates = new CertificatesFixture();
  const pair = certificates.issue('a.test');
  using cleanup = new DisposableStack();
  const trusted = getCACertificates('default');
  setDefaultCACertificates([...trusted, certificates.ca]);
  cleanup.defer(() => setDefaultCACertificates(trusted));
  const root = mkdtempSync(join(tmpdir(), 'mixed-bodies-'));
  cleanup.defer(() => rmSync(root, { recursive: true }));
  const requests = new Map<number, MixedRequest>();
  const requestAt = (path: string): MixedRequest => {
    const request = requests.get(MixedRequest.numberIn(path));
    if (request === undefined) throw new Error(`nobody has requested ${path}`);
    return request;
  };
  using upstreams = await PatternUpstreams.start(pair, requestAt);
  using proxy = await cachingProxy(route(root, upstreams), { httpsPort: 0, cacheSize: CACHE_SIZE });
  await proxy.certify({ domains: ['a.test'], certificate: pair.cert, private_key: pair.key });
  using clients = await MixedClients.start(proxy, certificates.ca);
  using traffic = new CheckedTraffic(clients, root);

  const inputs = [...inputsOf(t, REQUESTS)];
  let next = 0;
  const client = async (): Promise<void> => {
    for (let input = inputs[next]; input !== undefined; input = inputs[next]) {
      const request = new MixedRequest(next++, input.random);
      requests.set(request.number, request);
      try {
        await traffic.ask(request);
      } catch (error) {
        next = inputs.length;
        const logged = proxy.log.lines.map((line) => JSON.stringify(line)).filter((line) => line.includes(`"${request.path}"`));
        throw input.failed([error instanceof Error ? error.message : error, ...logged].join('\n'));
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  await eventually('nothing to be in flight', () => proxy.ledger.inFlight.total() === 0 && ENCODER_MEMORY.isFree);
  // The rest of an upload may arrive after its answer.
  for (const { number, fault } of requests.values()) if (fault !== null) throw inputs[number]?.failed(fault) ?? fault;

  t.diagnostic(JSON.stringify(Object.fromEntries(traffic.counts)));
  for (const [names, part] of LEAST)
    for (const name of names) {
      const count = traffic.counts.get(name) ?? 0;
      assert.ok(count >= Math.floor(inputs.length * part), `only ${count} of ${inputs.length} requests: ${name}`);
    }
});
