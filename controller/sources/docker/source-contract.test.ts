import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemRandom } from '../../../shared/runtime/random.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import { sourceContract } from '../testing/source-contract.ts';
import { createDockerSource } from './source.ts';
import { fakeId } from './testing/fake-container.ts';
import { FakeEngine } from './testing/fake-engine.ts';

sourceContract('docker', async (t, clock) => {
  const directory = mkdtempSync(join(tmpdir(), 'docker-'));
  const path = join(directory, 'docker.sock');
  const engine = new FakeEngine();
  const settings = { engine: { kind: 'unix', path }, addresses: 'auto', network: null, elsewhere: false } as const;
  const source = createDockerSource({ settings, clock, random: systemRandom, log: memoryLog() });
  t.after(async () => {
    await engine.stop();
    rmSync(directory, { recursive: true });
  });
  await engine.listen(path);
  let number = 0;
  const run = (domain: string, labels: Record<string, string> = {}) => {
    number += 1;
    engine.run({ id: fakeId(number), address: `172.18.0.${number}`, labels: { 'sluice.domain': domain, ...labels } });
  };
  return {
    source,
    set: (...domains) => {
      const known = new Map([...engine.containers].map(([id, { labels }]) => [labels?.['sluice.domain'] ?? '', id]));
      for (const [domain, id] of known) if (!domains.includes(domain)) engine.remove(id);
      for (const domain of domains) if (!known.has(domain)) run(domain);
    },
    addMistaken: (domain) => run(domain, { 'sluice.port': 'http' }),
    fail: () => engine.stop(),
    recover: () => engine.listen(path),
  };
});
