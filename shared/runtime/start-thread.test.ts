import assert from 'node:assert/strict';
import { once } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import { type TestContext, test } from 'node:test';
import threads, { type WorkerOptions } from 'node:worker_threads';
import { startThread } from './start-thread.ts';

const ENTRY = new URL('data:text/javascript,');

/** Threads can't be started until the end of the test. */
function failing(t: TestContext, error: Error): void {
  const { Worker } = threads;
  threads.Worker = class extends Worker {
    constructor(entry: string | URL, options?: WorkerOptions) {
      super(entry, options);
      throw error;
    }
  };
  syncBuiltinESMExports();
  t.after(() => {
    threads.Worker = Worker;
    syncBuiltinESMExports();
  });
}

test('a thread that the system does not permit ends with an error event', async (t) => {
  const refused = Object.assign(new Error('EAGAIN'), { code: 'ERR_WORKER_INIT_FAILED' });
  failing(t, refused);
  const thread = startThread(ENTRY, {});
  const exit = new Promise((resolve) => thread.once('exit', resolve));
  thread.postMessage('unread');
  assert.deepEqual(await once(thread, 'error').catch((error: unknown) => [error]), [refused]);
  assert.equal(await exit, 1);
});

test('any other error is thrown', (t) => {
  failing(t, new TypeError('no such option'));
  assert.throws(() => startThread(ENTRY, {}), TypeError);
});
