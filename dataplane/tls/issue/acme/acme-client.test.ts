import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, beforeEach, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Challenge } from '../challenges/challenge.ts';
import { IssueError, UnfinishedError, UnissuedError } from '../issue-error.ts';
import { FaultyAcmeServer, type FaultyAnswer } from '../testing/faulty-acme-server.ts';
import { AcmeClient } from './acme-client.ts';
import { toIssueError } from './describe-failure.ts';
import { loadAcmeLibrary } from './library.ts';

const HTML = { 'content-type': 'text/html' };

describe('an authority', async () => {
  const server = await FaultyAcmeServer.start();
  after(() => server[Symbol.asyncDispose]());
  const presented: Challenge[] = [];
  beforeEach(() => {
    server.overrides.clear();
    presented.length = 0;
  });

  /** The result of an order if one path is answered in the given way. */
  async function failureWith(path: string, answer: FaultyAnswer | FaultyAnswer[], pollMs?: number): Promise<IssueError> {
    server.overrides.set(path, answer);
    const solver = {
      present: async (challenge: Challenge): Promise<void> => void presented.push(challenge),
      cleanUp: () => undefined,
    };
    const request = { name: 'shop.test', replaces: null, challengeTypes: ['http-01'], begun: null } as const;
    try {
      const authority = await AcmeClient.open(server.settings, null, pollMs);
      await authority.issue({ ...request, remember: async () => undefined, challengeFailed: () => undefined }, solver);
    } catch (error) {
      if (error instanceof IssueError) return error;
      throw error;
    }
    throw new Error('it issued');
  }

  test('whose load balancer reports an outage counts as unavailable at any step, and its Retry-After is used', async () => {
    for (const path of ['/dir', '/account', '/order', '/authorization']) {
      const { kind, message, retryAfterMs } = await failureWith(path, {
        status: 503,
        headers: { ...HTML, 'retry-after': '30' },
        body: '<h1>',
      });
      assert.deepEqual([path, kind, retryAfterMs], [path, 'unreachable', 30_000], message);
      assert.match(message, /not working: it answers 503$/);
      server.overrides.clear();
    }
  });

  test('that reports a rate limit states when it ends, in seconds or as a date by its own clock', async () => {
    const date = (at: number): string => new Date(at).toUTCString();
    const limited = (retryAfter: string): FaultyAnswer => ({ status: 429, headers: { 'retry-after': retryAfter, date: date(3_600_000) } });
    for (const retryAfter of ['7200', date(3 * 3_600_000)]) {
      const { kind, retryAfterMs } = await failureWith('/order', limited(retryAfter));
      assert.deepEqual([kind, retryAfterMs], ['limited', 7_200_000]);
    }
    assert.equal((await failureWith('/order', limited('soon'))).retryAfterMs, null);
    const body = { type: 'urn:ietf:params:acme:error:rateLimited', detail: 'busy' };
    const { kind, retryAfterMs } = await failureWith('/order', { status: 503, headers: { 'retry-after': '60' }, body });
    assert.deepEqual([kind, retryAfterMs], ['limited', 60_000]);
  });

  test('that does not serve an ACME directory is reported with the flag to change', async () => {
    for (const answer of [
      { status: 404, headers: HTML, body: '<h1>' },
      { status: 200, headers: HTML, body: '<h1>' },
      { status: 200, body: {} },
    ]) {
      const { kind, message } = await failureWith('/dir', answer);
      assert.equal(kind, 'refused');
      assert.match(message, /^https:\/\/localhost:\d+\/dir is not an ACME directory .*; name the right one with --acme-directory URL$/);
    }
  });

  test('that redirects is followed, but only over HTTPS', async () => {
    const to = (location: string): FaultyAnswer => ({ status: 302, headers: { location } });
    server.overrides.set('/elsewhere', { status: 429 });
    assert.equal((await failureWith('/dir', to('/elsewhere'))).kind, 'limited');
    const { kind, message } = await failureWith('/dir', to('http://localhost:1/dir'));
    assert.equal(kind, 'refused');
    assert.match(message, /http:\/\/localhost:1\/dir is not https/);
  });

  test('that does not tell the URL of the account is asked once', async () => {
    for (const status of [200, 201]) {
      const asked = server.requested.length;
      const { kind, message } = await failureWith('/account', Array(50).fill({ status, body: { status: 'valid' } }));
      assert.equal(kind, 'refused');
      assert.match(message, /No account URL found/);
      assert.deepEqual(server.requested.slice(asked), ['/dir', '/nonce', '/account'], `${status}`);
    }
  });

  test('is contacted over HTTPS only, also if its directory has other URLs', async () => {
    const signed: string[] = [];
    const plain = createServer(({ method }, response) => {
      signed.push(method ?? '');
      response.writeHead(201, { 'replay-nonce': 'a-nonce', location: 'https://localhost/account/1' }).end('{}');
    });
    after(() => plain.close());
    await once(plain.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(plain.address() as AddressInfo).port}`;
    const body = { newNonce: `${url}/nonce`, newAccount: `${url}/account`, newOrder: `${url}/order` };
    const { kind, message } = await failureWith('/dir', { status: 200, body });
    assert.equal(kind, 'refused');
    assert.match(message, /http:\/\/127\.0\.0\.1:\d+\/nonce, which is not https/);
    assert.deepEqual(signed, []);
  });

  test('that never completes a response is given up after the time limit, however often it sends a byte', async () => {
    server.overrides.set('/dir', { status: 200, endless: true });
    const { axios } = await loadAcmeLibrary(server.settings.rootPath, null, 300);
    await assert.rejects(axios.request({ url: server.url('/dir') }), (error) => {
      assert.equal(toIssueError(error, 'shop.test').kind, 'unreachable');
      return true;
    });
  });

  test('is not contacted while the file with its roots is unusable, and the flag is named', async () => {
    const asked = server.requested.length;
    for (const [rootPath, reason] of [
      ['/nowhere/root.pem', /--acme-ca-root: \/nowhere\/root.pem: it can't be read \(ENOENT/],
      [fileURLToPath(import.meta.url), /--acme-ca-root: .*acme-client.test.ts: it contains no certificate/],
    ] as const)
      await assert.rejects(
        AcmeClient.open({ ...server.settings, rootPath }, null),
        (error) => error instanceof IssueError && error.kind === 'local' && reason.test(error.message),
      );
    assert.equal(server.requested.length, asked);
  });

  test('is verified with roots given as text', async () => {
    const { rootPath, ...others } = server.settings;
    await assert.doesNotReject(AcmeClient.open({ ...others, rootPath: null, roots: readFileSync(rootPath ?? '', 'utf8') }, null));
  });

  test('cannot make the client read an endless response', async () => {
    const { kind, message } = await failureWith('/order', { status: 201, body: 'x'.repeat(2_000_000) });
    assert.equal(kind, 'refused');
    assert.match(message, /^shop.test: .*1048576/);
  });

  test('cannot make the client send thousands of requests for one order', async () => {
    const authorizations = Array.from({ length: 1_000 }, (_, nth) => server.url(`/authorization/${nth}`));
    const body = { status: 'pending', authorizations, finalize: server.url('/finalize') };
    const asked = server.requested.length;
    const { kind, message } = await failureWith('/order', { status: 201, headers: { location: server.url('/order/1') }, body });
    assert.equal(kind, 'refused');
    assert.match(message, /^shop.test: the authority asks for 1000 authorizations of one name$/);
    assert.ok(server.requested.length - asked < 10);
  });

  test('cannot get a response presented for another name, or for a token that could be a path', async () => {
    assert.match(
      (await failureWith('/authorization', server.authorization('other.test', 'token'))).message,
      /to validate other\.test instead/,
    );
    for (const token of ['../../etc/passwd', 'a/b', '', 'x'.repeat(5_000), 'a\r\nb'])
      assert.match((await failureWith('/authorization', server.authorization('shop.test', token))).message, /RFC 8555 8\.1/, token);
    assert.deepEqual(presented, []);
    await failureWith('/authorization', server.authorization('SHOP.test', 'To-k_en'));
    assert.deepEqual(
      presented.map(({ name, token }) => [name, token]),
      [['shop.test', 'To-k_en']],
    );
  });

  test('that has just validated the challenge for the previous process gets no second request, and the order continues', async () => {
    const tooLate: FaultyAnswer = {
      status: 400,
      body: { type: 'urn:ietf:params:acme:error:malformed', detail: 'Cannot update challenge with status valid' },
    };
    const { body } = server.authorization('shop.test', 'a-token') as { readonly body: { readonly challenges: readonly object[] } };
    const validated: FaultyAnswer = {
      status: 200,
      body: { ...body, challenges: body.challenges.map((one) => ({ ...one, status: 'valid' })) },
    };
    server.overrides.set('/authorization', [server.authorization('shop.test', 'a-token'), validated]);
    const { message } = await failureWith('/check', [tooLate, { status: 200, body: { type: 'http-01', status: 'valid' } }]);
    assert.match(message, /there is no \/finalize/);
    assert.match((await failureWith('/check', tooLate)).message, /Cannot update challenge/, 'it is still pending');
  });

  test('that reports a rate limit while it validates is not asked again before it ends', async () => {
    const pending: FaultyAnswer = { status: 200, body: { type: 'http-01', status: 'pending' } };
    const limited = (seconds: string): FaultyAnswer => ({ status: 429, headers: { 'retry-after': seconds } });
    const asked = (): number => server.requested.filter((path) => path === '/check').length;
    let before = asked();
    const { kind, retryAfterMs } = await failureWith('/check', [pending, pending, ...Array(50).fill(limited('3600'))]);
    assert.deepEqual([kind, retryAfterMs], ['limited', 3_600_000]);
    assert.equal(asked() - before, 3);
    before = asked();
    const valid: FaultyAnswer = { status: 200, body: { type: 'http-01', status: 'valid' } };
    assert.match((await failureWith('/check', [pending, limited('1'), valid])).message, /there is no \/finalize/, 'the order continued');
    assert.equal(asked() - before, 3);
  });

  test('that can’t validate a name for a long time is working, so the name’s server does not delay the orders of others', async () => {
    const failure = await failureWith('/check', { status: 200, body: { type: 'http-01', status: 'processing' } }, 100);
    assert.ok(failure instanceof UnfinishedError, 'its order is not over');
    assert.deepEqual(
      [failure.kind, failure.message],
      ['validation', 'shop.test: the authority has not been able to verify the name so far'],
    );
  });

  test('that processes an order for longer than we wait is working, and the order goes on', async () => {
    const order = { status: 'ready', authorizations: [], finalize: server.url('/finalize') };
    const processing = { status: 200, body: { ...order, status: 'processing' } };
    server.overrides.set('/order', { status: 201, headers: { location: server.url('/order/1') }, body: order });
    server.overrides.set('/order/1', processing);
    const failure = await failureWith('/finalize', processing, 100);
    assert.ok(failure instanceof UnissuedError, failure.message);
    assert.deepEqual(
      [failure.kind, failure.message],
      ['validation', 'shop.test: the authority has verified the name but not issued the certificate so far; the order goes on'],
    );
  });

  test('that makes an order ready only a while after it has verified the name is waited for', async () => {
    const order = { status: 'pending', authorizations: [server.url('/authorization')], finalize: server.url('/finalize') };
    const state = (more: object): FaultyAnswer => ({ status: 200, body: { ...order, ...more } });
    const early: FaultyAnswer = { status: 403, body: { type: 'urn:ietf:params:acme:error:orderNotReady', detail: 'not ready' } };
    server.overrides.set('/check', { status: 200, body: { type: 'http-01', status: 'valid' } });
    server.overrides.set('/order/1', [state({}), state({}), state({ status: 'ready' })]);
    server.overrides.set('/certificate', { status: 200, body: 'a chain' });
    assert.equal(
      await failureWith('/finalize', [early, state({ status: 'valid', certificate: server.url('/certificate') })]).catch(String),
      'Error: it issued',
    );
    server.overrides.set('/order/1', state({}));
    assert.equal((await failureWith('/finalize', early, 100)).message, 'shop.test: not ready', 'another order may get further');
    const error = { type: 'urn:ietf:params:acme:error:caa', detail: 'no' };
    server.overrides.set('/order/1', state({ status: 'invalid', error }));
    assert.deepEqual((await failureWith('/finalize', early)).message, 'shop.test: no');
  });

  test('that responds with a page, or without what belongs into a response, is reported as not answering in ACME', async () => {
    const page = { status: 201, headers: { ...HTML, location: server.url('/order/1') }, body: '<h1>down for maintenance</h1>' };
    for (const [path, answer] of [
      ['/order', page],
      ['/authorization', { status: 200, body: {} }],
      ['/authorization', { status: 200, body: { identifier: { value: 'shop.test' } } }],
    ] as const) {
      const { kind, message } = await failureWith(path, answer);
      assert.deepEqual([kind, message.slice(0, 63)], ['refused', 'shop.test: the certificate authority does not answer in ACME: C']);
      server.overrides.clear();
    }
  });

  test('that rejects a request without a word is reported with the status', async () => {
    for (const path of ['/order', '/authorization']) {
      assert.equal((await failureWith(path, { status: 403 })).message, 'shop.test: the certificate authority answers 403 and no more');
      server.overrides.clear();
    }
    assert.match((await failureWith('/dir', { status: 403 })).message, /returned error 403/);
  });

  test('that explains a failure at length is cut short', async () => {
    const detail = 'no '.repeat(100_000);
    const body = { type: 'urn:ietf:params:acme:error:rejectedIdentifier', detail };
    assert.equal((await failureWith('/order', { status: 400, body })).message.length, 2_048);
  });

  test('that wants a person to agree to new terms of service is reported with the page to open', async () => {
    const instance = 'https://ca.test/agree';
    const body = { type: 'urn:ietf:params:acme:error:userActionRequired', detail: 'terms of service have changed', instance };
    const { kind, message } = await failureWith('/order', { status: 403, body });
    assert.deepEqual([kind, message], ['refused', `shop.test: terms of service have changed; open ${instance} and agree to it there`]);
  });

  test('that declares an order invalid after a while is working, for any name and explanation', async () => {
    const order = { status: 'ready', authorizations: [], finalize: server.url('/finalize') };
    const location = server.url('/order/1');
    const error = { type: 'urn:ietf:params:acme:error:caa', detail: 'CAA record for nonce.shop.test prevents issuance (HTTP 500)' };
    server.overrides.set('/order', { status: 201, headers: { location }, body: order });
    const processing = { status: 200, body: { ...order, status: 'processing' } };
    server.overrides.set('/order/1', [processing, { status: 200, body: { ...order, status: 'invalid', error } }]);
    const { kind, message } = await failureWith('/finalize', processing);
    assert.deepEqual([kind, message], ['refused', `shop.test: ${error.detail}`]);
  });

  test('that rejects every nonce is reported as not working', async () => {
    const body = { type: 'urn:ietf:params:acme:error:badNonce', detail: 'the nonce is not mine' };
    assert.equal((await failureWith('/order', { status: 400, body })).kind, 'unreachable');
  });
});
