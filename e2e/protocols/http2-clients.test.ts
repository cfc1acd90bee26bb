import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, type IncomingHttpHeaders } from 'node:http2';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { CertificatesFixture } from '../../dataplane/traffic/testing/certificates.ts';
import { missing } from '../components.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { digestOf, LARGE, type MessageApp, messageApp } from '../testing/message-app.ts';
import { freePort } from '../testing/ports.ts';

const run = promisify(execFile);
const BODY = randomBytes(5_000_000);
const UPLOADED = `${digestOf(BODY)} `;

const folder = new Folder();
const authority = new CertificatesFixture();
const apps: MessageApp[] = [];
let dataplane: Dataplane;
let httpsPort: number;

before(async () => {
  writeFileSync(folder.file('body'), BODY);
  writeFileSync(folder.file('root.pem'), authority.ca);
  httpsPort = await freePort();
  const flags = ['--cert-dir', folder.file('certs'), '--https-port', `${httpsPort}`];
  dataplane = await Dataplane.start({ stateDir: folder.file('state'), flags });
  for (const protocol of ['http1', 'h2c'] as const) {
    const app = await messageApp(protocol);
    apps.push(app);
    await dataplane.route(`${protocol}.test`, app.address, { https: 'off', ...(protocol === 'h2c' && { transport: { protocol } }) });
  }
  const domains = ['http1.test', 'h2c.test'];
  const { cert, key } = authority.issue(...domains);
  const posted = await dataplane.admin('POST', '/certificates', { domains, certificate: cert, private_key: key });
  assert.equal(posted.status, 201, posted.text);
});

after(async () => {
  await dataplane[Symbol.asyncDispose]();
  for (const app of apps) app[Symbol.dispose]();
  folder[Symbol.dispose]();
});

/** What a client received: the statuses of all heads, all fields (those of trailers, too), and the body. */
type Received = { readonly statuses: readonly number[]; readonly fields: string; readonly body: Buffer };
type Client = {
  readonly skip: string | undefined;
  /** A GET, or a POST of the file `body`; a POST with `trailer` has that field after its body. */
  request(secure: boolean, host: string, path: string, more?: More): Promise<Received>;
};
type More = {
  readonly post?: true;
  readonly trailer?: string;
  /** What of the response is looked at; everything by default. A client that would need a request of its own for the rest leaves it empty. */
  readonly only?: 'fields' | 'body';
};

const origin = (secure: boolean, host: string): string =>
  secure ? `https://${host}:${httpsPort}` : `http://${host}:${dataplane.httpPort}`;

const curl: Client = {
  skip: missing('curl'),
  async request(secure, host, path, { post } = {}) {
    const args = ['-sS', '--cacert', folder.file('root.pem'), '--resolve', `*:${secure ? httpsPort : dataplane.httpPort}:127.0.0.1`];
    args.push(secure ? '--http2' : '--http2-prior-knowledge', '-D', folder.file('head'), '-w', '%{stderr}%{http_version}');
    if (post) args.push('--data-binary', `@${folder.file('body')}`);
    const { stdout, stderr } = await run('curl', [...args, `${origin(secure, host)}${path}`], {
      encoding: 'buffer',
      maxBuffer: 2 * LARGE.length,
    });
    assert.equal(String(stderr), '2');
    const head = readFileSync(folder.file('head'), 'latin1');
    return { statuses: [...head.matchAll(/^HTTP\/2 (\d+)/gm)].map(([, status]) => Number(status)), fields: head, body: stdout };
  },
};

/** It prints bodies between its frames, so a body can only be read exactly if no frames interrupt it, in a request of its own. */
const nghttp = (...options: readonly string[]): Client => ({
  skip: missing('nghttp'),
  async request(secure, host, path, { post, trailer, only } = {}) {
    const args = ['--no-verify-peer', '-H', `:authority: ${host}`, ...options];
    if (post) args.push('-d', folder.file('body'));
    // With a Content-Length the body is sent to an HTTP/1.1 target without chunks, and so without trailers.
    if (trailer !== undefined) args.push('--trailer', trailer, '--no-content-length');
    const url = `${origin(secure, '127.0.0.1')}${path}`;
    const fields = only === 'body' ? '' : (await run('nghttp', ['-nv', ...args, url])).stdout;
    const whole = { encoding: 'buffer', maxBuffer: 2 * LARGE.length } as const;
    const body = only === 'fields' ? Buffer.alloc(0) : (await run('nghttp', [...args, url], whole)).stdout;
    return { statuses: [...fields.matchAll(/:status: (\d+)/g)].map(([, status]) => Number(status)), fields, body };
  },
});

const node: Client = {
  skip: undefined,
  async request(secure, host, path, { post, trailer } = {}) {
    const session = connect(origin(secure, '127.0.0.1'), { ca: authority.ca, servername: host });
    try {
      const options = { endStream: !post, waitForTrailers: trailer !== undefined };
      const stream = session.request({ ':authority': host, ':path': path, ':method': post ? 'POST' : 'GET' }, options);
      const [name = '', value = ''] = trailer?.split(': ') ?? [];
      stream.on('wantTrailers', () => stream.sendTrailers({ [name]: value }));
      if (post) stream.end(BODY);
      const heads: IncomingHttpHeaders[] = [];
      stream.on('headers', (fields) => heads.push(fields));
      stream.on('trailers', (fields) => heads.push(fields));
      const [final] = (await once(stream, 'response')) as [IncomingHttpHeaders];
      heads.push(final);
      const pieces: Buffer[] = [];
      for await (const piece of stream) pieces.push(piece);
      const statuses = heads.flatMap((fields) => (fields[':status'] === undefined ? [] : [Number(fields[':status'])]));
      return {
        statuses,
        fields: heads.flatMap((fields) => Object.entries(fields).map(([one, text]) => `${one}: ${text}\n`)).join(''),
        body: Buffer.concat(pieces),
      };
    } finally {
      session.close();
    }
  },
};

const PLAIN = nghttp();
const CLIENTS: readonly (readonly [name: string, client: Client, secure: boolean])[] = [
  ['curl over TLS', curl, true],
  ['curl with prior knowledge', curl, false],
  ['nghttp over TLS', PLAIN, true],
  ['nghttp with prior knowledge', PLAIN, false],
  ['nghttp with small windows and padding', nghttp('-w', '14', '-W', '15', '-b', '200'), true],
  ['nghttp without a dynamic table and without priorities', nghttp('-c', '0', '--no-rfc7540-pri'), true],
  ['Node over TLS', node, true],
  ['Node with prior knowledge', node, false],
];

for (const [name, client, secure] of CLIENTS)
  for (const host of ['http1.test', 'h2c.test'])
    describe(`${name}, to ${host}`, { skip: client.skip }, () => {
      test('GET', async () => {
        const { statuses, body } = await client.request(secure, host, '/x');
        assert.deepEqual([statuses, String(body)], [[200], 'GET /x']);
      });
      test('a large response', async () => {
        const { body } = await client.request(secure, host, '/large', { only: 'body' });
        assert.ok(body.equals(LARGE), `${body.length} bytes`);
      });
      test('a large request', async () => {
        const { body } = await client.request(secure, host, '/digest', { post: true, only: 'body' });
        assert.equal(String(body), `${UPLOADED}{}`);
      });
      test('trailers of a request', { skip: client === curl && 'curl has no option for them' }, async () => {
        const { body } = await client.request(secure, host, '/digest', { post: true, trailer: 'x-sum: 7', only: 'body' });
        assert.equal(String(body), `${UPLOADED}{"x-sum":"7"}`);
      });
      test('trailers of a response', async () => {
        const { fields, body } = await client.request(secure, host, '/trailers');
        assert.equal(String(body), 'body');
        assert.match(fields, /x-sum: 7/);
      });
      test('early hints', async () => {
        const { statuses, fields } = await client.request(secure, host, '/hints', { only: 'fields' });
        assert.deepEqual(statuses, [103, 200]);
        assert.match(fields, /link: <\/style\.css>; rel=preload; as=style/);
      });
    });
