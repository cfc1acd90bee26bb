import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../shared/runtime/clock.ts';
import { systemRandom } from '../../shared/runtime/random.ts';
import { memoryLog } from '../../shared/runtime/testing/memory-log.ts';
import { restore } from './disk/restore.ts';
import { LiveTable } from './live-table.ts';
import type { CertificateKeeper } from './table.ts';
import { frameOf, routeOf, ServedRoutes, TemporaryTable } from './testing/temporary-table.ts';

const route = routeOf('a.test', 'up:1', { source: 'file' });

test('certificates of a frame are available before its routes are served, and removed only after its removed routes', async () => {
  using fixture = new TemporaryTable();
  const publisher = new ServedRoutes();
  const events: string[] = [];
  const served = (): string => [...publisher.served.keys()].join() || 'nothing';
  const certificates: CertificateKeeper = {
    store: async () => {
      events.push(`stored while ${served()} is served`);
      return [{ domains: ['a.test'], result: 'added' }];
    },
    remove: async () => {
      events.push(`removed while ${served()} is served`);
      return [];
    },
  };
  const restored = await restore(fixture.folder, systemClock, memoryLog());
  const table = new LiveTable({ restored, publisher, clock: systemClock, random: systemRandom, certificates });
  const outcome = await table.apply(frameOf({}, [route]));
  assert.deepEqual('applied' in outcome && outcome.applied.certificates, [{ domains: ['a.test'], result: 'added' }]);
  await table.apply(frameOf({ revision: 2 }, []));
  assert.deepEqual(events, [
    'stored while nothing is served',
    'removed while a.test is served',
    'stored while a.test is served',
    'removed while nothing is served',
  ]);
  // A stale or repeated frame does not touch certificates.
  await table.apply(frameOf({ revision: 2 }, []));
  assert.ok('refused' in (await table.apply(frameOf({ revision: 1 }, [route]))));
  assert.equal(events.length, 4);
  table.close();
});
