import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, beforeEach, describe, test } from 'node:test';
import { crc32 } from 'node:zlib';
import { until } from '../../shared/runtime/testing/until.ts';
import { Dataplane, Folder, frame, NDJSON } from '../testing/dataplane.ts';
import type { Answer } from '../testing/http.ts';
import { Upstream } from '../testing/upstream.ts';

const DOCKER = { source: 'docker', controller: 'engine' };
const UNUSED = 'not used until their controller confirms them';

/** An app and the address that the engine assigned to it. */
type App = { readonly domain: string; readonly id: string };
const SHOP: App = { domain: 'shop.test', id: 'shop 1' };
const BLOG: App = { domain: 'blog.test', id: 'blog 1' };

/** Two addresses and the apps that have them. An engine that starts its containers in a different order swaps them. */
class Engine {
  private readonly upstreams: readonly Upstream[];
  private readonly apps: App[];

  private constructor(upstreams: readonly Upstream[], apps: App[]) {
    this.upstreams = upstreams;
    this.apps = apps;
  }

  static async start(): Promise<Engine> {
    const apps = [SHOP, BLOG];
    const serve = (at: number) => Upstream.start(`address ${at}`, (_, response) => response.end(apps[at]?.domain));
    return new Engine([await serve(0), await serve(1)], apps);
  }

  swap(): void {
    this.apps.reverse();
  }

  /** Swaps the addresses back if they were swapped. */
  unswap(): void {
    if (this.apps[0] !== SHOP) this.swap();
  }

  /** The frame of its controller in the given epoch. */
  frame(epoch: number): string {
    const routes = this.apps.map(({ domain, id }, at) => ({
      domain,
      upstreams: [{ address: this.upstreams[at]?.address, id }],
      upstream: null,
    }));
    return frame(1, routes, { ...DOCKER, epoch });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const upstream of this.upstreams) await upstream[Symbol.asyncDispose]();
  }
}

async function apply(dataplane: Dataplane, lines: string): Promise<{ applied: { addresses: string[]; generation: number } }> {
  const { status, text } = await dataplane.admin('POST', '/routes', lines, NDJSON);
  assert.equal(status, 200, text);
  return JSON.parse(text);
}

/** The state directory of a killed data plane that served both apps. */
async function leaveState(stateDir: string, engine: Engine): Promise<void> {
  await using dataplane = await Dataplane.start({ stateDir, workers: 1 });
  await apply(dataplane, engine.frame(1));
  for (const { domain } of [SHOP, BLOG]) assert.equal((await dataplane.visit(domain)).text, domain);
  await dataplane.route('hand.test', '127.0.0.1:1', { respond: { status: 200, body: 'manual' } });
  await dataplane.program.kill('SIGKILL');
}

/** Makes the controller's last confirmation an hour older. */
function age(stateDir: string): void {
  const database = new DatabaseSync(join(stateDir, 'routes.db'));
  const row = database.prepare("SELECT json FROM controllers WHERE id = 'engine'").get() as { json: string };
  const json = row.json.replace(/"at":(\d+)/g, (_, at: string) => `"at":${Number(at) - 3_600_000}`);
  assert.notEqual(json, row.json);
  database.prepare("UPDATE controllers SET json = ?, checksum = ? WHERE id = 'engine'").run(json, crc32(`engine\n${json}`));
  database.close();
}

/** Eight sequential visits to each app. */
function visitBoth(dataplane: Dataplane): Promise<(Answer & { readonly domain: string })[]> {
  const visits = Array.from({ length: 8 }, () => [SHOP, BLOG]).flat();
  return Promise.all(visits.map(async ({ domain }) => ({ domain, ...(await dataplane.visit(domain)) })));
}

const reasonOf = async (dataplane: Dataplane): Promise<unknown> => JSON.parse((await dataplane.admin('GET', '/ready')).text);
const inFlight = async (dataplane: Dataplane): Promise<number> =>
  Number(/^sluice_requests_in_flight (\d+)$/m.exec((await dataplane.admin('GET', '/metrics')).text)?.[1]);

describe('a data plane that was killed and starts again', () => {
  const left = new Folder();
  let engine: Engine;
  before(async () => {
    engine = await Engine.start();
    await leaveState(left.path, engine);
  });
  beforeEach(() => engine.unswap());
  after(async () => {
    await engine?.[Symbol.asyncDispose]();
    left[Symbol.dispose]();
  });

  /** A copy of its state directory. */
  function stateOf(): Folder {
    const folder = new Folder();
    cpSync(left.path, folder.path, { recursive: true });
    return folder;
  }

  test('after addresses were swapped while nothing ran, visitors wait for the controller and never reach the wrong app', async () => {
    using folder = stateOf();
    age(folder.path);
    engine.swap();
    await using dataplane = await Dataplane.start({ stateDir: folder.path });
    const early = visitBoth(dataplane);
    assert.equal((await dataplane.visit('hand.test')).text, 'manual');
    await dataplane.program.said(UNUSED);
    await until('the visitors to wait', async () => (await inFlight(dataplane)) === 16);
    const { applied } = await apply(dataplane, engine.frame(2));
    for (const { domain, status, text } of [...(await early), ...(await visitBoth(dataplane))])
      assert.deepEqual([status, text], [200, domain]);
    assert.deepEqual(await reasonOf(dataplane), { ready: true });
    for (const address of applied.addresses) assert.doesNotMatch(address, /^(127\.|::1$|169\.254\.|fe80:)/);
  });

  test('routes that wait for their controller are reported everywhere, and a takeover does not confirm them', async () => {
    using folder = stateOf();
    age(folder.path);
    await using dataplane = await Dataplane.start({ stateDir: folder.path });
    await dataplane.program.said(UNUSED);
    const words = '2 of 3 routes are waiting for their controller to confirm the restored addresses of their targets';
    assert.deepEqual(await reasonOf(dataplane), { ready: true, waiting: words });
    const reason = 'its restored address is not confirmed; waiting for the controller';
    const upstreams = JSON.parse((await dataplane.admin('GET', '/upstreams')).text) as {
      domains: string[];
      healthy: boolean;
      reason: string;
    }[];
    const waiting = upstreams.filter(({ healthy }) => !healthy).map((one) => [...one.domains, one.reason]);
    assert.deepEqual(waiting.sort(), [
      ['blog.test', reason],
      ['shop.test', reason],
    ]);
    const { verdict } = JSON.parse((await dataplane.admin('GET', '/explain?url=shop.test')).text) as { verdict: string };
    assert.match(verdict, /^503 after 10 s: .*; 127\.0\.0\.1:\d+: its restored address is not confirmed; waiting for the controller$/);
    const { warnings } = JSON.parse((await dataplane.admin('GET', '/status')).text) as { warnings: string[] };
    assert.ok(warnings.includes(words), JSON.stringify(warnings));

    engine.swap();
    await using successor = await Dataplane.start({ stateDir: folder.path, httpPort: dataplane.httpPort, flags: ['--takeover'] });
    assert.deepEqual(await reasonOf(successor), { ready: true, waiting: words });
    await successor.program.said(UNUSED);
    await dataplane.program.exited;
    const visits = visitBoth(successor);
    await until('the visitors to wait', async () => (await inFlight(successor)) === 16);
    await apply(successor, engine.frame(2));
    for (const { domain, status, text } of await visits) assert.deepEqual([status, text], [200, domain]);
  });

  test('within the same boot, recently confirmed targets are used after two seconds without the controller', async () => {
    using folder = stateOf();
    await using dataplane = await Dataplane.start({ stateDir: folder.path });
    await dataplane.program.said('waiting for the controller to confirm restored targets');
    for (const { domain, status, text } of await visitBoth(dataplane)) assert.deepEqual([status, text], [200, domain]);
    await dataplane.program.said('using restored targets without a confirmation from their controller');
    assert.deepEqual(await reasonOf(dataplane), { ready: true });

    // A process that takes over targets in use uses them immediately.
    await using successor = await Dataplane.start({ stateDir: folder.path, httpPort: dataplane.httpPort, flags: ['--takeover'] });
    assert.deepEqual(await reasonOf(successor), { ready: true });
    for (const { domain, status, text } of await visitBoth(successor)) assert.deepEqual([status, text], [200, domain]);
    assert.ok(!successor.program.output.includes('waiting for the controller'), successor.program.output);
  });
});
