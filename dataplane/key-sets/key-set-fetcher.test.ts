import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../shared/runtime/testing/memory-log.ts';
import type { PublishedKeySet } from '../traffic/protocol.ts';
import type { FetchedKeys } from './fetch-keys.ts';
import { KeySetFetcher } from './key-set-fetcher.ts';

const pemOf = (): string => generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }) as string;
const KEYS = [{ pem: pemOf(), kid: 'a' }];
const URL_A = 'https://i.test/keys';
const HOUR = 3_600_000;

class Fixture {
  readonly clock: ManualClock;
  readonly log = memoryLog();
  readonly published: (readonly PublishedKeySet[])[] = [];
  readonly fetched: string[] = [];
  answer: () => Promise<FetchedKeys> = async () => ({ keys: KEYS, maxAgeSecs: 600 });
  readonly folder: string;
  readonly sets: KeySetFetcher;

  constructor(folder = mkdtempSync(join(tmpdir(), 'key-sets-')), clock = new ManualClock()) {
    this.folder = folder;
    this.clock = clock;
    this.sets = new KeySetFetcher({
      clock,
      log: this.log,
      path: this.path,
      fetch: ({ url }) => {
        this.fetched.push(url);
        return this.answer();
      },
      publish: (sets) => this.published.push(sets),
    });
  }

  get path(): string {
    return join(this.folder, 'token-keys.json');
  }

  async want(...urls: string[]): Promise<void> {
    const upserts = urls.map((url, index) => {
      const jwt = { key_source: { url, private: false } };
      const route = index % 2 === 0 ? { jwt, handles: [] } : { handles: [{ jwt }] };
      return { domain: `${index}.test`, json: JSON.stringify(route), fetchesKeys: true };
    });
    this.sets.update({ whole: true, upserts, removed: [] });
    await this.settled();
  }

  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 60_000) {
      this.clock.pass(Math.min(left, 60_000));
      await this.settled();
    }
  }

  async settled(): Promise<void> {
    for (let turn = 0; turn < 3; turn++) await nextTurn();
  }

  /** The newest state of the first set. */
  get set(): PublishedKeySet | undefined {
    return this.published.at(-1)?.[0];
  }

  [Symbol.dispose](): void {
    this.sets.stop();
    // A set may still be being saved.
    rmSync(this.folder, { recursive: true, maxRetries: 10 });
  }
}

test('keys are fetched for the sites and blocks that name a URL, once for each URL', async () => {
  using fixture = new Fixture();
  await fixture.want(URL_A, URL_A, 'https://j.test/keys');
  assert.deepEqual(fixture.fetched, [URL_A, 'https://j.test/keys']);
  assert.deepEqual(fixture.set, { name: URL_A, keys: KEYS, triedAt: fixture.clock.now(), failure: null });
  await fixture.want();
  assert.deepEqual(fixture.published.at(-1), []);
  await fixture.pass(HOUR);
  assert.equal(fixture.fetched.length, 2, 'those that no site names are not refreshed');
});

test('keys are fetched again when the issuer says, within bounds', async () => {
  for (const [maxAgeSecs, ms] of [
    [600, 600_000],
    [null, 600_000],
    [0, 60_000],
    [1e9, 86_400_000],
  ] as const) {
    using fixture = new Fixture();
    fixture.answer = async () => ({ keys: KEYS, maxAgeSecs });
    await fixture.want(URL_A);
    await fixture.pass(ms - 1_000);
    assert.equal(fixture.fetched.length, 1);
    await fixture.pass(2_000);
    assert.equal(fixture.fetched.length, 2);
    assert.equal(fixture.published.length, 2, 'the same keys are not published again');
  }
});

test('keys that cannot be fetched again are used for a day, with a warning, and then no more', async () => {
  using fixture = new Fixture();
  await fixture.want(URL_A);
  fixture.answer = () => Promise.reject(new Error('connection refused'));
  await fixture.pass(600_000 + 60_000);
  assert.deepEqual([fixture.set?.keys, fixture.set?.failure], [KEYS, 'connection refused']);
  assert.match(
    fixture.sets.failures('stale')[0] ?? '',
    /cannot be fetched from https:\/\/i\.test\/keys \(connection refused\); those of 2023-/,
  );
  assert.equal(fixture.log.lines.filter(({ level }) => level === 'warn').length, 1);
  const tries = fixture.fetched.length;
  await fixture.pass(HOUR);
  assert.ok(fixture.fetched.length - tries <= 61, 'once a minute at most');
  await fixture.pass(24 * HOUR);
  assert.equal(fixture.set?.keys, null);
  assert.match(fixture.sets.failures('missing')[0] ?? '', /requests to its sites are answered with 503/);
  fixture.answer = async () => ({ keys: KEYS, maxAgeSecs: null });
  await fixture.pass(120_000);
  assert.deepEqual([fixture.set?.keys, fixture.set?.failure, fixture.sets.failures('missing')], [KEYS, null, []]);
});

test('tokens with unknown keys cause one fetch in ten seconds, and workers always hear of it', async () => {
  using fixture = new Fixture();
  await fixture.want(URL_A);
  await fixture.pass(11_000);
  const before = fixture.published.length;
  for (let nth = 0; nth < 1_000; nth++) fixture.sets.wanted(URL_A);
  await fixture.settled();
  assert.equal(fixture.fetched.length, 2);
  assert.equal(fixture.set?.triedAt, fixture.clock.now());
  assert.equal(fixture.published.length, before + 1);
  for (let nth = 0; nth < 1_000; nth++) fixture.sets.wanted(URL_A);
  fixture.sets.wanted('https://unknown.test/');
  await fixture.settled();
  assert.equal(fixture.fetched.length, 2);
  assert.equal(fixture.published.length, before + 2);
});

test('keys stay in use when the clock is set, and tokens with unknown keys still cause a fetch', async () => {
  for (const ms of [30 * 24 * HOUR, -30 * 24 * HOUR]) {
    using fixture = new Fixture();
    await fixture.want(URL_A);
    fixture.clock.jump(ms);
    await fixture.pass(2_000);
    assert.deepEqual(fixture.set?.keys, KEYS);
    fixture.sets.wanted(URL_A);
    await fixture.settled();
    assert.equal(fixture.fetched.length, 2);
    assert.deepEqual([fixture.set?.keys, fixture.set?.triedAt], [KEYS, fixture.clock.now()]);
    fixture.sets.wanted(URL_A);
    await fixture.settled();
    assert.equal(fixture.fetched.length, 2);
  }
});

test('keys survive a restart, and a file that was damaged is not used', async () => {
  using fixture = new Fixture();
  await fixture.want(URL_A);
  await fixture.settled();
  const text = await saved(fixture);
  // It would fetch again when the clock moves, and save.
  fixture.sets.stop();
  assert.equal(statSync(fixture.path).mode & 0o777, 0o600);
  const next = new Fixture(fixture.folder, fixture.clock);
  next.answer = () => Promise.reject(new Error('away'));
  await next.want(URL_A);
  assert.deepEqual([next.set?.keys, next.fetched], [KEYS, []], 'they are still fresh');
  await next.pass(601_000);
  assert.deepEqual([next.set?.keys, next.set?.failure], [KEYS, 'away']);
  for (const damaged of ['', '{', text.replace('BEGIN PUBLIC', 'BEGIN PRIVATE'), text.replace('"kid":"a"', '"kid":1')]) {
    writeFileSync(fixture.path, damaged);
    const after = new Fixture(fixture.folder, fixture.clock);
    after.answer = () => Promise.reject(new Error('away'));
    await after.want(URL_A);
    assert.equal(after.set?.keys, null, damaged.slice(0, 20));
    after.sets.stop();
  }
  next.sets.stop();
});

async function saved({ path, settled }: Fixture): Promise<string> {
  for (;;) {
    try {
      return readFileSync(path, 'utf8');
    } catch {
      await settled();
    }
  }
}

test('a site that is added again has the newest keys, not those from before the start, which may have been withdrawn', async () => {
  using earlier = new Fixture();
  earlier.answer = async () => ({ keys: KEYS, maxAgeSecs: 86_400 });
  await earlier.want(URL_A);
  await saved(earlier);
  earlier.sets.stop();
  const fixture = new Fixture(earlier.folder, earlier.clock);
  const newer = [{ pem: pemOf(), kid: 'b' }];
  fixture.answer = async () => ({ keys: newer, maxAgeSecs: 86_400 });
  await fixture.want(URL_A);
  assert.deepEqual(fixture.set?.keys, KEYS);
  fixture.sets.wanted(URL_A);
  await fixture.settled();
  assert.deepEqual(fixture.set?.keys, newer);
  await fixture.want();
  await fixture.want(URL_A);
  assert.deepEqual(fixture.set?.keys, newer);
  fixture.sets.stop();
});

test('a route that names too many URLs gets no keys for those beyond, and only a few are fetched at once', async () => {
  using fixture = new Fixture();
  let open = 0;
  let most = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  fixture.answer = async () => {
    most = Math.max(most, ++open);
    await promise;
    open--;
    return { keys: KEYS, maxAgeSecs: null };
  };
  await fixture.want(...Array.from({ length: 102 }, (_, nth) => `https://${nth}.test/`));
  assert.equal(most, 4);
  resolve();
  await fixture.pass(120_000);
  const sets = fixture.published.at(-1) ?? [];
  assert.deepEqual([sets.length, sets.filter(({ keys }) => keys !== null).length], [102, 100]);
  assert.equal(fixture.sets.failures('missing').length, 2);
});
