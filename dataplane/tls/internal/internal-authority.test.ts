import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { type AddressInfo, isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect, createServer } from 'node:tls';
import { type Certificate, readCertificate } from '../../../shared/certificates/certificate.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { systemRandom } from '../../../shared/runtime/random.ts';
import { ManualClock } from '../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import { InternalAuthority, type InternalCertificate } from './internal-authority.ts';

const DAY_MS = 86_400_000;

class State {
  readonly folder = mkdtempSync(join(tmpdir(), 'internal-'));
  readonly log = memoryLog();
  readonly told: string[] = [];

  open(clock: Clock = systemClock): Promise<InternalAuthority> {
    return InternalAuthority.open(this.folder, { clock, random: systemRandom, log: this.log }, (name, certificate) =>
      this.told.push(`${name} ${certificate === null ? 'gone' : 'new'}`),
    );
  }

  write(name: string, text: string): string {
    writeFileSync(join(this.folder, name), text);
    return join(this.folder, name);
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, maxRetries: 10 });
  }
}

async function leafOf(authority: InternalAuthority, name: string): Promise<Certificate> {
  await authority.setNames([name]);
  return authority.get(name) ?? assert.fail(`no certificate for ${name}`);
}

const LONG = `${'a'.repeat(60)}.${'b'.repeat(60)}.test`;

test('openssl verifies leaves for exact names, wildcards, addresses, localhost and long names, and for no other names', async () => {
  using state = new State();
  const authority = await state.open();
  const root = state.write('root.pem', authority.root);
  for (const [name, asked, stranger] of [
    ['a.test', 'a.test', 'b.test'],
    ['*.a.test', 'x.a.test', 'a.test'],
    ['localhost', 'localhost', 'a.localhost'],
    ['192.0.2.1', '192.0.2.1', '192.0.2.2'],
    ['2001:db8::1', '2001:db8::1', '2001:db8::2'],
    [LONG, LONG, 'a.test'],
  ] as const) {
    const { chain } = await leafOf(authority, name);
    const leaf = state.write('leaf.pem', chain);
    const verify = (host: string): string => {
      const flag = isIP(host) === 0 ? '-verify_hostname' : '-verify_ip';
      const strict = ['-x509_strict', '-purpose', 'sslserver', '-no-CApath', '-no-CAstore'];
      return execFileSync('openssl', ['verify', ...strict, '-CAfile', root, flag, host, leaf], { encoding: 'utf8', stdio: 'pipe' });
    };
    assert.match(verify(asked), /leaf\.pem: OK/);
    assert.throws(() => verify(stranger), /mismatch/);
  }
});

test('a TLS client that trusts only the root completes a handshake for every kind of name', async () => {
  using state = new State();
  const authority = await state.open();
  for (const [name, asked] of [
    ['a.test', 'a.test'],
    ['*.a.test', 'x.a.test'],
    ['localhost', 'localhost'],
    ['127.0.0.1', '127.0.0.1'],
  ] as const) {
    const { chain, privateKey } = await leafOf(authority, name);
    const server = createServer({ cert: chain, key: privateKey }, (socket) => socket.end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise<void>((resolve, reject) => {
      const naming = isIP(asked) === 0 ? { servername: asked } : {};
      const socket = connect({ host: '127.0.0.1', port, ca: authority.root, ...naming });
      socket.once('secureConnect', () => resolve(void socket.end())).once('error', reject);
    });
    await new Promise((resolve) => server.close(resolve));
  }
});

test('the root is kept across restarts, readable only by its owner, valid for ten years, and signs only leaves', async () => {
  using state = new State();
  const { root } = await state.open();
  assert.equal((await state.open()).root, root);
  const modes = readdirSync(state.folder).map((file) => [file, statSync(join(state.folder, file)).mode & 0o777]);
  assert.deepEqual(modes.sort(), [
    ['internal-root.pem', 0o600],
    ['sluice-internal-root.crt', 0o644],
  ]);
  assert.equal(readFileSync(join(state.folder, 'sluice-internal-root.crt'), 'utf8'), root);
  const parsed = new X509Certificate(root);
  assert.equal(parsed.ca, true);
  assert.ok(Math.abs(parsed.validToDate.getTime() - Date.now() - 3_652 * DAY_MS) < 3 * DAY_MS);
  assert.doesNotMatch(root, /PRIVATE/);
});

test('a root that is damaged or expires within a month is renamed and replaced, and that is logged', async () => {
  using state = new State();
  const clock = new ManualClock();
  const { root } = await state.open(clock);
  const path = join(state.folder, 'internal-root.pem');
  writeFileSync(path, readFileSync(path, 'utf8').slice(0, 300));
  const second = (await state.open(clock)).root;
  assert.notEqual(second, root);
  clock.jump(3_630 * DAY_MS);
  assert.notEqual((await state.open(clock)).root, second);
  assert.equal(readdirSync(state.folder).filter((name) => name.includes('.old-')).length, 2);
  assert.equal(state.log.lines.filter(({ message }) => /trusted again/.test(message)).length, 2);
});

test('a root that is a link to a disk that is not mounted is not replaced, and used once it is', async () => {
  using state = new State();
  const { root } = await state.open();
  const [path, elsewhere] = [join(state.folder, 'internal-root.pem'), join(state.folder, 'elsewhere.pem')];
  renameSync(path, elsewhere);
  symlinkSync('mounted.pem', path);
  await assert.rejects(state.open(), { code: 'ENOENT' });
  renameSync(elsewhere, join(state.folder, 'mounted.pem'));
  assert.equal((await state.open()).root, root);
});

test('sites have certificates although the copy of the root cannot be written, and that is logged', async () => {
  using state = new State();
  const { root } = await state.open();
  const copy = join(state.folder, 'sluice-internal-root.crt');
  rmSync(copy);
  mkdirSync(join(copy, 'in-the-way'), { recursive: true });
  const authority = await state.open();
  assert.equal(authority.root, root);
  assert.deepEqual((await leafOf(authority, 'a.test')).domains, ['a.test']);
  assert.match(JSON.stringify(state.log.lines), /could not be written where it can be copied from/);
});

test('a leaf is valid for 7 days, renewed after two thirds with a new key, and dropped when it is no longer wanted', async () => {
  using state = new State();
  const clock = new ManualClock();
  const authority = await state.open(clock);
  await authority.setNames(['a.test', 'b.test']);
  const first = authority.get('a.test') ?? assert.fail();
  assert.equal(first.notAfter, clock.now() + 7 * DAY_MS);
  clock.pass(4.5 * DAY_MS);
  await authority.setNames(['a.test', 'b.test']);
  assert.equal(authority.get('a.test'), first);
  clock.pass(0.25 * DAY_MS);
  await authority.setNames(['a.test']);
  const second = authority.get('a.test') ?? assert.fail();
  assert.notEqual(second.privateKey, first.privateKey);
  assert.notEqual(second.serial, first.serial);
  assert.equal(second.notAfter > first.notAfter, true);
  assert.equal(authority.get('b.test'), null);
  assert.deepEqual(
    state.told.filter((line) => line.startsWith('a.')),
    ['a.test new', 'a.test new'],
  );
  assert.ok(state.told.includes('b.test gone'));
  authority.stop();
});

test('the reported details of a leaf match its content', async () => {
  using state = new State();
  const authority = await state.open();
  for (const name of ['a.test', '*.a.test', '192.0.2.1', LONG]) {
    const { renewAt: _, ...leaf } = (await leafOf(authority, name)) as InternalCertificate;
    assert.deepEqual(readCertificate(leaf.chain, leaf.privateKey), { ok: true, value: leaf });
  }
});

test('issuing many certificates leaves the event loop free, and includes names added meanwhile', async () => {
  using state = new State();
  const authority = await state.open();
  const names = Array.from({ length: 200 }, (_, at) => `site-${at}.test`);
  let turns = 0;
  let done = false;
  const count = (): void => {
    turns++;
    if (turns === 50) authority.add('late.test');
    if (turns === 60) authority.drop('site-199.test');
    if (!done) setImmediate(count);
  };
  setImmediate(count);
  await authority.setNames(names);
  done = true;
  assert.ok(turns >= names.length, `${turns} turns`);
  assert.notEqual(authority.get('late.test'), null);
  assert.equal(authority.get('site-199.test'), null);
  assert.equal(state.told.length, 200);
});

test('a name that a handshake waits for is issued next', async () => {
  using state = new State();
  const authority = await state.open();
  const done = authority.setNames(Array.from({ length: 100 }, (_, at) => `site-${at}.test`));
  authority.prioritize('site-99.test');
  authority.prioritize('unknown.test');
  await done;
  assert.ok(state.told.indexOf('site-99.test new') <= 1, state.told.slice(0, 5).join());
  assert.equal(state.told.length, 100);
});

test('a leaf that was issued while the time of day was wrong is replaced once it is set back, and the root is valid then', async () => {
  using state = new State();
  const clock = new ManualClock();
  const authority = await state.open(clock);
  const early = await leafOf(authority, 'a.test');
  clock.jump(-365 * DAY_MS);
  clock.pass(DAY_MS);
  for (let waits = 0; authority.get('a.test') === early && waits < 1_000; waits++) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.ok((authority.get('a.test')?.notBefore ?? Number.POSITIVE_INFINITY) <= clock.now());
  assert.ok(new X509Certificate(authority.root).validFromDate.getTime() <= clock.now());
});

test('leaves that expired while the machine slept are replaced within a minute of its waking up', async () => {
  using state = new State();
  const clock = new ManualClock();
  const authority = await state.open(clock);
  const old = await leafOf(authority, 'a.test');
  clock.jump(8 * DAY_MS);
  clock.pass(60_000);
  for (let waits = 0; authority.get('a.test') === old && waits < 1_000; waits++) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.ok((authority.get('a.test')?.notAfter ?? 0) > clock.now());
});
