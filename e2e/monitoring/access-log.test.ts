import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { until } from '../../shared/runtime/testing/until.ts';
import { missing } from '../components.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { childrenOf, familyOf, Pair } from '../testing/pair.ts';
import { DATAPLANE, Program } from '../testing/process.ts';

type Line = {
  status: number;
  size: number;
  duration: number;
  request_id: string;
  request: { uri: string; host: string; client_ip: string };
};

/** The lines of a file; a line that is torn or mixed with another is not JSON and fails the test. */
function linesIn(path: string): Line[] {
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  assert.ok(text === '' || text.endsWith('\n'), 'the last line is whole');
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]));
}

const written = (path: string, count: number): Promise<unknown> =>
  until(`${count} lines in ${path}`, () => existsSync(path) && readFileSync(path, 'utf8').split('\n').length > count);

const fixed = { respond: { status: 200, body: 'hello' } };

async function start(folder: Folder, log: string, more: Partial<Parameters<typeof Dataplane.start>[0]> = {}): Promise<Dataplane> {
  const dataplane = await Dataplane.start({ stateDir: folder.file('state'), flags: ['--access-log', log], ...more });
  const { status, text } = await dataplane.admin('POST', '/routes', { domain: 'a.test', upstream: null, tls: false, ...fixed });
  assert.equal(status, 201, text);
  return dataplane;
}

describe('in a file', () => {
  const folder = new Folder();
  const log = folder.file('access.log');
  let dataplane: Dataplane;
  let moved = 0;
  before(async () => {
    dataplane = await start(folder, log);
  });
  after(async () => {
    await dataplane?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  /** Moves the lines of other tests away. */
  async function startAfresh(): Promise<void> {
    // A file without lines is not opened again.
    await dataplane.visit('a.test');
    await written(log, 1);
    renameSync(log, folder.file(`old-${++moved}.log`));
    dataplane.program.child.kill('SIGUSR2');
    await until('the new file', () => existsSync(log));
  }

  test('GoAccess reads the log, and its counts are those of the lines', { skip: missing('goaccess') }, async () => {
    await startAfresh();
    const browser = {
      'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
      referer: 'https://b.test/x?y=1',
    };
    for (let n = 0; n < 60; n++) await dataplane.visit(n % 5 === 0 ? 'none.test' : 'a.test', `/page-${n % 4}?n=${n}`, { headers: browser });
    await written(log, 60);
    const report = folder.file('report.json');
    execFileSync('goaccess', [log, '--log-format=CADDY', '--no-global-config', '-o', report], {
      stdio: 'ignore',
      env: { ...process.env, TERM: 'dumb' },
    });
    const { general, status_codes } = JSON.parse(readFileSync(report, 'utf8')) as {
      general: { total_requests: number; valid_requests: number; failed_requests: number; bandwidth: number };
      status_codes: { data: { items?: { data: string; hits: { count: number } }[] }[] };
    };
    const lines = linesIn(log);
    assert.deepEqual([general.total_requests, general.valid_requests, general.failed_requests], [lines.length, lines.length, 0]);
    assert.equal(
      general.bandwidth,
      lines.reduce((sum, { size }) => sum + size, 0),
    );
    const codes = Object.fromEntries(
      status_codes.data.flatMap(({ items = [] }) => items.map(({ data, hits }) => [data.slice(0, 3), hits.count])),
    );
    assert.deepEqual(codes, { 200: 48, 404: 12 });
  });

  test('a response that is sent at once took some time, too', async () => {
    await startAfresh();
    await dataplane.visit('a.test');
    await written(log, 1);
    for (const { duration } of linesIn(log)) assert.ok(duration > 0, `${duration} s`);
  });

  test('the log of a site that can’t be opened is a warning', async () => {
    symlinkSync(folder.file('elsewhere'), folder.file('link.log'));
    for (const [domain, log] of [
      ['none.test', folder.file('none/site.log')],
      ['link.test', folder.file('link.log')],
    ]) {
      assert.equal((await dataplane.admin('POST', '/routes', { domain, upstream: null, tls: false, ...fixed, log })).status, 201);
      assert.equal((await dataplane.visit(domain as string)).status, 200);
    }
    await until('both warnings', async () => {
      const { text } = await dataplane.admin('GET', '/status');
      return text.includes('none/site.log can') && text.includes('ELOOP');
    });
    assert.equal(existsSync(folder.file('elsewhere')), false);
  });

  // The last: it ends the data plane.
  test('rotation by renaming and SIGUSR2 loses no line under load', async () => {
    await startAfresh();
    let sent = 0;
    let rotating = true;
    const visitor = async (): Promise<void> => {
      while (rotating) assert.equal((await dataplane.visit('a.test', `/?n=${sent++}`)).status, 200);
    };
    const visitors = Array.from({ length: 8 }, visitor);
    for (let rotation = 1; rotation <= 10; rotation++) {
      await written(log, 20);
      renameSync(log, `${log}.${rotation}`);
      dataplane.program.child.kill('SIGUSR2');
      await until('the new file', () => existsSync(log));
    }
    rotating = false;
    await Promise.all(visitors);
    await dataplane.program.kill();
    const files = readdirSync(folder.path).filter((name) => name.startsWith('access.log'));
    assert.equal(files.length, 11);
    const uris = files.flatMap((name) => linesIn(folder.file(name)).map(({ request }) => request.uri));
    assert.deepEqual(uris.sort(), Array.from({ length: sent }, (_, n) => `/?n=${n}`).sort());
  });
});

test('two processes write one file during a takeover, and every line is whole', async () => {
  using folder = new Folder();
  const log = folder.file('access.log');
  await using old = await start(folder, log);
  let sent = 0;
  let visiting = true;
  const visitor = async (): Promise<void> => {
    while (visiting) {
      const { status } = await old.visit('a.test', `/${'x'.repeat(1_000)}`).catch(() => ({ status: 0 }));
      if (status === 200) sent++;
      // The successor needs the cores to start.
      await wait(5);
    }
  };
  const visitors = Array.from({ length: 4 }, visitor);
  await written(log, 20);
  const flags = ['--access-log', log, '--takeover'];
  await using successor = await Dataplane.start({ stateDir: folder.file('state'), flags, httpPort: old.httpPort });
  await old.program.exited;
  const before = linesIn(log).length;
  await written(log, before + 20);
  visiting = false;
  await Promise.all(visitors);
  await successor.program.kill();
  assert.ok(linesIn(log).filter(({ status }) => status === 200).length >= sent);
});

test('a full disk delays no request, is reported, and the lines that waited are written when there is space', async (context) => {
  using folder = new Folder();
  const disk = folder.file('disk');
  mkdirSync(disk);
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', disk]).status !== 0) {
    if (process.env.CI === 'true') assert.fail('a small file system could not be mounted');
    return context.skip('needs permission to mount a small file system');
  }
  try {
    const log = `${disk}/access.log`;
    await using dataplane = await start(folder, log);
    spawnSync('dd', ['if=/dev/zero', `of=${disk}/ballast`, 'bs=4k']);
    const visit = async (): Promise<void> => assert.equal((await dataplane.visit('a.test', `/${'x'.repeat(7_000)}`)).status, 200);
    for (let n = 0; n < 20; n++) await visit();
    await dataplane.program.said("the access log can't be written");
    assert.match((await dataplane.admin('GET', '/status')).text, /the access log .* can't be written: ENOSPC/);
    rmSync(`${disk}/ballast`);
    await visit();
    await dataplane.program.said('the access log can be written again');
    await dataplane.program.kill();
    assert.equal(linesIn(log).length, 21);
  } finally {
    spawnSync('umount', [disk]);
    writeFileSync(`${disk}/unmounted`, '');
  }
});

test('a pipe that is not read delays no request, and the lines that it does not accept are counted', async () => {
  using folder = new Folder();
  const pipe = folder.file('pipe.log');
  execFileSync('mkfifo', [pipe]);
  await using dataplane = await start(folder, pipe);
  const visit = (): Promise<number> =>
    dataplane.visit('a.test', `/${'x'.repeat(8_000)}`, { headers: { 'x-a': 'y'.repeat(6_000) } }).then(({ status }) => status);
  const lost = async (): Promise<number> =>
    Number(/^sluice_access_log_lines_lost_total (\d+)$/m.exec((await dataplane.admin('GET', '/metrics')).text)?.[1]);
  // 8 MB of lines wait for a reader.
  while ((await lost()) === 0) assert.deepEqual(await Promise.all(Array.from({ length: 50 }, visit)), new Array(50).fill(200));
  await dataplane.program.said("the access log can't be written");
  const { code } = await dataplane.program.kill();
  assert.equal(code, 0);
  assert.match(dataplane.program.output, /lines of the access log were lost/);
});

test('an access log that can’t be opened is an error in one line', async () => {
  using folder = new Folder();
  const args = ['--http-port', '65001', '--state-dir', folder.file('state'), '--access-log'];
  const [node, ...entry] = DATAPLANE;
  for (const path of [folder.file('none/access.log'), folder.path]) {
    await using program = new Program(node, [...entry, ...args, path]);
    assert.equal((await program.exited).code, 2);
    assert.match(program.stderr, /^sluice dataplane: --access-log .* can't be opened: E\w+: [^\n]+\n$/);
  }
});

test('lines on standard output are whole, among those of the process, and wait for a slow reader when it ends', async () => {
  using folder = new Folder();
  await using dataplane = await start(folder, 'stdout');
  dataplane.program.child.stdout?.pause();
  await Promise.all(Array.from({ length: 200 }, (_, n) => dataplane.visit('a.test', `/${n}${'x'.repeat(n * 30)}`)));
  const exited = dataplane.program.kill();
  await until('the traffic to end', () =>
    dataplane.visit('a.test', '/late').then(
      () => false,
      () => true,
    ),
  );
  dataplane.program.child.stdout?.resume();
  await exited;
  const lines = dataplane.program.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Partial<Line>);
  assert.equal(lines.filter(({ request }) => request !== undefined && request.uri !== '/late').length, 200);
});

for (const what of ['a socket', 'a pipe'])
  test(`standard output that is ${what} and never read stops neither requests nor the Admin API nor the end of the process`, async () => {
    using folder = new Folder();
    const pipe = folder.file('stdout');
    execFileSync('mkfifo', [pipe]);
    const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
    const command = what === 'a pipe' ? ['sh', '-c', `exec "$@" >'${pipe}'`, 'sh'] : [];
    await using dataplane = await start(folder, 'stdout', { command });
    dataplane.program.child.stdout?.pause();
    for (let n = 0; n < 40; n++) {
      const { status } = await dataplane.visit('a.test', `/${'x'.repeat(7_000)}`, { headers: { 'x-a': 'y'.repeat(6_000) } });
      assert.equal(status, 200);
      // Logged by the main thread.
      await dataplane.route(`site-${n}.test`, '127.0.0.1:9');
    }
    dataplane.program.child.kill('SIGTERM');
    const code = await new Promise((resolve) => dataplane.program.child.once('exit', resolve));
    assert.equal(code, 0);
    closeSync(reader);
  });

test('SIGUSR2 ends no process and reopens the log through every parent; SIGUSR1 opens no debugger', async () => {
  using folder = new Folder();
  const log = folder.file('access.log');
  await using pair = await Pair.start(folder, 'a.test {\n  respond "hello"\n}\n', { flags: ['--access-log', log] });
  await pair.visit('a.test');
  await written(log, 1);
  const processes = [pair.program.pid, ...familyOf(pair.program.pid)];
  const children = await childrenOf(pair.program.pid);
  assert.ok(children.dataplane > 0 && children.controller > 0);
  for (const to of [[pair.program.pid], processes]) {
    renameSync(log, `${log}.1`);
    for (const pid of to) process.kill(pid, 'SIGUSR2');
    await until('the log to be reopened', () => existsSync(log));
    await pair.visit('a.test');
    await written(log, 1);
  }
  for (const pid of processes) process.kill(pid, 'SIGUSR1');
  assert.equal((await pair.visit('a.test')).status, 200);
  assert.deepEqual([pair.program.pid, ...familyOf(pair.program.pid)], processes);
  assert.doesNotMatch(pair.program.output, /Debugger listening/);
  for (const pid of processes) assert.match(readFileSync(`/proc/${pid}/cmdline`, 'utf8'), /--disable-sigusr1/);
});

test('a directory without rights is an error that names the flag', {
  skip: process.getuid?.() === 0 && 'root may write everywhere',
}, async () => {
  using folder = new Folder();
  mkdirSync(folder.file('closed'));
  chmodSync(folder.file('closed'), 0o500);
  const [node, ...entry] = DATAPLANE;
  await using program = new Program(node, [
    ...entry,
    '--http-port',
    '65001',
    '--state-dir',
    folder.file('state'),
    '--access-log',
    folder.file('closed/a.log'),
  ]);
  assert.equal((await program.exited).code, 2);
  assert.match(program.stderr, /EACCES/);
});
