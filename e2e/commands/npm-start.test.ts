import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import type { Overview } from '../../shared/wire/dashboard.ts';
import { Browser, missingBrowser, pageProtocol } from '../browser/browser.ts';
import { missing } from '../components.ts';
import { checkout } from '../testing/checkout.ts';
import { Folder } from '../testing/dataplane.ts';
import { visit } from '../testing/http.ts';
import { isFree } from '../testing/ports.ts';
import { Program } from '../testing/process.ts';

const USUAL_PORTS = [8080, 8443, 9101, 9102, 9103, 6190, 6191];
const LAST_LINE = 'Ctrl-C ends everything.';

/** Starts again if another program took a port between the moment in which the demo chose it and its use. */
async function start(directory: string): Promise<Program> {
  for (;;) {
    // A separate session, as in a terminal: Ctrl-C reaches every process in it.
    const program = new Program('setsid', ['npm', 'start'], {}, directory);
    try {
      await program.said(LAST_LINE);
      return program;
    } catch (error) {
      await program[Symbol.asyncDispose]();
      if (!/^Port \d+ .* is in use|EADDRINUSE/m.test(program.stderr)) throw error;
    }
  }
}

/** The ports of a demo: the usual ones, or those that it names instead because other programs of this machine use the usual ones. */
function portsOf({ stdout }: Program): number[] {
  const moved = [...stdout.matchAll(/^Port (\d+) is in use by another program: .* is on (\d+)\.$/gm)];
  const instead = new Map(moved.map(([, usual, port]) => [Number(usual), Number(port)]));
  return USUAL_PORTS.map((usual) => instead.get(usual) ?? usual);
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

describe('npm start', () => {
  const folder = new Folder();
  const directory = folder.file('sluice');
  let demo: Program;
  let ports: number[];

  before(async () => {
    checkout(directory);
    demo = await start(directory);
    ports = portsOf(demo);
  });
  after(async () => {
    await demo?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('prints examples that work', { skip: missing('curl') }, async () => {
    const list = demo.stdout;
    const [http = 0] = ports;
    const shell = async (line: string) => {
      const program = new Program('sh', ['-c', line], {}, directory);
      return { ...(await program.exited), stdout: program.stdout, stderr: program.stderr };
    };

    const [, dashboard = ''] = /^The dashboard.*\n {2}(http:\S+)$/m.exec(list) ?? [];
    const { hosts } = await firstOverview(dashboard, ({ hosts }) => hosts.some(({ unique_visitors }) => unique_visitors > 1));
    assert.ok(hosts.some(({ domain }) => domain === 'shop.localhost'));

    const addresses = [...list.matchAll(/^ {2}http:\/\/(\S+?\.localhost):(\d+)(\S*)/gm)];
    assert.ok(addresses.length >= 4, list);
    for (const [, host = '', port = '', path = ''] of addresses) {
      assert.equal(port, `${http}`);
      assert.equal((await visit(http, `${host}:${port}`, path)).status, 200, host);
    }

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
      const path = new RegExp(`:${http}(\\S+)$`).exec(line)?.[1] ?? '';
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
    await until('the change to be served', async () => (await visit(http, 'api.localhost', '/ping')).text === 'pong, changed');
  });

  test('shows a padlock in a browser that trusts the root as it describes, even when that starts with HTTP', {
    skip: missingBrowser(),
  }, async () => {
    const list = demo.stdout;
    const [http, https] = ports;
    const [, root = ''] = /^ {2}certutil .* -i (\S+)/m.exec(list) ?? [];
    const [address = ''] = new RegExp(`https://\\S+:${https}/`).exec(list) ?? [];
    await using browser = await Browser.start(folder, [readFileSync(`${directory}/${root}`, 'utf8')]);
    const answer = await browser.page.goto(address.replace('https:', 'http:').replace(`:${https}`, `:${http}`));
    assert.equal(browser.page.url(), address);
    assert.match((await answer?.text()) ?? '', /^Hello from the (first|second) upstream[\s\S]*x-forwarded-proto +https$/m);
    assert.equal(await pageProtocol(browser.page), 'h2');
    assert.equal((await browser.padlock()).state, 'secure');
  });

  test('a second demo in the same checkout says that there is one, and chooses no ports', async () => {
    await using second = new Program('npm', ['start'], {}, directory);
    assert.deepEqual(await second.exited, { code: 2, signal: null });
    assert.match(second.output, /^sluice demo: it is already running in this checkout, as process \d+: end that one with Ctrl-C first$/m);
    assert.doesNotMatch(second.output, /is in use/);
  });

  // The last: it ends the demo.
  test('ends everything on Ctrl-C', async () => {
    process.kill(-demo.pid, 'SIGINT');
    assert.deepEqual(await demo.exited, { code: 0, signal: null });
    for (const port of ports) assert.ok(await isFree(port), `port ${port} is free again`);
  });
});
