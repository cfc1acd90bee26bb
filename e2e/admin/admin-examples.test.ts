import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { CertificatesFixture } from '../../dataplane/traffic/testing/certificates.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import { missing } from '../components.ts';
import { Dataplane, Folder, TOKEN } from '../testing/dataplane.ts';
import { Pair } from '../testing/pair.ts';
import { freePort } from '../testing/ports.ts';
import { Program, REPOSITORY } from '../testing/process.ts';
import { Upstream } from '../testing/upstream.ts';

/** The shell lines of a page. */
const shellOf = (page: string): string[] =>
  [...readFileSync(`${REPOSITORY}docs/reference/${page}`, 'utf8').matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block);

/** Runs lines in which curl fails on error statuses. @returns their output. */
async function shell(lines: string, cwd: string = REPOSITORY): Promise<string> {
  const strict = lines.replaceAll('curl ', 'curl --silent --show-error --fail ');
  const program = new Program('sh', ['-ec', strict], { SLUICE_ADMIN_TOKEN: TOKEN }, cwd);
  assert.equal((await program.exited).code, 0, `${lines}\n${program.output}`);
  return program.stdout;
}

/** The members that the table after this text of the Admin API reference lists. */
function membersAfter(text: string): string[] {
  const [, table = ''] = readFileSync(`${REPOSITORY}docs/reference/admin-api.md`, 'utf8').split(text);
  const rows = /\n\| member[^\n]*\n[^\n]*\n((?:\|[^\n]*\n)+)/.exec(table)?.[1] ?? '';
  return rows.split('\n').flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name));
}

describe('with a data plane', () => {
  const folder = new Folder();
  let probes: string;
  let dataplane: Dataplane;
  before(async () => {
    probes = `127.0.0.1:${await freePort()}`;
    const https = ['--cert-dir', folder.file('certs'), '--https-port', `${await freePort()}`];
    const flags = ['--admin-socket', folder.file('admin.sock'), '--probe-listen', probes, ...https];
    dataplane = await Dataplane.start({ stateDir: folder.file('state'), flags });
  });
  after(async () => {
    await dataplane?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  /** Deletes the routes of other tests. */
  async function empty(): Promise<void> {
    const routes = JSON.parse((await dataplane.admin('GET', '/routes')).text) as { domain: string }[];
    for (const { domain } of routes) await dataplane.admin('DELETE', `/routes/${domain}`);
  }

  test('the curl examples of the Admin API and metrics references work as written', async (context) => {
    const reason = missing('curl') ?? missing('jq');
    if (reason !== undefined) return context.skip(reason);
    const certificates = new CertificatesFixture();
    const { cert, key } = certificates.issue('app.example.com');
    writeFileSync(folder.file('fullchain.pem'), cert);
    writeFileSync(folder.file('privkey.pem'), key);
    await empty();
    const examples = [...shellOf('admin-api.md'), ...shellOf('metrics.md')].map((block) =>
      block
        .replaceAll('127.0.0.1:6190', `127.0.0.1:${dataplane.adminPort}`)
        .replaceAll('/var/run/sluice-admin.sock', folder.file('admin.sock')),
    );
    assert.ok(examples.length >= 4);
    for (const example of examples) {
      const printed = await shell(example, folder.path);
      if (example.includes('FRAME')) assert.match(printed, /^\{"applied":\{.*"result":"added".*"result":"added"/);
      if (example.includes('/certificates')) assert.match(printed, /"source":"pushed"/);
      if (example.includes('/metrics')) assert.match(printed, /^sluice_routes 3$/m);
    }
    const routes = JSON.parse((await dataplane.admin('GET', '/routes')).text) as { domain: string }[];
    assert.deepEqual(
      routes.map(({ domain }) => domain),
      ['a.example.com', 'app.example.com', 'b.example.com'],
    );
  });

  test('the Admin API reference lists the members of analytics, status, targets and explanations', async () => {
    await using upstream = await Upstream.start('one');
    await empty();
    await dataplane.admin('POST', '/routes', { domain: 'a.example.com', upstream: upstream.address, tls: false });
    await dataplane.visit('a.example.com', '/');
    const members = async (path: string) => {
      const body: unknown = JSON.parse((await dataplane.admin('GET', path)).text);
      return Object.keys((Array.isArray(body) ? body[0] : body) as object).sort();
    };
    const documented = (text: string, absent: string[] = []) =>
      membersAfter(text)
        .filter((name) => !absent.includes(name))
        .sort();
    assert.deepEqual(documented('`GET /status` returns'), await members('/status'));
    assert.deepEqual(documented('`GET /upstreams` returns', ['id', 'transport', 'last_failure']), await members('/upstreams'));
    assert.deepEqual(documented('`GET /explain?url=URL` shows'), await members('/explain?url=a.example.com/'));
    assert.deepEqual(await members('/settings'), ['name', 'origin', 'value']);
    // Analytics and metrics come with the same report of a worker, and probes don't count against the limit.
    await until('the visit is counted', async () =>
      (await (await fetch(`http://${probes}/metrics`)).text()).includes('domain="a.example.com"'),
    );
    assert.deepEqual(documented('## Analytics'), await members('/analytics'));
  });

  test('the example route of the route reference is accepted and works as described', async () => {
    await using first = await Upstream.start('one');
    await using second = await Upstream.start('two');
    await empty();
    const page = readFileSync(`${REPOSITORY}docs/reference/routes.md`, 'utf8');
    const example = /```json\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
    const route = example.replaceAll('10.0.0.5:3000', first.address).replaceAll('10.0.0.6:3000', second.address);
    const posted = await dataplane.admin('POST', '/routes', JSON.parse(route));
    assert.equal(posted.status, 201, posted.text);
    const visit = (path: string) => dataplane.visit('shop.example.com', path);
    const seen = [await visit('/'), await visit('/'), await visit('/')];
    assert.deepEqual([...new Set(seen.map(({ text }) => (JSON.parse(text) as { name: string }).name))].sort(), ['one', 'two']);
    assert.deepEqual([seen[0]?.headers['x-frame-options'], seen[0]?.headers.server], ['DENY', undefined]);
    assert.deepEqual([(await visit('/old/a')).status, (await visit('/old/a')).headers.location], [308, '/new/a']);
    assert.equal((await visit('/health')).text, 'ok');
    assert.equal((await visit('/admin/x')).status, 404);
  });
});

test('the curl examples of the controller reference work as written', async (context) => {
  const reason = missing('curl');
  if (reason !== undefined) return context.skip(reason);
  using folder = new Folder();
  await using pair = await Pair.start(folder, 'shop.example { respond ok }\n');
  const [example = ''] = shellOf('controller.md');
  assert.equal((await pair.controller('/health')).status, 200);
  const printed = await shell(example.replaceAll('127.0.0.1:6191', `127.0.0.1:${pair.controllerPort}`), folder.path);
  assert.match(printed, /"shop\.example"/);
  assert.match(printed, /^sluice_controller_routes 1$/m);
});
