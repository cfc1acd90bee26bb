import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { makeChain, makePair, type PairWish } from '../../shared/certificates/testing/pairs.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../shared/runtime/testing/memory-log.ts';
import { OwnCertificate } from './own-certificate.ts';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** A folder with the two files, and a manual clock. */
function scene(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'own-certificate-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const paths = { certificate: join(folder, 'tls.crt'), privateKey: join(folder, 'tls.key') };
  const clock = new ManualClock();
  const log = memoryLog();
  const make = (names: string[], wish: PairWish = {}) => makePair(names, { notBefore: clock.now() - DAY_MS, ...wish });
  const write = async (names: string[], wish: PairWish = {}) => {
    const pair = await make(names, wish);
    writeFileSync(paths.certificate, pair.certificate);
    writeFileSync(paths.privateKey, pair.privateKey);
    return pair;
  };
  const open = (where = paths): OwnCertificate => {
    const read = OwnCertificate.read(where, { clock, log });
    if (!read.ok) throw new assert.AssertionError({ message: read.reason });
    t.after(() => read.value.stop());
    read.value.watch();
    return read.value;
  };
  const refusal = (where = paths): string => {
    const read = OwnCertificate.read(where, { clock, log });
    return read.ok ? assert.fail('it was accepted') : read.reason;
  };
  return { folder, paths, clock, log, make, write, open, refusal };
}

test('the certificate covers its names, one label per wildcard, its addresses in any spelling, and nothing else', async (t) => {
  const { write, open } = scene(t);
  await write(['admin.test', '*.nodes.test', '192.0.2.7', '2001:db8::7']);
  const certificate = open();
  for (const host of ['admin.test', 'a.nodes.test', '192.0.2.7', '2001:db8::7', '2001:db8:0:0::7'])
    assert.equal(certificate.isFor(host), true, host);
  for (const host of ['test', 'nodes.test', 'a.b.nodes.test', '192.0.2.8', '127.0.0.1', 'localhost'])
    assert.equal(certificate.isFor(host), false, host);
  assert.deepEqual(certificate.warnings, []);
});

test('unusable files are rejected with their name and what to do', async (t) => {
  const { write, refusal, paths } = scene(t);
  assert.match(refusal(), /tls\.crt is missing; put it there$/);
  await write(['a.test']);
  const other = await makePair(['a.test']);
  writeFileSync(paths.privateKey, other.privateKey);
  assert.match(
    refusal(),
    /tls\.key: the key does not belong to the certificate in \S+tls\.crt; use the key that the certificate was issued for$/,
  );
  writeFileSync(paths.privateKey, 'nonsense');
  assert.match(refusal(), /tls\.key: it contains no private key/);
  writeFileSync(paths.certificate, 'nonsense');
  writeFileSync(paths.privateKey, other.privateKey);
  assert.match(refusal(), /tls\.crt: it contains no certificate/);
  rmSync(paths.privateKey);
  mkdirSync(paths.privateKey);
  assert.match(refusal(), /tls\.key is not a file; put the file there$/);
});

test('a key that this user may not read is rejected with its name', async (t) => {
  const { write, refusal, paths } = scene(t);
  await write(['a.test']);
  chmodSync(paths.privateKey, 0);
  chmodSync(dirname(paths.privateKey), 0o755);
  // Root may read everything, but the user `nobody` may not.
  if (process.getuid?.() === 0) process.seteuid?.(65_534);
  try {
    assert.match(refusal(), /tls\.key can't be read \(permission denied\); give it to the user that this process runs as/);
  } finally {
    process.seteuid?.(process.getuid?.() ?? 0);
  }
});

test('an expired or not yet valid certificate is accepted at startup, and a warning says what to do', async (t) => {
  const { write, open, log, clock } = scene(t);
  const now = clock.now();
  await write(['a.test'], { notBefore: now - 9 * DAY_MS, notAfter: now - DAY_MS });
  assert.match(
    open().warnings.join(),
    /^the certificate of the Admin API in \S+tls\.crt has expired \(.*\), so clients reject it; put a renewed certificate there/,
  );
  await write(['a.test'], { notBefore: now + DAY_MS, notAfter: now + 9 * DAY_MS });
  assert.match(open().warnings.join(), /is not valid before .*; correct the clock of this machine, or wait$/);
  assert.equal(log.lines.filter(({ level }) => level === 'warn').length, 2);
});

test('a warning is logged once before the certificate expires, and disappears when it is renewed', async (t) => {
  const { write, open, log, clock } = scene(t);
  const now = clock.now();
  await write(['a.test'], { notBefore: now, notAfter: now + 100 * MINUTE_MS });
  const certificate = open();
  clock.pass(90 * MINUTE_MS);
  assert.deepEqual(certificate.warnings, []);
  clock.pass(MINUTE_MS);
  assert.match(certificate.warnings.join(), /expires soon/);
  clock.pass(3 * MINUTE_MS);
  assert.equal(log.lines.filter(({ message }) => message.includes('expires soon')).length, 1);
  await write(['a.test'], { notBefore: clock.now(), notAfter: clock.now() + 100 * MINUTE_MS });
  clock.pass(MINUTE_MS);
  assert.deepEqual(certificate.warnings, []);
});

test('a new pair is loaded once both files match; until then the previous pair stays, and the log says why', async (t) => {
  const { make, write, open, log, clock, paths } = scene(t);
  await write(['old.test']);
  const certificate = open();
  const before = certificate.context;
  const fresh = await make(['new.test']);
  writeFileSync(paths.certificate, fresh.certificate);
  clock.pass(MINUTE_MS);
  assert.deepEqual([certificate.isFor('old.test'), certificate.context === before], [true, true]);
  assert.match(
    certificate.warnings.join(),
    /^the new certificate of the Admin API is not used and the previous one stays: \S+tls\.key: the key does not belong to/,
  );
  assert.equal(log.lines.filter(({ level }) => level === 'warn').length, 1);
  writeFileSync(paths.privateKey, fresh.privateKey);
  clock.pass(MINUTE_MS);
  assert.deepEqual([certificate.isFor('old.test'), certificate.isFor('new.test'), certificate.context === before], [false, true, false]);
  assert.deepEqual(certificate.warnings, []);
  clock.pass(3 * MINUTE_MS);
  assert.equal(log.lines.filter(({ message }) => message === 'the Admin API uses a new certificate').length, 1);
});

test('an expired, truncated or missing pair never replaces a good one', async (t) => {
  const { write, open, clock, paths } = scene(t);
  const good = await write(['good.test']);
  const certificate = open();
  const stays = (why: RegExp) => {
    clock.pass(MINUTE_MS);
    assert.equal(certificate.isFor('good.test'), true);
    assert.match(certificate.warnings.join(), why);
  };
  await write(['bad.test'], { notBefore: clock.now() - 9 * DAY_MS, notAfter: clock.now() - DAY_MS });
  stays(/tls\.crt: it has expired/);
  await write(['bad.test'], { notBefore: clock.now() + 9 * DAY_MS, notAfter: clock.now() + 99 * DAY_MS });
  stays(/tls\.crt: it is not valid before/);
  writeFileSync(paths.certificate, good.certificate.slice(0, 90));
  stays(/cut off/);
  rmSync(paths.certificate);
  stays(/tls\.crt is missing/);
  writeFileSync(paths.certificate, good.certificate);
  writeFileSync(paths.privateKey, good.privateKey);
  clock.pass(MINUTE_MS);
  assert.deepEqual(certificate.warnings, []);
});

test('symbolic links are followed, as certbot and mounted secrets use them', async (t) => {
  const { folder, make, open, clock } = scene(t);
  const lay = async (version: string, name: string) => {
    const pair = await make([name]);
    mkdirSync(join(folder, version));
    writeFileSync(join(folder, version, 'tls.crt'), pair.certificate);
    writeFileSync(join(folder, version, 'tls.key'), pair.privateKey);
    symlinkSync(version, join(folder, '..new'));
    renameSync(join(folder, '..new'), join(folder, '..data'));
  };
  await lay('..1', 'old.test');
  for (const name of readdirSync(join(folder, '..1'))) symlinkSync(join('..data', name), join(folder, name));
  const certificate = open();
  await lay('..2', 'new.test');
  clock.pass(MINUTE_MS);
  assert.equal(certificate.isFor('new.test'), true);
});

test('a change is noticed immediately if the system reports it', async (t) => {
  const { write, paths, log } = scene(t);
  const good = { notBefore: Date.now() - DAY_MS };
  await write(['old.test'], good);
  const read = OwnCertificate.read(paths, { clock: systemClock, log });
  assert.ok(read.ok);
  const certificate = read.value;
  t.after(() => certificate.stop());
  certificate.watch();
  await write(['new.test'], good);
  // The periodic check would run only after a minute.
  const end = performance.now() + MINUTE_MS;
  while (!certificate.isFor('new.test') && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(certificate.isFor('new.test'), true);
});

test('a chain in any order is presented in the right order', async (t) => {
  const { paths, open } = scene(t);
  const { root, middle, leaf } = await makeChain(['a.test']);
  writeFileSync(paths.certificate, root.certificate + middle.certificate + leaf.certificate);
  writeFileSync(paths.privateKey, leaf.privateKey);
  assert.equal(open().isFor('a.test'), true);
});
