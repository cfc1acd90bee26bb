import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../shared/runtime/testing/memory-log.ts';
import { desire } from '../desired/desire.ts';
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

test('a certificate that is sent again and again because it can not be stored is logged once, and again after a success', () => {
  const log = memoryLog();
  const report = new Report(new ManualClock(), { controller: 'c', epoch: 1, version: '0', sources: ['file'] }, [ADDRESS]);
  const record = createPushRecorder(ADDRESS, report, log);
  const state = { desired: desire(new Map()), problems: [] };
  for (const result of ['rejected', 'rejected', 'rejected', 'added', 'rejected'] as const) {
    const certificates = [{ domains: ['a.example'], result, reason: 'the disk is full' }];
    record({ kind: 'applied', applied: { instance: 'one', revision: 1, generation: 1, results: [], removed: [], certificates }, state });
  }
  assert.deepEqual(
    log.lines.map(({ message }) => message),
    ['certificate rejected', 'certificate added', 'certificate rejected'],
  );
});
