import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../shared/runtime/testing/memory-log.ts';
import { desire } from '../desired/desire.ts';
import { sampleListing } from '../desired/testing/sample-listing.ts';
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

test('an address of a data plane that is used at another one is logged once, the status says so, and the controller is ready without it', () => {
  const log = memoryLog();
  const report = new Report(new ManualClock(), { controller: 'c', epoch: 1, version: '0', sources: ['file'] }, [ADDRESS, '127.0.0.1:6190']);
  const state = { desired: desire(new Map([['file', { listing: sampleListing(['a.example']), errors: [] }]])), problems: [] };
  report.built(state);
  createPushRecorder(
    ADDRESS,
    report,
    log,
  )({
    kind: 'applied',
    applied: { instance: 'one', revision: 1, generation: 1, results: [], removed: [] },
    state,
  });
  assert.equal(report.readiness().ready, false);
  const record = createPushRecorder('127.0.0.1:6190', report, log);
  for (let times = 0; times < 3; times++) record({ kind: 'duplicate', of: ADDRESS });
  assert.deepEqual(
    log.lines.map(({ message }) => message),
    ['two addresses lead to the same data plane'],
  );
  assert.equal(report.full().dataplanes[1]?.last_error, `it is the data plane of ${ADDRESS}: name each data plane once`);
  assert.equal(report.readiness().ready, true);
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
