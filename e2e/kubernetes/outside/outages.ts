import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { until } from '../../../shared/runtime/testing/until.ts';
import { type Cluster, clusterNetwork } from '../testing/cluster.ts';
import { app, INGRESS_CLASS, ingress } from '../testing/objects.ts';
import { Pair } from '../testing/pair.ts';
import { SeverablePort } from '../testing/severable-port.ts';
import { joinCluster, leaveCluster } from '../testing/shared-cluster.ts';

const skip = clusterNetwork();

let cluster: Cluster;
let pair: Pair;
let folder: string;
let config: string;
let kubeconfig: string;
/** Where the pair reaches the API server. To start that again takes more CPU time than all else in these tests, so one of them does. */
let way: SeverablePort;
before(async () => {
  if (skip !== undefined) return;
  folder = mkdtempSync(join(tmpdir(), 'sluice-outages-'));
  config = join(folder, 'Sluicefile');
  writeFileSync(config, 'file.test {\n  respond "from a file"\n}\n');
  cluster = await joinCluster();
  way = new SeverablePort(cluster.port);
  await way.open();
  kubeconfig = join(folder, 'kubeconfig');
  cluster.writeKubeconfig(kubeconfig, way.port);
  await cluster.apply(INGRESS_CLASS, ...app({ name: 'web' }), ingress({ name: 'web' }, 'web.test', [{ path: '/', service: 'web' }]));
  pair = await Pair.start({ kubeconfig, flags: ['--config', config] });
});
beforeEach(async () => {
  if (skip !== undefined) return;
  await pair.serves(200, 'web.test');
  await pair.serves(200, 'file.test');
});
after(async () => {
  await pair?.[Symbol.asyncDispose]();
  way?.close();
  await leaveCluster(cluster);
  if (folder) rmSync(folder, { recursive: true });
});

/** The problem of a cluster that can't be read, as `sluice status` shows it. */
const saysWhy = () => until('status to say why', async () => (await pair.command('status')).includes('nothing listens there'));

const VISIT_MS = 5;

/** Something that ends the API server for its clients, and brings it back. */
type Outage = { stop(): void | Promise<void>; start(): Promise<void> };
const REAL: Outage = {
  async stop() {
    way.close();
    await cluster.stopApiServer();
  },
  async start() {
    await cluster.startApiServer();
    await way.open();
  },
};
const SEVERED: Outage = { stop: () => way.close(), start: () => way.open() };

/** Does something during an outage, while a visitor keeps visiting. */
async function outage({ stop, start }: Outage, during: () => Promise<void>): Promise<void> {
  let isOver = false;
  const visits = (async () => {
    const answers = new Map<number, number>();
    while (!isOver) {
      const { status } = await pair.visit('web.test');
      answers.set(status, (answers.get(status) ?? 0) + 1);
      await wait(VISIT_MS);
    }
    return answers;
  })();
  await stop();
  try {
    await during();
  } finally {
    isOver = true;
    await start();
  }
  assert.deepEqual([...(await visits).keys()], [200]);
}

/** A new site of the app that runs already: after an outage the controllers of the cluster take their time to start another one. */
const addSite = (name: string) => cluster.apply(ingress({ name }, `${name}.test`, [{ path: '/', service: 'web' }]));

describe('while the API server is away', { skip }, () => {
  test('everything is served, and what happens afterwards is served, too', async () => {
    await outage(REAL, async () => {
      await saysWhy();
      await pair.serves(200, 'file.test');
    });
    await addSite('later');
    await pair.serves(200, 'later.test');
    await until('nothing to be wrong', async () => !(await pair.command('status')).includes('can’t be reached'));
  });

  test('a controller that is restarted takes nothing away, and serves its file at once', async () => {
    await outage(SEVERED, async () => {
      await pair.controller?.[Symbol.asyncDispose]();
      await pair.startController(kubeconfig, ['--config', config]);
      writeFileSync(config, 'file.test {\n  respond "from a file"\n}\nnew.test {\n  respond "new"\n}\n');
      await pair.serves(200, 'new.test');
      await saysWhy();
    });
    await addSite('restarted');
    await pair.serves(200, 'restarted.test');
  });

  test('both processes can be restarted: the saved table serves pods that were confirmed a moment ago', async () => {
    way.close();
    await pair.controller?.[Symbol.asyncDispose]();
    await pair.dataplane?.[Symbol.asyncDispose]();
    await pair.startDataplane();
    await pair.startController(kubeconfig, ['--config', config]);
    await pair.serves(200, 'web.test');
    await pair.serves(200, 'file.test');
    await pair.dataplane?.said('using restored targets without a confirmation');
    await way.open();
    await addSite('both');
    await pair.serves(200, 'both.test');
  });

  test('a pair that has never seen the cluster serves its file, and the cluster as soon as it is there', async () => {
    way.close();
    await using fresh = await Pair.start({ kubeconfig, flags: ['--config', config] });
    await fresh.serves(200, 'file.test');
    assert.equal((await fresh.visit('web.test')).status, 404);
    await way.open();
    await fresh.serves(200, 'web.test');
  });
});
