import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../shared/runtime/testing/memory-log.ts';
import { createPushRecorder } from './push-recorder.ts';
import { Report } from './report.ts';

const ADDRESS = 'unix:/run/admin.sock';

test('a frame that is refused again and again is logged once, and the status says why', () => {
  const log = memoryLog();
  const report = new Report(new ManualClock(), { controller: 'c', epoch: 1, version: '0', sources: ['file'] }, [ADDRESS]);
  const record = createPushRecorder(ADDRESS, report, log);
  const refused = () => {
    record({ kind: 'refused', error: '503: not saved: database or disk is full' });
    record({ kind: 'disconnected', reason: 'the data plane ended the stream', away: false });
  };
  for (let tries = 0; tries < 3; tries++) refused();
  assert.deepEqual(
    log.lines.map(({ message }) => message),
    ['the data plane refused a frame'],
  );
  assert.match(report.full().dataplanes[0]?.last_error ?? '', /503: not saved/);
  record({ kind: 'disconnected', reason: 'connection reset', away: true });
  refused();
  assert.deepEqual(
    log.lines.map(({ message }) => message),
    ['the data plane refused a frame', 'the data plane is unavailable; retrying', 'the data plane refused a frame'],
  );
});
