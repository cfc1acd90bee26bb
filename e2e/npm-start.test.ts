import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Overview } from '../shared/wire/dashboard.ts';
import { Browser, missingBrowser, pageProtocol } from './browser/browser.ts';
import { missing } from './components.ts';
import { checkout } from './harness/checkout.ts';
import { Folder } from './harness/dataplane.ts';
import { visit } from './harness/http.ts';
import { isFree } from './harness/ports.ts';
import { Program } from './harness/process.ts';
import { until } from './harness/until.ts';

const PORTS = [8080, 8443, 9101, 9102, 9103, 6190, 6191];
const LAST_LINE = 'Ctrl-C ends everything.';

const allFree = async (): Promise<boolean> => (await Promise.all(PORTS.map(isFree))).every(Boolean);

/** The ports are fixed, so this waits until another running demo has ended. */
async function start(directory: string): Promise<Program> {
  for (;;) {
    await until(`the ports ${PORTS.join(', ')} to be free`, allFree);
    // A separate session, as in a terminal: Ctrl-C reaches every process in it.
    const program = new Program('setsid', ['npm', 'start'], {}, directory);
    try {
      await program.said(LAST_LINE);
      return program;
    } catch (error) {
      await program[Symbol.asyncDispose]();
      if (!/^Port \d+ .* is in use/m.test(program.stderr)) throw error;
    }
  }
}

/** The first overview that satisfies `enough`, as the page receives it after its address is opened. */
async function firstOverview(address: string, enough: (overview: Overview) => boolean): Promise<Overview> {
  const entered = await fetch(address, { redirect: 'manual' });
  const cookie = entered.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const page = new URL(entered.headers.get('location') ?? '', address);
  const stream = await fetch(new URL('../events?view=dashboard', page), { headers: { cookie } });
  let text = '';
  for await (const piece of stream.body ?? []) {
    text += Buffer.from(piece).toString();
    const overviews = [...text.matchAll(/^event: overview\ndata: (.*)\n\n/gm)].map(([, data = '']) => JSON.parse(data) as Overview);
    const found = overviews.find(enough);
    if (found !== undefined) return found;
  }
  throw new Error(`the stream ended: ${text}`);
}

test('npm start prints examples that work, and Ctrl-C ends everything', async (context) => {
  const reason = missing('curl');
  if (reason !== undefined) return context.skip(reason);
  using folder = new Folder();
  const directory = folder.file('sluice');
  checkout(directory);
  await using demo = await start(directory);
  const list = demo.stdout;
  const shell = async (line: string) => {
    const program = new Program('sh', ['-c', line], {}, directory);
    return { ...(await program.exited), stdout: program.stdout, stderr: program.stderr };
  };

  const [, dashboard = ''] = /^The dashboard.*\n {2}(http:\S+)$/m.exec(list) ?? [];
  const { hosts } = await firstOverview(dashboard, ({ hosts }) => hosts.some(({ unique_visitors }) => unique_visitors > 1));
  assert.ok(hosts.some(({ domain }) => domain === 'shop.localhost'));

  const addresses = [...list.matchAll(/^ {2}http:\/\/(\S+?):8080(\S*)/gm)];
  assert.ok(addresses.length >= 4, list);
  for (const [, host = '', path = ''] of addresses) assert.equal((await visit(8080, `${host}:8080`, path)).status, 200, host);

  const curls = [...list.matchAll(/^ {2}(curl .*)$/gm)].map(([, line = '']) => line);
  assert.ok(curls.length >= 4, list);
  const expected: Readonly<Record<string, RegExp>> = {
    '/': /two upstreams/,
    '/v1/users': /GET \/users/,
    '/old/users': /^location: \/v1\/users/im,
  };
  for (const line of curls) {
    const { code, stdout } = await shell(line);
    assert.equal(code, 0, line);
    const status = line.includes('https:') ? /^HTTP\/2 200 / : line.endsWith('/old/users') ? /^HTTP\/1\.1 301 / : /^HTTP\/1\.1 200 /;
    assert.match(stdout, status, line);
    const path = /:8080(\S+)$/.exec(line)?.[1] ?? '';
    assert.match(stdout, expected[path] ?? /./, line);
  }
  const [burst = ''] = /^ {2}for .*$/m.exec(list) ?? [];
  assert.match((await shell(burst)).stdout, /^(?:(?:200|429) ){8}\n$/);

  const commands = [...list.matchAll(/^ {2}(\.\/sluice .*)$/gm)].map(([, line = '']) => line);
  assert.ok(commands.length >= 4, list);
  // It runs until it is interrupted; the demo serves the same.
  for (const line of commands.filter((line) => !line.includes(' dashboard '))) assert.equal((await shell(line)).code, 0, line);

  const file = `${directory}/deploy/demo/Sluicefile`;
  writeFileSync(file, readFileSync(file, 'utf8').replace('"pong"', '"pong, changed"'));
  await until('the change to be served', async () => (await visit(8080, 'api.localhost', '/ping')).text === 'pong, changed');

  process.kill(-demo.pid, 'SIGINT');
  assert.deepEqual(await demo.exited, { code: 0, signal: null });
  assert.ok(await allFree(), 'every port is free again');
});

test('a browser that trusts the root as npm start describes shows a padlock, even when it starts with HTTP', async (context) => {
  const reason = missingBrowser();
  if (reason !== undefined) return context.skip(reason);
  using folder = new Folder();
  const directory = folder.file('sluice');
  checkout(directory);
  await using demo = await start(directory);
  const list = demo.stdout;
  const [, root = ''] = /^ {2}certutil .* -i (\S+)/m.exec(list) ?? [];
  const [address = ''] = /https:\/\/\S+:8443\//.exec(list) ?? [];
  await using browser = await Browser.start(folder, [readFileSync(`${directory}/${root}`, 'utf8')]);
  const answer = await browser.page.goto(address.replace('https:', 'http:').replace(':8443', ':8080'));
  assert.equal(browser.page.url(), address);
  assert.match((await answer?.text()) ?? '', /^Hello from the (first|second) upstream[\s\S]*x-forwarded-proto +https$/m);
  assert.equal(await pageProtocol(browser.page), 'h2');
  assert.equal((await browser.padlock()).state, 'secure');
  process.kill(-demo.pid, 'SIGINT');
  await demo.exited;
});
