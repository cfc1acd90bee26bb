import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { fakeId } from '../controller/sources/docker/testing/fake-container.ts';
import { FakeEngine } from '../controller/sources/docker/testing/fake-engine.ts';
import type { ControllerReport } from '../controller/status/report.ts';
import { Folder } from './harness/dataplane.ts';
import { ask, visit } from './harness/http.ts';
import { freePort } from './harness/ports.ts';
import { Program, run, SLUICE } from './harness/process.ts';
import { until } from './harness/until.ts';
import { Upstream } from './harness/upstream.ts';

/** The pair with a fake container engine, whose containers are servers of the test on loopback ports. */
async function started() {
  const folder = new Folder();
  const engine = new FakeEngine();
  await engine.listen(folder.file('engine.sock'));
  const [http, admin, status] = [await freePort(), await freePort(), await freePort()];
  const ports = ['--http-port', `${http}`, '--admin-listen', `127.0.0.1:${admin}`, '--listen', `127.0.0.1:${status}`];
  const args = [
    'run',
    '--docker',
    folder.file('engine.sock'),
    '--bind',
    '127.0.0.1',
    '--workers',
    '2',
    '--state-dir',
    folder.file('state'),
  ];
  const program = new Program(SLUICE, [...args, ...ports]);
  const socket = folder.file('state/admin.sock');
  await until('the pair to be ready', async () => (await ask({ port: status }, '/ready')).status === 200, 20_000);
  return {
    engine,
    [Symbol.asyncDispose]: async () => {
      await program[Symbol.asyncDispose]();
      await engine.stop();
      folder[Symbol.dispose]();
    },
    restart: () => engine.listen(folder.file('engine.sock')),
    answers: (host: string, expected: number) =>
      until(`${host} to answer ${expected}`, async () => (await visit(http, host)).status === expected),
    report: async () => JSON.parse((await ask({ socketPath: folder.file('state/controller.sock') }, '/status')).text) as ControllerReport,
    command: async (...words: string[]) => (await run([...words, '--admin', `unix:${socket}`])).stdout,
  };
}

const app = (number: number, port: number, labels: Record<string, string>) => ({
  id: fakeId(number),
  name: `app-${number}`,
  address: '127.0.0.1',
  port,
  labels,
});

describe('with a container engine', () => {
  let pair: Awaited<ReturnType<typeof started>>;
  let upstream: Upstream;
  before(async () => {
    upstream = await Upstream.start('app');
    pair = await started();
  });
  after(async () => {
    await pair?.[Symbol.asyncDispose]();
    await upstream?.[Symbol.asyncDispose]();
  });

  test('a started container is served in less than half a second, without a config file', async (t) => {
    const { engine, answers } = pair;
    const times: number[] = [];
    for (let number = 1; number <= 3; number++) {
      const before = performance.now();
      engine.run(app(number, upstream.port, { 'sluice.domain': `s${number}.example` }));
      await answers(`s${number}.example`, 200);
      times.push(performance.now() - before);
    }
    t.diagnostic(times.map(Math.round).join(', '));
    // Other load on the machine slows down single runs, so the best one counts.
    assert.ok(Math.min(...times) < 500, `served after ${times.map(Math.round).join(', ')} ms`);
    engine.die(fakeId(1));
    await answers('s1.example', 503);
    await answers('s2.example', 200);
  });

  test('status and explain show the state of every labelled container, the reason, and what would change it', async () => {
    const { engine, answers, command, report } = pair;
    engine.run(app(11, upstream.port, { 'sluice.domain': 'good.example' }));
    engine.run({ ...app(12, upstream.port, { 'sluice.domain': 'sick.example' }), health: 'unhealthy' });
    engine.run(app(13, upstream.port, { 'sluice.domain': 'bad.example', 'sluice.rate_limit': 'plenty' }));
    await answers('good.example', 200);
    await answers('sick.example', 503);
    await answers('bad.example', 404);
    const status = await command('status');
    assert.match(status, /^app-11 +good\.example +127\.0\.0\.1:\d+ +accepted, resolved, programmed /m);
    assert.match(status, /^app-12 +sick\.example .* accepted, not resolved .*HEALTHCHECK fails; what would change it: /m);
    assert.match(status, /^app-13 +bad\.example +- +not accepted .*sluice\.rate_limit "plenty"/m);
    assert.match(await command('explain', 'sick.example'), /^ {2}containers +app-12 \(00000000000c\): accepted, not resolved since /m);
    assert.match(await command('explain', 'bad.example'), /^ {2}containers +app-13 \(00000000000d\): not accepted since /m);
    const { containers } = await report();
    assert.deepEqual(
      containers.slice(-3).map(({ container, accepted, resolved }) => [container, accepted.holds, resolved.holds]),
      [
        ['app-11', true, true],
        ['app-12', true, false],
        ['app-13', false, false],
      ],
    );
  });

  test('routes survive an outage of the engine, and changes made meanwhile are found when it is back', async () => {
    const { engine, answers, report, restart } = pair;
    engine.run(app(21, upstream.port, { 'sluice.domain': 'stays.example' }));
    engine.run(app(22, upstream.port, { 'sluice.domain': 'goes.example' }));
    await answers('stays.example', 200);
    await answers('goes.example', 200);
    await engine.stop();
    await until('the failure to be known', async () => (await report()).problems.some(({ code }) => code === 'source_failed'));
    await answers('stays.example', 200);
    await answers('goes.example', 200);
    engine.containers.delete(fakeId(22));
    await restart();
    await answers('goes.example', 503);
    await answers('stays.example', 200);
    assert.ok(!(await report()).problems.some(({ code }) => code === 'source_failed'));
  });
});
