import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import { Faults } from './faults.ts';
import { type AnswerSink, InternalExchange, type InternalRequest } from './internal-exchange.ts';
import type { Responder } from './responder.ts';

const REQUEST: InternalRequest = {
  ...{ method: 'GET', target: '/', host: 'a.test', hostField: 'a.test', fields: 'Host: a.test\r\n', forwarding: '' },
  ...{ address: '192.0.2.1', local: null, hops: 0, port: 80, secure: false, body: null, bindsConnection: false },
};

test('a sink that throws when its response fails is notified again, since its clients wait for nothing else', () => {
  const clock = new ManualClock();
  const faults = new Faults({ clock, log: memoryLog() });
  const responder: Responder = { respond: (x) => x.client.abort(x), explain: () => ({ answeredBy: null, words: '' }) };
  const reasons: string[] = [];
  const sink: AnswerSink = {
    head: () => undefined,
    body: () => true,
    end: () => undefined,
    failed: (reason) => {
      if (reasons.push(reason) === 1) throw new Error('thrown by the test');
    },
  };
  new InternalExchange(REQUEST, sink, responder, { faults, monotonic: () => clock.monotonic() }).start();
  assert.deepEqual(reasons, Array(2).fill('the response was cut off'));
  assert.deepEqual(faults.drainCounts(), [['exchange', 1]]);
});
