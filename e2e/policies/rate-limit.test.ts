import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { until } from '../../shared/runtime/testing/until.ts';
import { Dataplane, Folder, frame, NDJSON } from '../testing/dataplane.ts';
import type { Answer } from '../testing/http.ts';

/** Low enough that a busy machine sends three times as many in a second. */
const LIMIT = 10;
const ATTEMPTS = 20;
const WORKERS = 3;

const second = (): number => Math.floor(Date.now() / 1_000);
const limited = (domain: string) => ({ domain, upstream: null, rate_limit_rps: LIMIT, respond: { status: 200, body: 'in' } });

/** Each request uses a new connection, and the kernel distributes them over the workers. */
const burst = (dataplane: Dataplane, domain: string, count: number): Promise<Answer[]> =>
  Promise.all(Array.from({ length: count }, () => dataplane.visit(domain)));

const admittedOf = (answers: readonly Answer[]): number => answers.filter(({ status }) => status === 200).length;

test('each client and domain is limited separately, and a table swap forgets no counts', async () => {
  using folder = new Folder();
  const flags = ['--trusted-proxies', '127.0.0.1'];
  await using dataplane = await Dataplane.start({ stateDir: folder.path, workers: 1, flags });
  const one = { ...limited('one.test'), rate_limit_rps: 1 };
  await dataplane.admin('POST', '/routes', frame(1, [one, { ...one, domain: 'two.test' }]), NDJSON);
  const from = async (client: string, domain: string) =>
    (await dataplane.visit(domain, '/', { headers: { 'x-forwarded-for': client } })).status;
  let revision = 1;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    await until('a second to begin', () => Date.now() % 1_000 < 100);
    const began = second();
    const client = (number: number) => `203.0.${attempt}.${number}`;
    const before = [await from(client(1), 'one.test'), await from(client(1), 'one.test'), await from(client(2), 'one.test')];
    const other = await from(client(1), 'two.test');
    const changed = { ...one, respond: { status: 200, body: `swap ${++revision}` } };
    await dataplane.admin('POST', '/routes', frame(revision, [changed, { ...one, domain: 'two.test' }]), NDJSON);
    const after = [await from(client(1), 'one.test'), await from(client(3), 'one.test')];
    if (second() !== began) continue;
    assert.deepEqual({ before, other, after }, { before: [200, 429, 200], other: 200, after: [429, 200] });
    return;
  }
  assert.fail(`no attempt of ${ATTEMPTS} fell into one second`);
});

describe('a rate limit', () => {
  const folder = new Folder();
  let dataplane: Dataplane;
  before(async () => {
    dataplane = await Dataplane.start({ stateDir: folder.path, workers: WORKERS });
  });
  after(async () => {
    await dataplane?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('a burst over many connections is admitted up to exactly the limit, over all workers together', async () => {
    const domains = Array.from({ length: ATTEMPTS }, (_, attempt) => `fresh-${attempt}.test`);
    await dataplane.admin('POST', '/routes', frame(1, domains.map(limited)), NDJSON);
    for (const domain of domains) {
      await until('a second to begin', () => Date.now() % 1_000 < 100);
      const began = second();
      const answers = await burst(dataplane, domain, 3 * LIMIT);
      // The exact number is known only for a burst within a single second.
      if (second() !== began) continue;
      assert.equal(admittedOf(answers), LIMIT);
      for (const { status, headers } of answers)
        if (status !== 200) assert.deepEqual([status, headers['retry-after']], [429, '1'], 'the others get Retry-After');
      return;
    }
    assert.fail(`no burst of ${3 * LIMIT} requests fell into one second in ${ATTEMPTS} attempts`);
  });

  test('under steady load every second admits about the limit and never more', async () => {
    await dataplane.admin('POST', '/routes', frame(2, [limited('storm.test')]), NDJSON);
    const began = Date.now();
    let [sent, admitted, refused] = [0, 0, 0];
    const bySecond = new Map<number, number>();
    const passed = (): number => Date.now() - began;
    while (passed() < 4_000 || (refused === 0 && passed() < 60_000)) {
      const before = second();
      const answers = await burst(dataplane, 'storm.test', 20);
      sent += answers.length;
      admitted += admittedOf(answers);
      refused += answers.length - admittedOf(answers);
      if (second() === before) bySecond.set(before, (bySecond.get(before) ?? 0) + admittedOf(answers));
      // Still many times the limit.
      await wait(40);
    }
    for (const [at, count] of bySecond) assert.ok(count <= LIMIT, `${count} in second ${at}`);
    // The first and last second are partial, and each may contain a full limit.
    const seconds = passed() / 1_000;
    assert.ok(admitted <= LIMIT * (seconds + 2), `${admitted} in ${seconds} s`);
    assert.ok(admitted >= Math.min(sent, LIMIT * (seconds - 2)) / 2, `${admitted} of ${sent} in ${seconds} s`);
    assert.ok(refused > 0, 'the limit was exceeded');
  });
});
