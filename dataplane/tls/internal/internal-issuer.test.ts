import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemRandom } from '../../../shared/runtime/random.ts';
import { ManualClock } from '../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import { InternalIssuer } from './internal-issuer.ts';

const DAY_MS = 86_400_000;

test('a root that expires while the process runs is warned about a month before, with what to do', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'internal-issuer-'));
  const clock = new ManualClock();
  const nothing = async (): Promise<void> => undefined;
  const site = { domain: 'a.test', https: 'internal' } as const;
  const issuer = new InternalIssuer({
    ...{ clock, random: systemRandom, log: memoryLog(), stateDir, reachable: nothing, opened: nothing },
    ...{ sites: () => [site], site: () => site, changed: () => undefined },
  });
  try {
    await issuer.setDefault(false);
    assert.equal(issuer.warning, null);
    clock.jump(3_630 * DAY_MS);
    assert.match(
      issuer.warning ?? '',
      /^the root of the internal authority expires at 20.*; restart the data plane, .*trust that instead$/,
    );
  } finally {
    issuer.stop();
    rmSync(stateDir, { recursive: true, maxRetries: 10 });
  }
});
