import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../shared/runtime/testing/manual-clock.ts';
import type { FromWorker } from '../protocol.ts';
import { relayedLog } from './relayed-log.ts';

const logged = (messages: readonly FromWorker[]) => messages.flatMap((message) => (message.kind === 'log' ? [message] : []));

test('each level may write a burst of 200 lines and five a second, and the next line counts the dropped ones', () => {
  const clock = new ManualClock();
  const messages: FromWorker[] = [];
  const log = relayedLog('info', clock, (message) => messages.push(message));
  for (let nth = 0; nth < 1_000; nth++) log.warn({ nth }, 'again');
  assert.equal(messages.length, 200);
  log.error('something else');
  assert.equal(messages.length, 201);
  clock.pass(1_000);
  for (let nth = 0; nth < 1_000; nth++) log.warn({ nth }, 'again');
  assert.equal(messages.length, 206);
  assert.deepEqual(
    logged(messages)
      .slice(201)
      .map(({ fields }) => fields),
    [{ nth: 0, lines_left_out: 800 }, { nth: 1 }, { nth: 2 }, { nth: 3 }, { nth: 4 }],
  );
});

test("lines below the log level are not sent and don't count against the limit", () => {
  const messages: FromWorker[] = [];
  const log = relayedLog('warn', new ManualClock(), (message) => messages.push(message));
  for (let nth = 0; nth < 1_000; nth++) log.info('no');
  log.warn('yes');
  assert.deepEqual(
    logged(messages).map(({ level, message, fields }) => ({ level, message, fields })),
    [{ level: 'warn', message: 'yes', fields: {} }],
  );
});
