import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryLog } from '../../shared/runtime/testing/memory-log.ts';
import type { Globals } from '../../shared/settings.ts';
import { LiveSettings } from './live-settings.ts';
import { effectiveSettings, readSettings, withClosedPorts } from './settings.ts';

const NOWHERE = '192.0.2.1';

/** Settings of a file that names 80, 81 and 82, of which 81 and 82 are closed since the start. */
function scene() {
  const base = readSettings(['--workers', '1', '--state-dir', '/nowhere', '--cert-dir', '/nowhere'], {});
  const globals: Globals = { http_port: [80, 81, 82] };
  const taken = new Set([81, 82]);
  const closed = [...taken].map((port) => ({ port, setting: 'http_port' as const, reason: 'taken' }));
  const log = memoryLog();
  const published: (readonly number[])[] = [];
  const probed: string[] = [];
  /** Whether workers don't open the ports, for the next times. */
  const faults: boolean[] = [];
  const live = new LiveSettings(base, withClosedPorts(effectiveSettings(base, globals), closed), {
    log,
    globals,
    publisher: {
      generation: 1,
      publish: ({ settings }) => {
        published.push(settings?.closedPorts ?? []);
        return Promise.resolve(1);
      },
    },
    probePort: (bind, port, shared) => {
      probed.push(`${bind} ${port}${shared ? ' shared' : ''}`);
      if (bind === NOWHERE) return Promise.reject(new Error('no such address'));
      return taken.has(port) && !shared ? Promise.reject(new Error('taken')) : Promise.resolve();
    },
    listenersMoved: () => (faults.shift() ? Promise.reject(new Error('a worker hangs')) : Promise.resolve()),
  });
  const said = () => log.lines.map(({ fields, message }) => `${message} ${JSON.stringify(fields)}`);
  return { live, taken, published, probed, faults, said };
}

const WARNING = 'http_port 82 is closed: taken; it is tried again every 10 s';

test('closed ports are opened one by one as they become free, and nothing is published or said in between', async () => {
  const { live, taken, published, said } = scene();
  await live.retry();
  assert.deepEqual([published, said()], [[], []]);
  taken.delete(81);
  await live.retry();
  assert.deepEqual([published, live.warnings], [[[82]], [WARNING]]);
  taken.delete(82);
  await live.retry();
  await live.retry();
  assert.deepEqual([published, live.warnings], [[[82], []], []]);
  const opened = 'ports that could not be opened are open now';
  assert.deepEqual(said(), [`${opened} {"ports":[81]}`, `${opened} {"ports":[82]}`]);
});

test('closed ports do not prevent other changes, and one that the file names no longer is not opened', async () => {
  const { live, taken, said } = scene();
  await live.apply({ http_port: [80, 82], drain_timeout: 5_000 });
  assert.deepEqual([live.settings.drainTimeoutMs, live.settings.otherHttpPorts, live.warnings], [5_000, [82], [WARNING]]);
  assert.deepEqual(said(), [`${WARNING} {}`]);
  await live.apply({ http_port: 80 });
  taken.clear();
  await live.retry();
  assert.deepEqual([live.settings.closedPorts, live.warnings, said().length], [[], [], 1]);
});

test('a change that a port prevents takes effect once the port is free', async () => {
  const { live, taken } = scene();
  taken.add(90);
  await live.apply({ http_port: 90 });
  await live.retry();
  assert.equal(live.settings.httpPort, 80);
  assert.match(live.warnings.join(), /^http_port is 90 in the config file, but stays 80 81 82: taken/);
  taken.delete(90);
  await live.retry();
  assert.deepEqual([live.settings.httpPort, live.settings.closedPorts, live.warnings], [90, [], []]);
});

test('an address that this machine does not have is tried again without a change or a line of the log, also while a port is closed', async () => {
  const { live, published, probed, said } = scene();
  await live.apply({ http_port: [80, 81, 82], bind: NOWHERE });
  const [warnings, lines] = [live.warnings, said()];
  assert.match(
    warnings.join(),
    /^bind is 192\.0\.2\.1 in the config file, but stays every address: port 80: no such address,http_port 81 is closed/,
  );
  assert.deepEqual(published, [[81, 82]]);
  for (let tries = 0; tries < 3; tries++) await live.retry();
  assert.deepEqual([live.warnings, said(), published.length], [warnings, lines, 1]);
  probed.length = 0;
  await live.apply({ http_port: [80, 81, 82], bind: '127.0.0.2' });
  assert.deepEqual([live.settings.bind, probed], ['127.0.0.2', ['80 shared', '81', '82', '443 shared'].map((port) => `127.0.0.2 ${port}`)]);
});

test('a port that is open is not given up for one that is closed', async () => {
  const { live, taken, published } = scene();
  for (const http_port of [81, [81, 90]]) {
    await live.apply({ http_port });
    await live.retry();
    assert.deepEqual([live.settings.httpPort, published.at(-1)], [80, [81, 82]]);
    assert.match(live.warnings.join(), /but stays 80 81 82: (?:port 81: )?taken/);
  }
  taken.delete(81);
  await live.retry();
  assert.deepEqual([live.settings.httpPort, live.settings.otherHttpPorts, live.warnings], [81, [90], []]);
});

test('a change of ports that a worker did not make is tried again', async () => {
  const { live, faults, said } = scene();
  faults.push(true, true);
  await live.apply({ http_port: [80, 90] });
  const lines = said();
  assert.match(lines.join(), /^http_port is 80 90 in the config file, but stays 80 81 82: a worker hangs/);
  await live.retry();
  assert.deepEqual([live.settings.otherHttpPorts, said()], [[81, 82], lines]);
  await live.retry();
  assert.deepEqual([live.settings.otherHttpPorts, live.warnings], [[90], []]);
});
