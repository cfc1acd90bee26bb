import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { existsSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Folder } from '../testing/dataplane.ts';
import { visitOverHttp2 } from '../testing/http2.ts';
import { Pair } from '../testing/pair.ts';
import { Upstream } from '../testing/upstream.ts';

type Keys = { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
const jwkOf = (kid: string, { publicKey }: Keys) => ({ ...publicKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'ES256' });
const make = (): Keys => generateKeyPairSync('ec', { namedCurve: 'P-256' });

function tokenOf(kid: string, { privateKey }: Keys): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { exp: Math.floor(Date.now() / 1_000) + 3_600, sub: 'bob', realm_access: { roles: ['buyer', 'admin'] } };
  const text = `${part({ alg: 'ES256', kid })}.${part(claims)}`;
  return `${text}.${sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
}

describe('a site whose tokens are signed with fetched keys', () => {
  const folder = new Folder();
  let pair: Pair;
  before(async () => {
    pair = await Pair.start(folder, '');
  });
  after(async () => {
    await pair?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('without keys no one is let in, regardless of what the issuer answers', async () => {
    const key = make();
    const set = JSON.stringify({ keys: [jwkOf('1', key)] });
    let answer: (response: { writeHead(status: number, fields?: object): { end(text?: string): void } }) => void = (response) =>
      response.writeHead(302, { location: '/elsewhere' }).end(set);
    await using issuer = await Upstream.start('issuer', (_, response) => answer(response));
    await using app = await Upstream.start('app');
    await pair.serve(`app.test {
  path_case sensitive
  jwt {
    keys http://${issuer.address}/certs private
  }
  reverse_proxy ${app.address}
}
`);
    const headers = { authorization: `Bearer ${tokenOf('1', key)}` };
    for (const [text, reason] of [
      ['a redirect', /redirect \(302\)/],
      ['a page', /no set of keys/],
      ['too much', /more than 262144 bytes/],
    ] as const) {
      if (text === 'a page') answer = (response) => response.writeHead(200).end('<html>');
      if (text === 'too much') answer = (response) => response.writeHead(200).end(set + ' '.repeat(300_000));
      await until(text, async () => reason.test((await pair.admin('/alerts')).text));
      assert.equal((await pair.visit('app.test', '/', { headers })).status, 503, text);
      assert.match((await pair.command('explain', 'http://app.test/')).stdout, /jwt.*503: the keys of http/);
    }
    answer = (response) => response.writeHead(200).end(set);
    await until('the keys', async () => (await pair.visit('app.test', '/', { headers })).status === 200);
    assert.equal(app.requests, 1);
  });

  // The last: it ends the pair.
  test('jwt fetches keys from the issuer, keeps them while it is unavailable and over a restart, and fetches new ones for a new key', async () => {
    const [first, second] = [make(), make()];
    let keys = [jwkOf('1', first)];
    let away = false;
    await using issuer = await Upstream.start('issuer', (_, response) => {
      if (away) response.destroy();
      else response.setHeader('cache-control', 'max-age=3600').end(JSON.stringify({ keys }));
    });
    await using app = await Upstream.start('app', (request, response) =>
      response.end(`${request.headers['x-user']} ${request.headers['x-roles']}`),
    );
    const sites = `app.test {
  path_case sensitive
  jwt {
    keys http://${issuer.address}/certs private
    require realm_access.roles admin
    copy_claims sub>X-User realm_access.roles>X-Roles
    from header
    from query access_token
  }
  reverse_proxy ${app.address}
}
`;
    const withToken = (token: string) => ({ headers: { authorization: `Bearer ${token}`, 'x-user': 'admin' } });
    const [old, next, forged] = [tokenOf('1', first), tokenOf('2', second), tokenOf('1', second)];
    await pair.serve(sites);
    assert.equal((await pair.visit('app.test', '/', withToken(old))).text, 'bob buyer,admin');
    assert.equal((await pair.visit('app.test', '/', withToken(forged))).status, 401);
    const over2 = await visitOverHttp2(pair.httpPort, 'app.test', [`/?access_token=${old}`, `/?access_token=${forged}`]);
    assert.deepEqual(
      over2.map(([status, , text]) => (status === 200 ? text : status)),
      ['bob buyer,admin', 401],
    );
    assert.match((await pair.command('explain', 'http://app.test/')).stdout, /jwt.*signed by one of the 1 keys of http:\/\/127/);
    await until('the keys to be saved', () => existsSync(folder.file('state/token-keys.json')));
    away = true;
    await pair.program.kill();
    await using restarted = await Pair.start(folder, sites);
    assert.equal((await restarted.visit('app.test', '/', withToken(old))).text, 'bob buyer,admin');
    assert.equal((await restarted.visit('app.test', '/', withToken(next))).status, 401);
    const alerts = async (): Promise<string> => (await restarted.admin('/alerts')).text;
    await until('the alert', async () => (await alerts()).includes('token_keys_stale'));
    away = false;
    keys = [jwkOf('2', second)];
    await until('the new key to be used', async () => (await restarted.visit('app.test', '/', withToken(next))).status === 200);
    assert.equal((await restarted.visit('app.test', '/', withToken(old))).status, 401);
    assert.doesNotMatch(await alerts(), /token_keys/);
  });
});
