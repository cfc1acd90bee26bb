import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Folder } from '../testing/dataplane.ts';
import { ask } from '../testing/http.ts';
import { childrenOf, Pair } from '../testing/pair.ts';
import { freePort } from '../testing/ports.ts';
import { run } from '../testing/process.ts';

const TOKEN = 'not-for-anybodys-eyes-7d1f';
const LINUX = process.platform === 'linux' ? false : 'reads /proc';

const HASH = '$2b$05$8mLPtnCwDQ5zjuWzQYCo0uV9jVWXyo9aqgLSdUdG1ZB9pBlfPpGDe';

/** The first overview of the dashboard. */
const overview = (port: number, token: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    const call = request({ host: '127.0.0.1', port, path: '/events?view=dashboard', headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
        if (!/^event: overview\ndata: .*\n\n/m.test(text)) return;
        call.destroy();
        resolve(text);
      });
    });
    call.on('error', reject).end();
  });

const ENVIRONMENT = { SLUICE_ADMIN_TOKEN: TOKEN, SLUICE_VIEW_TOKEN: 'only-to-look-0123456789', UPSTREAM_PASSWORD: 'hunter2-hunter2' };

describe('secrets of a pair', () => {
  const folder = new Folder();
  let admin: number;
  let pair: Pair;
  before(async () => {
    admin = await freePort();
    const flags = ['--admin-listen', `127.0.0.1:${admin}`, '--log-level', 'debug', '--https-port', `${await freePort()}`];
    pair = await Pair.start(folder, '', { flags, env: ENVIRONMENT });
  });
  after(async () => {
    await pair?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('the admin token and the keys of the installation are never printed', { skip: LINUX }, async () => {
    await pair.serve('site.test {\n  respond "here"\n}\n');
    const [key = ''] = /[0-9a-f]{32}/.exec(readFileSync(folder.file('state/keyring.json'), 'utf8')) ?? [];
    assert.equal(key.length, 32);

    const texts: string[] = [];
    const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
    assert.equal((await ask({ port: admin }, '/routes', bearer(TOKEN))).status, 200);
    for (const wrong of ['', `${TOKEN}x`, TOKEN.slice(1)]) {
      const refused = await ask({ port: admin }, '/routes', bearer(wrong));
      assert.equal(refused.status, 401);
      texts.push(refused.text);
    }
    for (const path of ['/settings', '/status', '/routes?view=full', '/explain?url=site.test', '/metrics', '/upstreams'])
      texts.push((await ask({ port: admin }, path, bearer(TOKEN))).text);
    for (const path of ['/status', '/metrics']) texts.push((await pair.controller(path)).text);
    for (const command of [['routes'], ['status'], ['explain', 'site.test'], ['status', '--json']]) {
      const { code, stdout, stderr } = await run([...command, '--admin', `127.0.0.1:${admin}`], { SLUICE_ADMIN_TOKEN: TOKEN });
      assert.equal(code, 0, stderr);
      texts.push(stdout, stderr);
    }
    const { dataplane, controller } = await childrenOf(pair.program.pid);
    for (const pid of [pair.program.pid, dataplane, controller]) texts.push(readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
    await until('a log line', () => pair.program.output.includes('"level":"'));
    texts.push(pair.program.output);
    for (const text of texts) assert.ok(!text.includes(TOKEN) && !text.includes(key), text.slice(0, 500));
  });

  test('nothing that the view token reads contains a password hash, a token or the value of a variable, also while the config has errors', async () => {
    const auth = (hash: string) => `basic_auth "staff" {\n    bob ${hash}\n  }`;
    const keyed = '@keyed header X-Key hunter2-shared\n  respond @keyed "here"';
    const good = `site.test {\n  ${auth(HASH)}\n  ${keyed}\n  reverse_proxy 127.0.0.1:1\n}\n`;
    await pair.serve(good);
    const read = async (path: string) =>
      (await ask({ port: admin }, path, { headers: { authorization: 'Bearer only-to-look-0123456789' } })).text;
    const everything = async () => {
      const paths = [
        '/status',
        '/alerts',
        '/routes?view=full',
        '/explain?url=site.test',
        '/metrics',
        '/upstreams',
        '/certificates',
        '/analytics',
      ];
      const texts = [...(await Promise.all(paths.map(read))), await overview(admin, 'only-to-look-0123456789')];
      for (const text of texts)
        for (const secret of [HASH, TOKEN, 'only-to-look', 'hunter2'])
          assert.ok(!text.includes(secret), `${secret} in ${text.slice(0, 500)}`);
      return texts.join('\n');
    };
    assert.match(await everything(), /"basic_auth":\{/);
    pair.write(`site.test {\n  ${auth(HASH.slice(0, -1))}\n  reverse_proxy http://bob:{$UPSTREAM_PASSWORD}@127.0.0.1:1\n}\n`);
    await until('the error to be an alert', async () => (await read('/alerts')).includes('Sluicefile'));
    const broken = await everything();
    assert.match(broken, /"code":"source_failed"/);
    assert.ok(!broken.includes(HASH.slice(0, -1)), 'a hash that is not quite one');
    assert.equal((await ask({ port: admin }, '/settings', { headers: { authorization: 'Bearer only-to-look-0123456789' } })).status, 403);
  });

  test('no other user of the machine can read the state or use the socket', { skip: LINUX }, async () => {
    await pair.serve('site.test {\n  tls internal\n  respond "here"\n}\n');
    await until('the site to be on HTTPS', async () => (await pair.visit('site.test')).status === 308);
    const modeOf = (name: string) => statSync(folder.file(name)).mode & 0o777;
    assert.equal(modeOf('state'), 0o700);
    assert.equal(modeOf('state/admin.sock'), 0o600);
    const files = readdirSync(folder.file('state'));
    for (const name of ['routes.db', 'keyring.json', 'internal-root.pem']) assert.ok(files.includes(name), name);
    // The root certificate, without its key, is public.
    for (const name of files) assert.equal(modeOf(`state/${name}`), name === 'sluice-internal-root.crt' ? 0o644 : 0o600, name);
  });
});
