import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { ManualClock } from '../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import { installBackstop, TornStateError, torn } from '../worker/backstop.ts';
import { Faults } from './faults.ts';

function underTest() {
  const clock = new ManualClock();
  const log = memoryLog();
  return { clock, log, faults: new Faults({ clock, log }) };
}

test('faults are counted by what they ended, and the counts are drained once', () => {
  const { faults } = underTest();
  assert.equal(faults.drainCounts(), null);
  faults.note('nothing', new Error('x'));
  faults.note('exchange', new Error('x'));
  faults.note('exchange', new Error('x'));
  assert.deepEqual(faults.drainCounts(), [
    ['exchange', 2],
    ['nothing', 1],
  ]);
  assert.equal(faults.drainCounts(), null);
});

test('twenty faults a minute are logged with their stack, and the next line counts the suppressed ones', () => {
  const { clock, log, faults } = underTest();
  for (let nth = 0; nth < 50; nth++) faults.note('exchange', new Error(`fault ${nth}`), { host: 'a.test' });
  assert.equal(log.lines.length, 20);
  assert.match(JSON.stringify(log.lines[0]), /"host":"a\.test".*fault 0.*faults\.test\.ts/);
  clock.pass(60_000);
  faults.note('connection', 'not even an error');
  assert.deepEqual(log.lines[20]?.fields, { ended: 'connection', error: 'not even an error', not_logged: 30 });
});

test('any thrown value can be described, even one without a message', () => {
  const { log, faults } = underTest();
  for (const thrown of [undefined, null, Symbol('x'), Object.create(null)]) faults.note('nothing', thrown);
  assert.deepEqual(
    log.lines.map(({ fields }) => 'error' in fields && fields.error),
    ['undefined', 'null', 'Symbol(x)', 'an exception that cannot be described'],
  );
});

test('the backstop keeps the thread after an unowned exception, and ends it after one that may have corrupted shared state', () => {
  const { log, faults } = underTest();
  const exits: number[] = [];
  const thread = Object.assign(new EventEmitter(), { exit: (code: number) => exits.push(code) });
  installBackstop(thread, faults);
  thread.emit('uncaughtException', new Error('in a library'));
  thread.emit('unhandledRejection', new Error('in a promise'));
  assert.deepEqual([exits, faults.drainCounts()], [[], [['nothing', 2]]]);
  assert.throws(() => torn(new Error('half a table')), TornStateError);
  thread.emit('unhandledRejection', new TornStateError('', { cause: new Error('half a table') }));
  assert.deepEqual(exits, [1]);
  assert.match(JSON.stringify(log.lines.at(-1)), /half a table.*"worker_ends":true|"worker_ends":true.*half a table/);
});
