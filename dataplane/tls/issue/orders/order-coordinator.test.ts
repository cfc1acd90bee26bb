import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readCertificate } from '../../../../shared/certificates/certificate.ts';
import { makePair } from '../../../../shared/certificates/testing/pairs.ts';
import { systemRandom } from '../../../../shared/runtime/random.ts';
import { ManualClock } from '../../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../../shared/runtime/testing/memory-log.ts';
import { DirectoryStore } from '../../store/directory-store.ts';
import { IssueError, UnfinishedError } from '../issue-error.ts';
import { OrderCoordinator } from './order-coordinator.ts';

const CA = 'https://ca.test/directory';
const DAY = 86_400_000;
const BEGUN = { url: 'https://ca.test/order/1', privateKey: 'a key' };

/** Processes that share a certificate directory and a clock. */
class Scene {
  readonly folder = mkdtempSync(join(tmpdir(), 'orders-'));
  readonly clock = new ManualClock();

  process(instance: string): OrderCoordinator {
    return new OrderCoordinator({ store: this.store(instance), clock: this.clock, log: memoryLog() });
  }

  store(instance: string): DirectoryStore {
    return new DirectoryStore(this.folder, { clock: this.clock, random: systemRandom, log: memoryLog(), instance });
  }

  get notes(): string[] {
    return readdirSync(join(this.folder, '.orders'));
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, maxRetries: 10 });
  }
}

/** Runs an order that stops as in a crash: nothing happens after its state was saved. */
async function crash(orders: OrderCoordinator, name = 'a.test'): Promise<void> {
  await new Promise<void>((resolve) => {
    void orders.run(name, CA, null, async ({ remember }) => {
      await remember(BEGUN);
      resolve();
      return new Promise(() => undefined);
    });
  });
}

test('the next process resumes an order after a crash, but not one that succeeded or failed', async () => {
  using scene = new Scene();
  await crash(scene.process('one'));
  const next = scene.process('one');
  const seen: unknown[] = [];
  for (const ending of [null, new IssueError('validation', 'no')]) {
    await next
      .run('a.test', CA, null, async ({ begun, remember }) => {
        seen.push(begun);
        await remember(BEGUN);
        if (ending !== null) throw ending;
      })
      .catch((error: unknown) => assert.equal(error, ending));
  }
  await next.run('a.test', CA, null, async ({ begun }) => void seen.push(begun));
  assert.deepEqual(seen, [BEGUN, null, null]);
  assert.deepEqual(scene.notes, []);
});

test('an order is resumed if the authority was only unreachable, and never at another authority', async () => {
  using scene = new Scene();
  const orders = scene.process('one');
  const away = orders.run('a.test', CA, null, async ({ remember }) => {
    await remember(BEGUN);
    throw new IssueError('unreachable', 'no response');
  });
  await assert.rejects(away, /no response/);
  await orders.run('a.test', 'https://other.test/directory', null, async ({ begun }) => assert.equal(begun, null));
  await assert.rejects(
    orders.run('a.test', CA, null, async ({ remember }) => {
      await remember(BEGUN);
      throw new IssueError('limited', 'later');
    }),
  );
  await orders.run('a.test', CA, null, async ({ begun }) => assert.deepEqual(begun, BEGUN));
});

test('an order is resumed if its validation has not ended, so that an authority that needs longer than we wait issues too', async () => {
  using scene = new Scene();
  const orders = scene.process('one');
  for (let waits = 0; waits < 5; waits++)
    await assert.rejects(
      orders.run('a.test', CA, null, async ({ begun, remember }) => {
        if (begun === null) await remember({ ...BEGUN, url: `${BEGUN.url}${waits}` });
        throw new UnfinishedError('a.test: not yet');
      }),
    );
  await orders.run('a.test', CA, null, async ({ begun }) => assert.deepEqual(begun, { ...BEGUN, url: `${BEGUN.url}0` }));
});

test('a name backs off for a minute after three crashes during its order', async () => {
  using scene = new Scene();
  for (let crashes = 0; crashes < 3; crashes++) await crash(scene.process('one'));
  const orders = scene.process('one');
  const place = (): Promise<void> => orders.run('a.test', CA, null, async () => undefined);
  await assert.rejects(place(), (error) => error instanceof IssueError && error.retryAfterMs === 60_000);
  scene.clock.pass(60_000);
  await place();
});

test('an order that is cut because its process ends or hands over does not count as a crash, and goes on', async () => {
  using scene = new Scene();
  for (let ends = 0; ends < 5; ends++) {
    const process = scene.process('one');
    await crash(process);
    await process.release();
    // When it has handed over, and then ends.
    await process.release();
  }
  const seen: unknown[] = [];
  await scene.process('one').run('a.test', CA, null, async ({ begun }) => void seen.push(begun));
  assert.deepEqual(seen, [BEGUN]);
});

test('a process can end although its directory fails', async () => {
  using scene = new Scene();
  const log = memoryLog();
  const orders = new OrderCoordinator({ store: scene.store('one'), clock: scene.clock, log });
  await crash(orders);
  rmSync(join(scene.folder, '.orders'), { recursive: true });
  writeFileSync(join(scene.folder, '.orders'), '');
  await orders.release();
  assert.equal(log.lines.length, 1);
});

test('a process that takes its orders back after a takeover that failed counts as one that has crashed when it does', async () => {
  using scene = new Scene();
  for (let crashes = 0; crashes < 3; crashes++) {
    const process = scene.process('one');
    let remember = (_: typeof BEGUN): Promise<void> => assert.fail('the order has not begun');
    await new Promise<void>((resolve) => {
      void process.run('a.test', CA, null, (order) => {
        remember = order.remember;
        resolve();
        return new Promise(() => undefined);
      });
    });
    await process.release();
    process.reclaim();
    await remember(BEGUN);
  }
  await assert.rejects(
    scene.process('one').run('a.test', CA, null, async () => undefined),
    /crashed 3 times/,
  );
});

test('a name does not back off from crashes until a time that was only reached because the clock was wrong', async () => {
  using scene = new Scene();
  for (let crashes = 0; crashes < 3; crashes++) await crash(scene.process('one'));
  scene.clock.jump(-DAY);
  let placed = 0;
  await scene.process('one').run('a.test', CA, null, async () => void placed++);
  assert.equal(placed, 1);
});

test('only one process orders at a time, and one that waited learns of a failure instead of repeating it', async () => {
  using scene = new Scene();
  const [one, other] = [scene.process('one'), scene.process('other')];
  let fail: (error: Error) => void = () => undefined;
  let placed = 0;
  scene.clock.pass(1);
  const begun = Promise.withResolvers<void>();
  const first = one.run('a.test', CA, null, () => {
    placed++;
    begun.resolve();
    return new Promise((_, reject) => {
      fail = reject;
    });
  });
  await begun.promise;
  const second = other.run('a.test', CA, null, async () => void placed++);
  const settled = Promise.allSettled([first, second]);
  fail(new IssueError('validation', 'a.test: connection refused'));
  let done = false;
  void settled.then(() => {
    done = true;
  });
  while (!done) {
    scene.clock.pass(25);
    await new Promise((resolve) => setImmediate(resolve));
  }
  for (const { status, ...rest } of await settled)
    assert.match(`${status} ${'reason' in rest ? rest.reason : ''}`, /^rejected .*connection refused$/);
  assert.equal(placed, 1);
  await other.run('a.test', CA, null, async () => void placed++);
  assert.equal(placed, 2, 'its own time comes');
});

test('a process that starts deletes an order whose certificate is stored, or that has expired, but no other', async () => {
  using scene = new Scene();
  await crash(scene.process('one'));
  const next = scene.process('one');
  await next.deleteOver();
  assert.equal(scene.notes.length, 1, 'the order can still be resumed');

  // The crash came between storing the certificate and deleting its order.
  const made = await makePair(['a.test']);
  const pair = readCertificate(made.certificate, made.privateKey);
  assert.ok(pair.ok);
  const stored = { source: 'acme', domains: ['a.test'], pair: pair.value } as const;
  await scene.store('one').put({ ...stored, order: 'https://ca.test/order/0' });
  await next.deleteOver();
  assert.equal(scene.notes.length, 1, 'the certificate is of an earlier order');
  await scene.store('one').put({ ...stored, order: BEGUN.url });
  await next.deleteOver();
  assert.deepEqual(scene.notes, []);

  await crash(scene.process('one'), '*.a.test');
  const wild = await makePair(['*.a.test']);
  const other = readCertificate(wild.certificate, wild.privateKey);
  assert.ok(other.ok);
  await scene.store('one').put({ source: 'acme', domains: ['*.a.test'], pair: other.value, order: BEGUN.url });
  await next.deleteOver();
  assert.deepEqual(scene.notes, []);

  const weekAgo = scene.clock.now() - 7 * 24 * 3_600_000;
  const saved = (at: number) => JSON.stringify({ directory: CA, at, tries: 1, begun: { ...BEGUN, url: 'https://ca.test/order/2' } });
  for (const [at, left] of [
    [weekAgo + 1, 1],
    [weekAgo - 1, 0],
  ] as const) {
    await scene.store('one').write('orders', 'a.test', saved(at));
    await next.deleteOver();
    assert.equal(scene.notes.length, left);
  }
});

test('a disk that fails after an order changes neither its success nor the reason of its failure, which may count against limits', async () => {
  for (const folder of ['.orders', '.locks']) {
    using scene = new Scene();
    const log = memoryLog();
    const store = scene.store('one');
    const orders = new OrderCoordinator({ store, clock: scene.clock, log });
    const breakDisk = (): void => {
      rmSync(join(scene.folder, folder), { recursive: true });
      writeFileSync(join(scene.folder, folder), '');
    };
    const failure = new IssueError('validation', 'a.test: connection refused');
    const failed = orders.run('a.test', CA, null, async ({ remember }) => {
      await remember(BEGUN);
      breakDisk();
      throw failure;
    });
    await assert.rejects(failed, (error) => error === failure);
    rmSync(join(scene.folder, folder));
    await orders.run('a.test', CA, null, async () => breakDisk());
    assert.equal(log.lines.length, 2, folder);
    await store.close();
  }
});
