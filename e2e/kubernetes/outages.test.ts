import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { until } from '../harness/until.ts';
import { Cluster, clusterNetwork } from './harness/cluster.ts';
import { app, INGRESS_CLASS, ingress } from './harness/objects.ts';
import { Pair } from './harness/pair.ts';

const skip = clusterNetwork();

let cluster: Cluster;
let pair: Pair;
let folder: string;
let config: string;
before(async () => {
  if (skip !== undefined) return;
  folder = mkdtempSync(join(tmpdir(), 'sluice-outages-'));
  config = join(folder, 'Sluicefile');
  writeFileSync(config, 'file.test {\n  respond "from a file"\n}\n');
  cluster = await Cluster.start();
  await cluster.apply(INGRESS_CLASS, ...app({ name: 'web' }), ingress({ name: 'web' }, 'web.test', [{ path: '/', service: 'web' }]));
  pair = await Pair.start({ kubeconfig: cluster.kubeconfig, flags: ['--config', config] });
});
beforeEach(async () => {
  if (skip !== undefined) return;
  await pair.serves(200, 'web.test');
  await pair.serves(200, 'file.test');
});
after(async () => {
  await pair?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
  if (folder) rmSync(folder, { recursive: true });
});

/** The problem of a cluster that can't be read, as `sluice status` shows it. */
const saysWhy = () => until('status to say why', async () => (await pair.command('status')).includes('nothing listens there'));

/** Stops the API server, visits all the while, and starts it again. */
async function outage(during: () => Promise<void>): Promise<void> {
  let isOver = false;
  const visits = (async () => {
    const answers = new Map<number, number>();
    while (!isOver) {
      const { status } = await pair.visit('web.test');
      answers.set(status, (answers.get(status) ?? 0) + 1);
    }
    return answers;
  })();
  await cluster.stopApiServer();
  try {
    await during();
  } finally {
    isOver = true;
    await cluster.startApiServer();
  }
  assert.deepEqual([...(await visits).keys()], [200]);
}

/** A new site of the app that runs already: after an outage the controllers of the cluster take their time to start another one. */
const addSite = (name: string) => cluster.apply(ingress({ name }, `${name}.test`, [{ path: '/', service: 'web' }]));

describe('while the API server is away', { skip }, () => {
  test('everything is served, and what happens afterwards is served, too', async () => {
    await outage(async () => {
      await saysWhy();
      await pair.serves(200, 'file.test');
    });
    await addSite('later');
    await pair.serves(200, 'later.test');
    await until('nothing to be wrong', async () => !(await pair.command('status')).includes('can’t be reached'));
  });

  test('a controller that is restarted takes nothing away, and serves its file at once', async () => {
    await outage(async () => {
      await pair.controller?.[Symbol.asyncDispose]();
      await pair.startController(cluster.kubeconfig, ['--config', config]);
      writeFileSync(config, 'file.test {\n  respond "from a file"\n}\nnew.test {\n  respond "new"\n}\n');
      await pair.serves(200, 'new.test');
      await saysWhy();
    });
    await addSite('restarted');
    await pair.serves(200, 'restarted.test');
  });

  test('both processes can be restarted: the saved table serves pods that were confirmed a moment ago', async () => {
    await cluster.stopApiServer();
    await pair.controller?.[Symbol.asyncDispose]();
    await pair.dataplane?.[Symbol.asyncDispose]();
    await pair.startDataplane();
    await pair.startController(cluster.kubeconfig, ['--config', config]);
    await pair.serves(200, 'web.test');
    await pair.serves(200, 'file.test');
    assert.match(pair.dataplane?.output ?? '', /using restored targets without a confirmation/);
    await cluster.startApiServer();
    await addSite('both');
    await pair.serves(200, 'both.test');
  });

  test('a pair that has never seen the cluster serves its file, and the cluster as soon as it is there', async () => {
    await cluster.stopApiServer();
    await using fresh = await Pair.start({ kubeconfig: cluster.kubeconfig, flags: ['--config', config] });
    await fresh.serves(200, 'file.test');
    assert.equal((await fresh.visit('web.test')).status, 404);
    await cluster.startApiServer();
    await fresh.serves(200, 'web.test');
  });
});
