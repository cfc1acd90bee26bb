import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { makeChain } from '../../../../shared/certificates/testing/pairs.ts';
import { ManualClock } from '../../../../shared/runtime/testing/manual-clock.ts';
import { RenewalInfoClient } from './renewal-info-client.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const WINDOW = { start: '2026-12-01T00:00:00Z', end: '2026-12-02T01:00:00+01:00' };

/** An authority controlled by the test that records its requests. */
class Authority implements AsyncDisposable {
  readonly requested: string[] = [];
  /** Members of its directory; null: 503. */
  directory: object | null = {};
  answer: { status?: number; body: unknown; retryAfter?: string } | null = { body: { suggestedWindow: WINDOW } };
  readonly clock = new ManualClock();
  private readonly server: Server;
  readonly base: string;

  private constructor(server: Server) {
    this.server = server;
    this.base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.directory = { newOrder: `${this.base}/order`, renewalInfo: `${this.base}/ari/` };
  }

  static async start(): Promise<Authority> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const authority = new Authority(server);
    server.on('request', authority.listener);
    return authority;
  }

  private readonly listener: RequestListener = (request, response) => {
    this.requested.push(request.url ?? '');
    if (request.url === '/dir') return void response.writeHead(this.directory === null ? 503 : 200).end(JSON.stringify(this.directory));
    if (this.answer === null) return;
    const { status = 200, body, retryAfter } = this.answer;
    response.writeHead(status, retryAfter === undefined ? {} : { 'retry-after': retryAfter });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };

  client(): RenewalInfoClient {
    return new RenewalInfoClient({ directory: `${this.base}/dir`, rootPath: null }, this.clock);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

describe('an authority with ARI', () => {
  test('is queried by CertID, and for its directory only once', async () => {
    await using authority = await Authority.start();
    const client = authority.client();
    const [advice] = await Promise.all([client.fetch('key.serial'), client.fetch('key.other')]);
    assert.deepEqual(advice?.window, { start: Date.UTC(2026, 11, 1), end: Date.UTC(2026, 11, 2) });
    assert.deepEqual(authority.requested.toSorted(), ['/ari/key.other', '/ari/key.serial', '/dir']);
  });

  test('can give a page with an explanation', async () => {
    await using authority = await Authority.start();
    const client = authority.client();
    assert.equal((await client.fetch('a.b'))?.explanation, null);
    for (const [url, seen] of [
      ['https://ca.test/incident', 'https://ca.test/incident'],
      ['javascript:alert(1)', null],
    ]) {
      authority.answer = { body: { suggestedWindow: WINDOW, explanationURL: url } };
      assert.equal((await client.fetch('a.b'))?.explanation, seen);
    }
  });

  test('sets the poll interval from a minute to a day, with a default of six hours', async () => {
    await using authority = await Authority.start();
    const client = authority.client();
    const date = (ms: number) => new Date(authority.clock.now() + ms).toUTCString();
    for (const [retryAfter, ms] of [
      [undefined, 6 * HOUR],
      ['7200', 2 * HOUR],
      ['0', MINUTE],
      ['99999999', 24 * HOUR],
      ['soon', 6 * HOUR],
      [date(3 * HOUR), 3 * HOUR],
      [date(-HOUR), MINUTE],
    ] as const) {
      authority.answer = { body: { suggestedWindow: WINDOW }, ...(retryAfter !== undefined && { retryAfter }) };
      assert.equal((await client.fetch('a.b'))?.retryAfterMs, ms, retryAfter ?? 'none');
    }
  });

  test('that returns anything else has given no renewal window', async () => {
    await using authority = await Authority.start();
    const client = authority.client();
    for (const answer of [
      { status: 404, body: {} },
      { status: 500, body: { suggestedWindow: WINDOW } },
      { body: 'not JSON' },
      { body: {} },
      { body: { suggestedWindow: { start: 'now', end: 'then' } } },
      { body: `{"suggestedWindow":${JSON.stringify(WINDOW)},"a":"${'x'.repeat(70_000)}"}` },
    ]) {
      authority.answer = answer;
      await assert.rejects(client.fetch('a.b'), JSON.stringify(answer).slice(0, 80));
    }
  });

  test('that does not respond is given up after a timeout', async () => {
    await using authority = await Authority.start();
    const client = authority.client();
    await client.fetch('a.b');
    authority.answer = null;
    const requested = client.fetch('a.b');
    while (authority.requested.length < 3) await new Promise((resolve) => setTimeout(resolve, 1));
    authority.clock.pass(10_000);
    await assert.rejects(requested, /has not answered for 10 s/);
  });
});

test('the Retry-After of an error response is used', async () => {
  await using authority = await Authority.start();
  authority.answer = { status: 503, body: {}, retryAfter: '7200' };
  await assert.rejects(authority.client().fetch('a.b'), { retryAfterMs: 2 * HOUR, message: /returns 503$/ });
});

test('an authority without ARI is only queried for its directory, once a day', async () => {
  await using authority = await Authority.start();
  authority.directory = { newOrder: `${authority.base}/order` };
  const client = authority.client();
  assert.equal(await client.fetch('a.b'), null);
  assert.equal(await client.fetch('a.b'), null);
  assert.deepEqual(authority.requested, ['/dir']);
  authority.clock.pass(24 * HOUR);
  await client.fetch('a.b');
  assert.deepEqual(authority.requested, ['/dir', '/dir']);
});

test('a directory that could not be read is requested again after a minute, however many polls need it', async () => {
  await using authority = await Authority.start();
  const found = authority.directory;
  authority.directory = null;
  const client = authority.client();
  await assert.rejects(client.fetch('a.b'), /returns 503/);
  await assert.rejects(client.fetch('a.c'), /returns 503/);
  assert.equal(authority.requested.length, 1);
  authority.directory = found;
  authority.clock.pass(MINUTE);
  assert.notEqual(await client.fetch('a.b'), null);
});

test('an authority is verified by its own root', async () => {
  const { root, middle, leaf } = await makeChain(['127.0.0.1']);
  const folder = mkdtempSync(join(tmpdir(), 'renewal-information-'));
  const rootPath = join(folder, 'root.pem');
  writeFileSync(rootPath, root.certificate);
  const pair = { cert: leaf.certificate + middle.certificate, key: leaf.privateKey };
  const server = createSecureServer(pair, (_, response) => response.end('{}'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const directory = `https://127.0.0.1:${(server.address() as AddressInfo).port}/dir`;
  const clock = new ManualClock();
  try {
    assert.equal(await new RenewalInfoClient({ directory, rootPath }, clock).fetch('a.b'), null);
    const whom = { directory, rootPath: null, roots: root.certificate };
    assert.equal(await new RenewalInfoClient(whom, clock).fetch('a.b'), null);
    await assert.rejects(new RenewalInfoClient({ directory, rootPath: null }, clock).fetch('a.b'), {
      code: 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    });
    await assert.rejects(new RenewalInfoClient({ directory, rootPath: '/nowhere' }, clock).fetch('a.b'), { code: 'ENOENT' });
  } finally {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, maxRetries: 10 });
  }
});
