import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ManualClock } from '../../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../../shared/runtime/testing/memory-log.ts';
import { ChallengeError, CrashedError, IssueError, UnissuedError } from '../issue-error.ts';
import { type CurrentCertificate, type OrderAttempt, OrderScheduler } from './order-scheduler.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** An issuer with an authority controlled by the test, on a manual clock. */
class Scene {
  readonly clock = new ManualClock();
  readonly log = memoryLog();
  readonly held = new Map<string, CurrentCertificate>();
  readonly attempts = new Map<string, OrderAttempt>();
  readonly orders: { name: string; replaces: string | null; settle: (error?: Error) => void }[] = [];
  readonly received = new Set<ReadonlySet<string>>();
  private uncertifiedNames: ReadonlySet<string> = new Set();
  hint: string | null = null;
  /** The next random number; 0 after that. */
  fractions: number[] = [];
  /** Settles each order at once; null: the test does. */
  answer: ((name: string) => Error | undefined) | null = null;
  readonly issuer: OrderScheduler;

  constructor() {
    this.issuer = new OrderScheduler({
      clock: this.clock,
      random: { bytes: (size) => Buffer.alloc(size), hex: () => '', fraction: () => this.fractions.shift() ?? 0 },
      log: this.log,
      current: (name) => this.held.get(name) ?? null,
      issue: (name, replaces) =>
        new Promise((resolve, reject) => {
          const settle = (error?: Error): void => {
            if (error !== undefined) return reject(error);
            this.hold(name, 90);
            resolve();
          };
          this.orders.push({ name, replaces, settle });
          if (this.answer !== null) settle(this.answer(name));
        }),
      hint: async () => this.hint,
      attempts: {
        get: (name) => this.attempts.get(name) ?? null,
        set: (name, attempt) => {
          if (attempt === null) this.attempts.delete(name);
          else this.attempts.set(name, attempt);
        },
      },
      uncertified: (names) => {
        this.uncertifiedNames = names;
        this.received.add(names);
      },
    });
  }

  get uncertified(): readonly string[] {
    return [...this.uncertifiedNames];
  }

  hold(name: string, days: number, more: Partial<CurrentCertificate> = {}): void {
    const notBefore = this.clock.now();
    this.held.set(name, {
      notBefore,
      notAfter: notBefore + days * DAY,
      savedAt: notBefore,
      automatic: true,
      window: null,
      ariId: null,
      ...more,
    });
  }

  async settle(error?: Error): Promise<void> {
    this.orders.at(-1)?.settle(error);
    await turn();
  }
}

describe('a wanted name', () => {
  test('is ordered immediately, and renewed before it expires with the old certificate named in the order', async () => {
    const scene = new Scene();
    scene.issuer.setNames(['a.test']);
    assert.deepEqual(
      scene.orders.map(({ name, replaces }) => [name, replaces]),
      [['a.test', null]],
    );
    await scene.settle();
    scene.hold('a.test', 90, { ariId: 'akid.serial' });
    scene.issuer.certificateChanged('a.test');
    scene.clock.pass(57 * DAY);
    assert.equal(scene.orders.length, 1);
    for (let days = 0; days < 4; days++) scene.clock.pass(DAY);
    assert.deepEqual(
      scene.orders.map(({ name, replaces }) => [name, replaces]),
      [
        ['a.test', null],
        ['a.test', 'akid.serial'],
      ],
    );
  });

  test('that has a certificate from another source is not ordered', () => {
    const scene = new Scene();
    scene.hold('a.test', 1, { automatic: false });
    scene.issuer.setNames(['a.test']);
    scene.clock.pass(2 * DAY);
    assert.deepEqual(scene.orders, []);
  });

  test('that the certificate of a wildcard has served is ordered when that is gone', () => {
    const scene = new Scene();
    const names = ['a.a.test', 'b.a.test', 'a.b.test', 'a.b.a.test'];
    for (const name of names) scene.hold(name, 1, { automatic: false });
    scene.issuer.setNames([...names, '*.a.test']);
    scene.issuer.setNames([...names.slice(1), '*.a.test']);
    assert.deepEqual(
      scene.orders.map(({ name }) => name),
      ['*.a.test'],
    );
    for (const name of names) scene.held.delete(name);
    scene.issuer.certificateChanged('*.a.test');
    assert.deepEqual(
      scene.orders.map(({ name }) => name),
      ['*.a.test', 'b.a.test'],
    );
  });

  test('that waits for its order when the certificate of a wildcard is back is not ordered', async () => {
    const scene = new Scene();
    const names = Array.from({ length: 100 }, (_, nth) => `h${nth}.a.test`);
    const provide = () => {
      for (const name of [...names, '*.a.test']) scene.hold(name, 90, { automatic: false });
    };
    provide();
    scene.issuer.setNames(names);
    scene.held.clear();
    scene.issuer.certificateChanged('*.a.test');
    const begun = scene.orders.length;
    assert.ok(begun > 0 && begun < names.length);
    provide();
    scene.issuer.certificateChanged('*.a.test');
    for (const { settle } of scene.orders) settle();
    await turn();
    assert.deepEqual([scene.orders.length, scene.uncertified], [begun, []]);
  });

  test('that the certificate of a wildcard serves is ordered when that has expired', async () => {
    const scene = new Scene();
    const names = ['a.a.test', 'b.a.test'];
    for (const name of names) scene.hold(name, 3, { automatic: false });
    scene.issuer.setNames(names);
    scene.clock.pass(3 * DAY - 1);
    scene.held.clear();
    assert.deepEqual(scene.orders, []);
    scene.clock.pass(1);
    assert.deepEqual(
      scene.orders.map(({ name }) => name),
      names,
    );
  });

  test('is ordered once, however often it is requested', () => {
    const scene = new Scene();
    scene.issuer.setNames(['a.test']);
    scene.issuer.setNames(['a.test', 'b.test']);
    scene.issuer.certificateChanged('a.test');
    assert.deepEqual(
      scene.orders.map(({ name }) => name),
      ['a.test', 'b.test'],
    );
  });

  test('that is removed and added again while its order runs is not ordered twice, and waits if that fails', async () => {
    const scene = new Scene();
    scene.issuer.setNames(['a.test']);
    scene.issuer.setNames([]);
    scene.issuer.setNames(['a.test']);
    assert.equal(scene.orders.length, 1);
    await scene.settle(new IssueError('validation', 'no'));
    scene.clock.pass(59_000);
    assert.equal(scene.orders.length, 1);
    scene.clock.pass(1_000);
    assert.equal(scene.orders.length, 2);
  });

  test('is not renewed once it is no longer wanted', async () => {
    const scene = new Scene();
    scene.issuer.setNames(['a.test']);
    await scene.settle();
    scene.issuer.setNames([]);
    scene.clock.pass(80 * DAY);
    assert.equal(scene.orders.length, 1);
  });

  test('does not make handshakes wait between two attempts for its first certificate', async () => {
    const scene = new Scene();
    scene.issuer.setNames(['a.test']);
    assert.deepEqual(scene.uncertified, []);
    await scene.settle(new IssueError('validation', 'no'));
    assert.deepEqual(scene.uncertified, ['a.test']);
    scene.clock.pass(60_000);
    assert.deepEqual(scene.uncertified, []);
    await scene.settle();
    assert.deepEqual(scene.uncertified, []);
    scene.clock.pass(61 * DAY);
    await scene.settle(new IssueError('validation', 'the renewal failed'));
    assert.deepEqual([scene.orders.length, scene.uncertified], [3, []]);
  });

  test('waits longer after each failure, even across a restart', async () => {
    const scene = new Scene();
    scene.issuer.setNames(['a.test']);
    await scene.settle(new IssueError('validation', 'a.test: connection refused'));
    assert.equal(scene.attempts.get('a.test')?.lastError, 'a.test: connection refused');
    scene.clock.pass(59_000);
    assert.equal(scene.orders.length, 1);
    scene.clock.pass(1_000);
    assert.equal(scene.orders.length, 2);
    await scene.settle(new IssueError('validation', 'again'));
    const next = new Scene();
    for (const [name, attempt] of scene.attempts) next.attempts.set(name, { ...attempt, nextTry: next.clock.now() + 300_000 });
    next.issuer.setNames(['a.test']);
    next.clock.pass(299_000);
    assert.equal(next.orders.length, 0);
    next.clock.pass(1_000);
    assert.equal(next.orders.length, 1);
  });
});

test('the preflight hint is added to the message of a failed validation, and to no other failure', async () => {
  const scene = new Scene();
  scene.hint = 'a.test resolves to 203.0.113.9';
  scene.issuer.setNames(['a.test', 'b.test']);
  scene.orders[0]?.settle(new IssueError('validation', 'a.test: connection refused'));
  scene.orders[1]?.settle(new IssueError('refused', 'b.test: no'));
  await turn();
  assert.equal(scene.attempts.get('a.test')?.lastError, 'a.test: connection refused; a.test resolves to 203.0.113.9');
  assert.equal(scene.attempts.get('b.test')?.lastError, 'b.test: no');
  const others = [
    new ChallengeError('no such record', 'dns-01', 'dns'),
    new UnissuedError('not issued so far'),
    new CrashedError('crashed', 1),
  ];
  for (const failure of others) {
    const name = `${failure.message.replaceAll(' ', '-')}.test`;
    scene.issuer.setNames([name]);
    await scene.settle(failure);
    assert.equal(scene.attempts.get(name)?.lastError, failure.message);
  }
});

test('a failed order leaves nothing behind if its name is no longer wanted', async () => {
  const scene = new Scene();
  scene.issuer.setNames(['a.test']);
  scene.issuer.setNames([]);
  await scene.settle(new IssueError('validation', 'no'));
  assert.deepEqual([...scene.attempts], []);
});

test('an order that is backing off is placed immediately on request', async () => {
  const scene = new Scene();
  scene.issuer.setNames(['a.example', 'b.example']);
  assert.equal(scene.issuer.retry('a.example'), false);
  scene.orders[0]?.settle(new IssueError('validation', 'no such host'));
  scene.orders[1]?.settle();
  await turn();
  assert.equal(scene.issuer.retry('b.example'), false);
  assert.equal(scene.issuer.retry('c.example'), false);
  assert.equal(scene.issuer.retry('a.example'), true);
  assert.equal(scene.issuer.retry('a.example'), true);
  assert.deepEqual(
    scene.orders.map(({ name }) => name),
    ['a.example', 'b.example', 'a.example'],
  );
  scene.orders[2]?.settle();
  await turn();
  assert.equal(scene.attempts.has('a.example'), false);
});

for (const kind of ['unreachable', 'validation', 'limited'] as const)
  test(`an order that failed (${kind}) is placed again after at most twice its delay, however far the time of day is set back`, async () => {
    for (const back of [HOUR, DAY, 1_000 * DAY]) {
      const scene = new Scene();
      scene.issuer.setNames(['a.test']);
      await scene.settle(new IssueError(kind, 'a.test: the certificate of the authority has expired'));
      const { delay = 0 } = scene.attempts.get('a.test') ?? {};
      assert.ok(delay > 0);
      scene.clock.jump(-back);
      scene.clock.pass(2 * delay);
      assert.equal(scene.orders.length, 2, `${back / HOUR} h`);
    }
  });

test('a failed attempt that was saved before the time of day was set back delays an order by a day at most', async () => {
  const scene = new Scene();
  const lastError = 'a.test: no response';
  scene.attempts.set('a.test', { failures: 1, nextTry: scene.clock.now() + 1_000 * DAY, lastError });
  scene.attempts.set('b.test', { failures: 1, nextTry: scene.clock.now() + 1_000 * DAY, delay: HOUR, lastError });
  scene.issuer.setNames(['a.test', 'b.test']);
  scene.clock.pass(HOUR);
  assert.deepEqual(
    scene.orders.map(({ name }) => name),
    ['b.test'],
  );
  scene.clock.pass(1.2 * DAY);
  assert.equal(scene.orders.length, 2);
});

test('an order that waits for an unreachable authority is placed immediately on request, too', async () => {
  const scene = new Scene();
  scene.issuer.setNames(['a.example']);
  scene.orders[0]?.settle(new IssueError('unreachable', 'connection refused'));
  await turn();
  assert.equal(scene.issuer.retry('a.example'), true);
  assert.equal(scene.orders.length, 2);
});

test('a name is no longer failing once someone provides its certificate, or another instance has ordered it', async () => {
  for (const more of [{ automatic: false }, { automatic: true }]) {
    const scene = new Scene();
    scene.issuer.setNames(['a.test']);
    await scene.settle(new IssueError('validation', 'a.test: connection refused'));
    assert.deepEqual([...scene.issuer.failing()], ['a.test']);
    scene.clock.pass(1_000);
    scene.hold('a.test', 90, more);
    scene.issuer.certificateChanged('a.test');
    assert.deepEqual([[...scene.issuer.failing()], scene.uncertified], [[], []]);
    scene.clock.pass(DAY);
    assert.equal(scene.orders.length, 1);
  }
});

test('a renewal that is requested and fails again waits longer than before, also if its certificate is younger than its last failure', async () => {
  const scene = new Scene();
  scene.hold('a.test', 90, { window: { start: 1, end: 2 } });
  scene.clock.pass(HOUR);
  const lastError = 'a.test: no';
  scene.attempts.set('a.test', { failures: 5, nextTry: scene.clock.now() + 2.5 * HOUR, delay: 3 * HOUR, lastError });
  scene.issuer.setNames(['a.test']);
  assert.equal(scene.issuer.retry('a.test'), true);
  assert.deepEqual([...scene.issuer.failing()], ['a.test']);
  await scene.settle(new IssueError('validation', lastError));
  assert.equal(scene.attempts.get('a.test')?.failures, 6);
});

test('a renewal that fails waits even if its certificate was stored in the future, before the time of day was set back', async () => {
  const scene = new Scene();
  scene.hold('a.test', 6, { savedAt: scene.clock.now() + 1_000 * DAY });
  scene.issuer.setNames(['a.test']);
  scene.clock.pass(5 * DAY);
  await scene.settle(new IssueError('validation', 'no'));
  await turn();
  assert.deepEqual([scene.orders.length, [...scene.issuer.failing()]], [1, ['a.test']]);
  scene.clock.pass(60_000);
  assert.equal(scene.orders.length, 2);
});

test('orders are counted by result', async () => {
  const scene = new Scene();
  scene.issuer.setNames(['a.test']);
  await scene.settle();
  scene.clock.pass(61 * DAY);
  await scene.settle(new IssueError('limited', 'no'));
  scene.clock.pass(2 * 3_600_000);
  await scene.settle();
  assert.deepEqual(Object.fromEntries(scene.issuer.results), { issued: 1, limited: 1, renewed: 1 });
});

describe('a renewal', () => {
  test('that fails is retried with growing delays, and the failure is reported while the old certificate is served', async () => {
    const scene = new Scene();
    scene.hold('a.test', 6);
    scene.issuer.setNames(['a.test']);
    scene.clock.pass(4 * DAY);
    await scene.settle(new IssueError('validation', 'no'));
    const { renewAt, attempt } = scene.issuer.planFor('a.test') ?? {};
    assert.ok((renewAt ?? Infinity) <= scene.clock.now());
    assert.deepEqual([attempt?.lastError, attempt?.nextTry], ['no', scene.clock.now() + 60_000]);
    scene.clock.pass(60_000);
    await scene.settle(new IssueError('validation', 'no'));
    scene.clock.pass(299_000);
    assert.equal(scene.orders.length, 2);
    scene.clock.pass(1_000);
    assert.equal(scene.orders.length, 3);
    await scene.settle();
    assert.equal(scene.issuer.planFor('a.test')?.attempt, null);
  });

  test('of a certificate valid for an hour is retried several times before it expires, but not during a rate limit', async () => {
    const scene = new Scene();
    scene.hold('a.test', 1 / 24);
    scene.issuer.setNames(['a.test']);
    scene.clock.pass(40 * 60_000);
    for (let minutes = 40; minutes < 60; minutes++) {
      scene.clock.pass(60_000);
      await scene.settle(new IssueError('refused', 'no'));
    }
    assert.ok(scene.orders.length >= 5, `${scene.orders.length} orders`);
    const limited = new Scene();
    limited.hold('a.test', 1 / 24);
    limited.issuer.setNames(['a.test']);
    limited.clock.pass(41 * 60_000);
    await limited.settle(new IssueError('limited', 'no'));
    assert.equal(limited.attempts.get('a.test')?.nextTry, limited.clock.now() + 3_600_000);
  });

  test('starts when a renewal window in the past becomes known, as after a revocation', () => {
    const scene = new Scene();
    scene.hold('a.test', 90);
    scene.issuer.setNames(['a.test']);
    scene.clock.pass(DAY);
    assert.equal(scene.orders.length, 0);
    const window = { start: 1, end: 2 };
    scene.held.set('a.test', { ...(scene.held.get('a.test') as CurrentCertificate), window, ariId: 'key.serial' });
    scene.issuer.certificateChanged('a.test');
    assert.deepEqual(
      scene.orders.map(({ replaces }) => replaces),
      ['key.serial'],
    );
  });

  test('happens only for wanted names, including one that is wanted again', async () => {
    const scene = new Scene();
    scene.hold('a.test', 6);
    scene.issuer.setNames(['a.test']);
    scene.issuer.setNames([]);
    scene.clock.pass(5 * DAY);
    assert.equal(scene.orders.length, 0);
    scene.issuer.setNames(['a.test']);
    assert.equal(scene.orders.length, 1);
  });

  test('of a certificate valid for minutes starts in its last third', () => {
    const scene = new Scene();
    scene.hold('a.test', 6 / (24 * 60));
    scene.issuer.setNames(['a.test']);
    scene.clock.pass(3.7 * 60_000);
    assert.equal(scene.orders.length, 0);
    scene.clock.pass(0.4 * 60_000);
    assert.equal(scene.orders.length, 1);
  });
});

test('an outage of the authority does not extend the backoff of a name', async () => {
  const scene = new Scene();
  scene.issuer.setNames(['a.test']);
  for (let tries = 0; tries < 20; tries++) {
    await scene.settle(new IssueError('unreachable', 'no response'));
    scene.clock.pass(8_000);
  }
  await scene.settle(new IssueError('validation', 'no'));
  assert.equal(scene.attempts.get('a.test')?.nextTry, scene.clock.now() + 60_000);
});

describe('many names', () => {
  test('are ordered ten at a time', async () => {
    const scene = new Scene();
    scene.issuer.setNames(Array.from({ length: 25 }, (_, at) => `site-${at}.test`));
    assert.equal(scene.orders.length, 10);
    await scene.settle();
    assert.equal(scene.orders.length, 11);
  });

  test('wait while the authority is unreachable; one probes it, and when it is back all are ordered', async () => {
    const scene = new Scene();
    scene.issuer.setNames(Array.from({ length: 25 }, (_, at) => `site-${at}.test`));
    for (const { settle } of [...scene.orders]) settle(new IssueError('unreachable', 'no response'));
    await turn();
    const before = scene.orders.length;
    scene.clock.pass(8_000);
    assert.equal(scene.orders.length, before + 1, 'one probes');
    await scene.settle(new IssueError('unreachable', 'no response'));
    scene.clock.pass(8_000);
    await scene.settle();
    assert.ok(scene.orders.length >= before + 2 + 9, `${scene.orders.length - before} since`);
  });

  test('that back off are not copied for each of them, which would take a start with 50,000 of them half a minute', () => {
    const scene = new Scene();
    const names = Array.from({ length: 100 }, (_, at) => `site-${at}.test`);
    for (const name of names) scene.attempts.set(name, { failures: 1, nextTry: scene.clock.now() + HOUR, delay: HOUR, lastError: 'no' });
    scene.issuer.setNames(names);
    assert.deepEqual([scene.uncertified, scene.received.size], [names, 1]);
  });

  test('share a rate limit without asking again and again for each of them, and renewals come first', async () => {
    const scene = new Scene();
    // As at public authorities: 300 orders, and one more every 36 s.
    const left = () => 300 + Math.floor(scene.clock.monotonic() / 36_000) - issued;
    let issued = 0;
    scene.answer = () => {
      if (left() <= 0) return new IssueError('limited', 'too many new orders', 36_000);
      issued++;
      return undefined;
    };
    const names = Array.from({ length: 2_000 }, (_, at) => `site-${at}.test`);
    scene.issuer.setNames(names);
    const turns = async (count: number): Promise<void> => {
      for (let at = 0; at < count; at++) await turn();
    };
    const pass = async (seconds: number): Promise<void> => {
      for (let second = 0; second < seconds; second++) {
        scene.clock.pass(1_000);
        await turns(4);
      }
    };
    await turns(1_000);
    assert.equal(issued, 300);
    await pass(3_600);
    assert.ok(issued >= 390, `${issued} issued`);
    assert.ok(scene.orders.length < 2_500, `${scene.orders.length} orders`);
    assert.equal(scene.issuer.retry('site-1999.test'), true);
    assert.equal(scene.orders.at(-1)?.name, 'site-1999.test', 'one that is requested is placed at once');
    await turns(4);
    const earlier = scene.clock.now() - 3 * DAY;
    scene.hold('renewed.test', 1, { notBefore: earlier, savedAt: earlier });
    scene.issuer.setNames([...names, 'renewed.test']);
    const before = scene.orders.length;
    await pass(40);
    assert.ok(scene.orders.slice(before, before + 15).some(({ name }) => name === 'renewed.test'));
  });

  test('that share a rate limit wait behind one that is requested, even if they are renewals', async () => {
    const scene = new Scene();
    scene.answer = () => new IssueError('limited', 'too many new orders', 36_000);
    const earlier = scene.clock.now() - 3 * DAY;
    const renewals = Array.from({ length: 50 }, (_, at) => `old-${at}.test`);
    for (const name of renewals) scene.hold(name, 1, { notBefore: earlier, savedAt: earlier });
    scene.issuer.setNames([...renewals, 'new.test']);
    for (let turns = 0; turns < 100; turns++) await turn();
    assert.equal(scene.issuer.retry('new.test'), true);
    assert.equal(scene.orders.at(-1)?.name, 'new.test');
  });

  test('that share a rate limit are not all placed at once if it is to end in 0 seconds, and does not', async () => {
    const scene = new Scene();
    scene.answer = () => new IssueError('limited', 'too many new orders', 0);
    scene.issuer.setNames(Array.from({ length: 1_000 }, (_, at) => `site-${at}.test`));
    for (let turns = 0; turns < 4_000; turns++) {
      await turn();
      scene.clock.pass(1);
    }
    assert.ok(scene.orders.length < 20, `${scene.orders.length} orders in 4 s`);
  });

  test('that share a rate limit are still placed one at a time after one that failed here, which says nothing about the limit', async () => {
    const scene = new Scene();
    scene.answer = () => new IssueError('limited', 'too many new orders', 36_000);
    scene.issuer.setNames(Array.from({ length: 30 }, (_, at) => `site-${at}.test`));
    for (let turns = 0; turns < 100; turns++) await turn();
    const before = scene.orders.length;
    scene.answer = () => new IssueError(scene.orders.length === before + 1 ? 'local' : 'limited', 'no', 36_000);
    scene.clock.pass(10_000);
    for (let turns = 0; turns < 100; turns++) await turn();
    assert.equal(scene.orders.length, before + 2);
  });

  test('that wait for a rate limit which others have reached are said to, and no handshake waits for them', async () => {
    const scene = new Scene();
    scene.answer = () => new IssueError('limited', 'too many new orders', 36_000);
    const names = Array.from({ length: 30 }, (_, at) => `site-${at}.test`);
    scene.issuer.setNames(names);
    assert.deepEqual([scene.uncertified, scene.issuer.planFor('site-29.test')?.waitsFor], [[], null]);
    for (let turns = 0; turns < 100; turns++) await turn();
    assert.deepEqual(scene.uncertified.toSorted(), names.toSorted());
    assert.deepEqual(scene.issuer.planFor('site-29.test'), { renewAt: null, attempt: null, waitsFor: 'too many new orders' });
    assert.equal(scene.issuer.planFor('site-0.test')?.waitsFor, null, 'it has failed itself');
    scene.issuer.setNames([...names, 'later.test']);
    assert.ok(scene.uncertified.includes('later.test'));
    scene.answer = () => undefined;
    for (let seconds = 0; seconds < 60; seconds++) {
      scene.clock.pass(1_000);
      await turn();
    }
    assert.deepEqual(scene.uncertified, []);
  });

  test('of a rate limit for one name do not wait for it', async () => {
    const scene = new Scene();
    scene.answer = (name) => (name.startsWith('bad-') ? new IssueError('limited', 'too many failures', DAY) : undefined);
    scene.issuer.setNames(Array.from({ length: 40 }, (_, at) => (at < 20 ? `bad-${at}.test` : `site-${at}.test`)));
    for (let seconds = 0; seconds < 300; seconds++) {
      for (let turns = 0; turns < 4; turns++) await turn();
      scene.clock.pass(1_000);
    }
    assert.equal(scene.held.size, 20);
  });

  test('are retried even if the wall clock and the timer disagree', async () => {
    const scene = new Scene();
    const { now } = scene.clock;
    // The backoff for the authority is longer than that of the name.
    scene.fractions = [1, 0];
    scene.issuer.setNames(['a.test']);
    await scene.settle(new IssueError('unreachable', 'no response'));
    // A system timer may fire a moment before the wall clock reaches its time.
    scene.clock.now = () => now.call(scene.clock) - 1;
    for (let seconds = 0; seconds < 10; seconds++) scene.clock.pass(1_000);
    assert.equal(scene.orders.length, 2);
  });
});
