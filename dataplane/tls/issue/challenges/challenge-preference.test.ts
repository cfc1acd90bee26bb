import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ManualClock } from '../../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../../shared/runtime/testing/memory-log.ts';
import { ChallengePreference, isWorthTrying } from './challenge-preference.ts';

class Scene {
  readonly folder = mkdtempSync(join(tmpdir(), 'checks-'));
  readonly clock = new ManualClock();

  start(dns = false): ChallengePreference {
    const preference = new ChallengePreference(this.folder, this.clock, memoryLog());
    preference.allowDns(dns);
    return preference;
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, maxRetries: 10 });
  }
}

describe('a name is validated', () => {
  test('over HTTP-01 first, then TLS-ALPN-01, and at most twice per attempt', () => {
    using scene = new Scene();
    for (const dns of [false, true]) assert.deepEqual(scene.start(dns).typesFor('a.test'), ['http-01', 'tls-alpn-01']);
  });

  test('with the challenge that last worked, even after a restart', async () => {
    using scene = new Scene();
    const before = scene.start(true);
    before.worked('a.test', 'tls-alpn-01');
    before.worked('b.test', 'dns-01');
    before.worked('c.test', 'dns-01');
    before.worked('c.test', 'http-01');
    assert.deepEqual(before.typesFor('a.test'), ['tls-alpn-01', 'http-01']);
    scene.clock.pass(1_000);
    for (const end = performance.now() + 60_000; ; ) {
      const after = scene.start(true);
      if (after.typesFor('a.test')[0] === 'tls-alpn-01' || performance.now() > end) {
        assert.deepEqual(
          ['a.test', 'b.test', 'c.test'].map((name) => after.typesFor(name)[0]),
          ['tls-alpn-01', 'dns-01', 'http-01'],
        );
        break;
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.deepEqual(scene.start(false).typesFor('b.test'), ['http-01', 'tls-alpn-01'], 'records can no longer be set');
  });

  test('with the challenge that an earlier process was at, whose order goes on', () => {
    using scene = new Scene();
    const preference = scene.start();
    preference.worked('a.test', 'http-01');
    assert.deepEqual(preference.typesFor('a.test', 'tls-alpn-01'), ['tls-alpn-01', 'http-01']);
  });

  test('over DNS only if it is a wildcard', () => {
    using scene = new Scene();
    assert.deepEqual(scene.start(true).typesFor('*.a.test'), ['dns-01']);
  });

  test('over DNS in the attempt after one in which everything else failed', () => {
    using scene = new Scene();
    const preference = scene.start(true);
    preference.failed('a.test', 'http-01');
    preference.failed('a.test', 'tls-alpn-01');
    assert.deepEqual(preference.typesFor('a.test'), ['dns-01', 'http-01']);
    assert.deepEqual(preference.typesFor('b.test'), ['http-01', 'tls-alpn-01']);
    preference.failed('a.test', 'dns-01');
    preference.failed('a.test', 'http-01');
    assert.deepEqual(preference.typesFor('a.test'), ['tls-alpn-01', 'dns-01']);
    preference.worked('a.test', 'http-01');
    assert.deepEqual(preference.typesFor('a.test'), ['http-01', 'tls-alpn-01']);
  });
});

test('TLS-ALPN-01 is tried if port 80 is unreachable but not if it answers wrongly, and DNS-01 after any failure', () => {
  assert.ok(isWorthTrying('tls-alpn-01', 'http-01', 'connection'));
  for (const problem of ['unauthorized', 'dns', null]) {
    assert.equal(isWorthTrying('tls-alpn-01', 'http-01', problem), false);
    assert.ok(isWorthTrying('dns-01', 'http-01', problem));
    assert.ok(isWorthTrying('http-01', 'tls-alpn-01', problem));
  }
});
