import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Visitors } from '../takeover/visitors.ts';
import { visit } from '../testing/http.ts';
import { Program, REPOSITORY } from '../testing/process.ts';
import { Compose } from './testing/compose.ts';
import type { Engine } from './testing/engine.ts';
import { importPause, rebuildProduct } from './testing/image/product.ts';

const FILE = 'docker-compose.lossless.yml';
const HOST = 'shop.localhost';
const VISITORS = 12;

/** Tests of upgrades in containers, on an engine that has the product's image and a free port 80. */
export function upgradesInContainers(engineOf: () => Engine): void {
  describe('upgrades in containers, under load', () => {
    let engine: Engine;
    let project: Compose;
    before(async () => {
      engine = engineOf();
      project = new Compose(engine, FILE);
      await importPause(engine);
      await project.run('up', '--detach');
      await new Compose(engine, 'examples/replicas.yml').run('--project-name', 'shop', 'up', '--detach');
      await until('the shop to be served', async () => (await visit(80, HOST)).status === 200);
    });

    test('status lists the containers where the controller runs', async () => {
      const status = async () => (await project.try(['exec', '-T', 'controller', 'sluice', 'status'])).output;
      await until('the containers to be listed', async () => /^CONTAINER .*\n.* shop\.localhost /m.test(await status()));
    });

    const dataplane = async () => engine.docker.getContainer(await project.idOf('dataplane')).inspect();

    /** Runs `change` under load. @returns the number of answered requests. */
    const underLoad = async (change: () => Promise<unknown>): Promise<number> => {
      await using visitors = new Visitors(80, HOST, VISITORS, 5);
      await visitors.more(500);
      await change();
      await visitors.more(500);
      const { answered, lost } = await visitors.stop();
      assert.deepEqual(lost, {});
      assert.ok(Math.min(answered.onNew, answered.onKept) > 300, JSON.stringify(answered));
      return answered.onNew + answered.onKept;
    };

    test('two upgrades by exec keep process 1 and its container, and lose no request', async (t) => {
      const before = await dataplane();
      const answered = await underLoad(async () => {
        for (let upgrades = 0; upgrades < 2; upgrades++) {
          const stdout = await project.run('exec', '-T', 'dataplane', 'sluice', 'upgrade');
          assert.match(stdout, /^sluice \S+ \(process \d+\) handed over to sluice \S+ \(process \d+\)$/m);
        }
      });
      const { Id, State, RestartCount } = await dataplane();
      assert.deepEqual([Id, State.StartedAt, RestartCount], [before.Id, before.State.StartedAt, 0]);
      t.diagnostic(`${answered} requests`);
    });

    test('a data plane that aborts is restarted in the same container', async () => {
      const before = await dataplane();
      await project.run('exec', '-T', 'dataplane', 'sh', '-c', 'kill -ABRT $(cat /proc/1/task/1/children)');
      await until('the shop to be served again', async () => (await visit(80, HOST).catch(() => null))?.status === 200);
      const { State, RestartCount } = await dataplane();
      assert.deepEqual([State.StartedAt, RestartCount], [before.State.StartedAt, 0]);
    });

    test('a new image takes over from the old one through a temporary container without lost requests', async (t) => {
      const before = await dataplane();
      await rebuildProduct(engine);
      const answered = await underLoad(async () => {
        const file = join(REPOSITORY, 'deploy/compose', FILE);
        const env = { ...project.environment(), COMPOSE: 'docker-compose' };
        await using script = new Program('sh', [join(REPOSITORY, 'deploy/compose/upgrade.sh'), '--file', file], env);
        assert.equal((await script.exited).code, 0, script.output);
      });
      const now = await dataplane();
      assert.notEqual(now.Image, before.Image);
      assert.deepEqual(await engine.docker.listContainers({ all: true, filters: { name: ['dataplane-between'] } }), []);
      t.diagnostic(`${answered} requests`);
    });
  });
}
