import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRoute } from '../../shared/route.ts';
import { systemRandom } from '../../shared/runtime/random.ts';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import { Targets } from '../ledger/targets.ts';
import { CheckSession } from './check-session.ts';
import { Semaphore } from './semaphore.ts';
import { type WantedCheck, wantedChecks } from './wanted-checks.ts';

const ADDRESS = '127.0.0.1:1';

const wantedBy = (domain: string): WantedCheck => {
  const upstreams = [{ address: ADDRESS, id: 'one', state: 'starting' as const, probe: true }];
  const read = readRoute({ domain, upstream: ADDRESS, tls: false, upstreams });
  assert.ok('route' in read);
  const [wanted] = wantedChecks(JSON.stringify(read.route));
  assert.ok(wanted);
  return wanted;
};

test('what the domains of a target want is compared once for all that are published together', () => {
  let comparisons = 0;
  const counted = (wanted: WantedCheck): WantedCheck => ({
    ...wanted,
    get active() {
      comparisons++;
      return wanted.active;
    },
  });
  const session = new CheckSession(wantedBy('first.test'), {
    clock: new ManualClock(),
    lookup: () => undefined,
    random: systemRandom,
    targets: new Targets(Targets.buffer(1), 1),
    semaphore: new Semaphore(1),
    changed: () => undefined,
  });
  for (let number = 0; number < 1_000; number++) session.want(`${number}.test`, [counted(wantedBy(`${number}.test`))]);
  assert.ok(session.settle());
  session.stop();
  assert.ok(comparisons <= 5_000, `${comparisons}`);
  for (let number = 0; number < 1_000; number++) session.want(`${number}.test`, []);
  assert.equal(session.settle(), false);
});
