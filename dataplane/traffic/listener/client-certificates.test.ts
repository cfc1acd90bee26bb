import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type ClientHttp2Session, connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type ConnectionOptions, connect, type SecureVersion, type TLSSocket } from 'node:tls';
import { Worker } from 'node:worker_threads';
import { type MadePair, makePair } from '../../../shared/certificates/testing/pairs.ts';
import type { RouteInput } from '../../../shared/route.ts';
import type { Cidr } from '../../../shared/values/cidr.ts';
import { eventually, get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { field } from '../testing/wire.ts';

const VERSIONS = ['TLSv1.2', 'TLSv1.3'] as const;
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
/** One certificate for all of them, so that they differ only in their rules. */
const NAMES = ['open.test', 'also-open.test', 'staff.test', 'staff-too.test', 'guests.test', '*.wild.test', 'late.test', '127.0.0.1'];

const authority = await makePair([], { subject: 'CN=servers', authority: true });
const shown = await makePair(NAMES, { signer: authority.signs });
const staff = await makePair([], { subject: 'CN=staff', authority: true });
const guests = await makePair([], { subject: 'CN=guests', authority: true });
const alice = await makePair([], { subject: 'CN=alice', signer: staff.signs, usages: [CLIENT_AUTH] });
const guest = await makePair([], { subject: 'CN=guest', signer: guests.signs });

const showing = ({ certificate, privateKey }: MadePair): ConnectionOptions => ({ cert: certificate, key: privateKey });
const asking = (route: RouteInput, { certificate }: MadePair): RouteInput => ({ ...route, client_auth: { ca: certificate } });

const upstream = await UpstreamFixture.serving(ok('inside'));
const sites = (): RouteInput[] => [
  site('open.test', upstream),
  site('also-open.test', upstream),
  asking(site('staff.test', upstream), staff),
  asking(site('staff-too.test', upstream), staff),
  asking(site('guests.test', upstream), guests),
  asking(site('*.wild.test', upstream), staff),
  site('late.test', upstream),
  asking(site('127.0.0.1', upstream), staff),
];
let proxy: ProxyFixture;

before(async () => {
  proxy = await ProxyFixture.with(sites(), { httpsPort: 0 });
  // Without shared keys each server would have its own, and no session could be resumed elsewhere anyway.
  await proxy.useTicketKeys(randomBytes(48));
  await proxy.certify({ domains: NAMES, certificate: shown.certificate, private_key: shown.privateKey });
});
after(() => {
  proxy[Symbol.dispose]();
  upstream[Symbol.dispose]();
});

/** A client that has received a response, and its session. @throws the error that ended its connection. */
async function visit(servername: string | null, more: ConnectionOptions = {}, host = servername ?? '127.0.0.1'): Promise<Visit> {
  const socket = connect({
    ...{ host: '127.0.0.1', port: proxy.securePort, ca: authority.certificate },
    ...(servername !== null && { servername }),
    ...more,
  });
  let session: Buffer | undefined;
  socket.on('session', (ticket) => {
    session = ticket;
  });
  try {
    await once(socket, 'secureConnect');
    const answer = await sendRequest(socket, host);
    // TLS 1.3 sends tickets after the handshake.
    if (!socket.isSessionReused()) await eventually('a ticket', () => session !== undefined);
    return { answer, reused: socket.isSessionReused(), session, socket };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/**
 * Like `visit`, but sends nothing, so that it receives every alert. Resolves with what ended the connection, before or after the handshake.
 */
async function refusal(servername: string | null, more: ConnectionOptions = {}): Promise<string> {
  const socket = connect({
    ...{ host: '127.0.0.1', port: proxy.securePort, ca: authority.certificate },
    ...(servername !== null && { servername }),
    ...more,
  });
  let reason = 'closed without an alert';
  socket.on('error', ({ message }) => {
    reason = message;
  });
  // An accepted client receives nothing more, so the test then times out.
  await new Promise((resolve) => socket.resume().once('close', resolve));
  return reason;
}
type Visit = { readonly answer: string; readonly reused: boolean; readonly session: Buffer | undefined; readonly socket: TLSSocket };

/** One request and its complete response. @throws the error that ended the connection. */
function sendRequest(socket: TLSSocket, host: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const read = (chunk: Buffer) => {
      answer += chunk.toString('latin1');
      const [head = '', body] = answer.split('\r\n\r\n');
      if (body === undefined || body.length < Number(/content-length: (\d+)/i.exec(head)?.[1])) return;
      socket.off('data', read);
      resolve(answer);
    };
    socket.on('data', read);
    socket.once('error', reject).once('close', () => reject(new Error(`closed after ${JSON.stringify(answer)}`)));
    socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  });
}

const statusOf = ({ answer }: Pick<Visit, 'answer'>): string => answer.slice(9, 12);
const only = (version: SecureVersion): ConnectionOptions => ({ minVersion: version, maxVersion: version });
const reasons = (): string[] =>
  proxy.log.lines
    .filter(({ message }) => message === 'a client certificate is not accepted')
    .map(({ fields }) => ('reason' in fields ? String(fields.reason) : ''));

describe('a site that requires client certificates', () => {
  for (const version of VERSIONS) {
    test(`accepts a certificate of its authority, and sends an alert to a client without one (${version})`, async () => {
      const { answer, socket } = await visit('staff.test', { ...showing(alice), ...only(version) });
      assert.match(answer, /^HTTP\/1.1 200 [\s\S]*inside$/);
      socket.destroy();
      const asked = upstream.requests.length;
      assert.match(await refusal('staff.test', only(version)), version === 'TLSv1.3' ? /certificate required/i : /handshake failure/i);
      assert.equal(upstream.requests.length, asked);
    });

    test(`refuses a certificate of another authority (${version})`, async () => {
      const expired = await makePair([], { subject: 'CN=bob', signer: staff.signs, notBefore: 1, notAfter: 1_000_000 });
      const forServers = await makePair([], { subject: 'CN=box', signer: staff.signs, usages: [SERVER_AUTH] });
      const forged = await makePair([], { subject: 'CN=alice', signer: { ...guests.signs, subject: 'CN=staff' } });
      const asked = upstream.requests.length;
      for (const [pair, reason] of [
        [guest, /UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT/],
        [expired, /CERT_HAS_EXPIRED/],
        [forServers, /INVALID_PURPOSE/],
        [forged, /CERT_SIGNATURE_FAILURE|UNABLE_TO_VERIFY_LEAF_SIGNATURE/],
      ] as const) {
        const before = reasons().length;
        await assert.rejects(visit('staff.test', { ...showing(pair), ...only(version) }));
        // The client has had time to receive it.
        proxy.clock.pass(2_500);
        await eventually('a reason', () => reasons().length > before);
        assert.match(reasons().at(-1) ?? '', reason);
      }
      assert.equal(upstream.requests.length, asked);
    });
  }

  test('sends the alert also if the client responds before the event loop has turned', async () => {
    const [sent, clients] = [new Int32Array(new SharedArrayBuffer(4)), 10];
    const thread = new Worker(new URL('../testing/client-without-certificate.ts', import.meta.url), {
      workerData: { port: proxy.securePort, servername: 'staff.test', clients, sent },
    });
    // Before sockets are read, as if this thread was busy with something else.
    const busy = setInterval(() => Atomics.wait(sent, 0, 0, 20), 1);
    const reasons: string[] = [];
    thread.on('message', (reason: string) => reasons.push(reason));
    await once(thread, 'exit');
    clearInterval(busy);
    assert.equal(reasons.length, clients);
    for (const reason of reasons) assert.match(reason, /certificate required/i);
  });

  test('accepts only certificates of the authorities in the file', async () => {
    const middle = await makePair([], { subject: 'CN=middle', authority: true, signer: staff.signs });
    const below = await makePair([], { subject: 'CN=carol', signer: middle.signs });
    await assert.rejects(visit('staff.test', showing(below)));
    const sent = { cert: below.certificate + middle.certificate, key: below.privateKey };
    assert.equal(statusOf(await visit('staff.test', sent)), '200');
    const both = { ...staff, certificate: staff.certificate + middle.certificate };
    await proxy.publish([asking(site('late.test', upstream), both)]);
    assert.equal(statusOf(await visit('late.test', showing(below))), '200');
    const dave = await makePair([], { subject: 'CN=dave' });
    await proxy.publish([asking(site('late.test', upstream), dave)]);
    assert.equal(statusOf(await visit('late.test', showing(dave))), '200');
    await assert.rejects(visit('late.test', showing(alice)));
  });

  test('requires them under a wildcard, for an address, and for every host without a site of its own', async () => {
    assert.match(await refusal('shop.wild.test'), /certificate required/i);
    assert.equal(statusOf(await visit('shop.wild.test', showing(alice))), '200');
    assert.match(await refusal(null), /certificate required/i);
    assert.equal(statusOf(await visit(null, showing(alice))), '200');
    using other = await ProxyFixture.with([asking(site('*', upstream), staff), site('open.test', upstream)], { httpsPort: 0 });
    await other.certify({ domains: NAMES, certificate: shown.certificate, private_key: shown.privateKey });
    const to = { port: other.securePort };
    assert.equal(statusOf(await visit('open.test', to)), '200');
    assert.match(await refusal('guests.test', to), /certificate required/i);
    assert.equal(statusOf(await visit('guests.test', { ...to, ...showing(alice) })), '200');
  });

  test('is not served without TLS, also if a proxy reports a certificate of its client', async () => {
    const { line, body } = await proxy.request(get().replace('a.test', 'staff.test'));
    assert.match(line, / 403 /);
    assert.match(body, /client certificate/);
    const trusting = { trustedProxies: ['127.0.0.0/8' as Cidr] };
    using behind = await ProxyFixture.with(sites(), trusting);
    const claim = get('/', 'X-Forwarded-Proto: https\r\n').replace('a.test', 'staff.test');
    assert.match((await behind.request(claim)).line, / 403 /);
    const https = { automatic: true, anyName: true, dns: false, internal: false, local: false, publicPort: 443 };
    using secure = await ProxyFixture.with(sites(), { ...trusting, https });
    assert.match((await secure.request(claim)).line, / 403 /);
    const { line: moved, head } = await secure.request(get().replace('a.test', 'staff.test'));
    assert.match(moved, / 308 /);
    assert.equal(field(head, 'Location'), 'https://staff.test/');
  });
});

describe('a session', () => {
  for (const version of VERSIONS) {
    const mode = only(version);

    test(`is resumed with the server that issued it (${version})`, async () => {
      const open = await visit('open.test', mode);
      assert.deepEqual(await summary(visit('open.test', { ...mode, ...resuming(open) })), { status: '200', reused: true });
      const inside = await visit('staff.test', { ...mode, ...showing(alice) });
      assert.deepEqual(await summary(visit('staff.test', { ...mode, ...resuming(inside) })), { status: '200', reused: true });
    });

    for (const [from, shows] of [
      ['open.test', null],
      ['guests.test', guest],
      ['staff-too.test', alice],
      ['shop.wild.test', alice],
    ] as const) {
      test(`of ${from} opens no other site that requires certificates (${version})`, async () => {
        const made = await visit(from, { ...mode, ...(shows && showing(shows)) });
        const asked = upstream.requests.length;
        assert.match(await refusal('staff.test', { ...mode, ...resuming(made) }), /certificate required|handshake failure/i);
        assert.equal(upstream.requests.length, asked);
        // A client with the certificate is accepted anyway, after a full handshake.
        const whole = await summary(visit('staff.test', { ...mode, ...resuming(made), ...showing(alice) }));
        assert.deepEqual(whole, { status: '200', reused: false });
      });
    }

    test(`that is resumed serves no host with another rule (${version})`, async () => {
      const open = await visit('open.test', mode);
      const again = await visit('open.test', { ...mode, ...resuming(open) });
      assert.equal(again.reused, true);
      const asked = upstream.requests.length;
      assert.match(await sendRequest(again.socket, 'staff.test'), /^HTTP\/1.1 421 /);
      const inside = await visit('staff.test', { ...mode, ...showing(alice) });
      const back = await visit('staff.test', { ...mode, ...resuming(inside) });
      assert.equal(back.reused, true);
      for (const host of ['guests.test', 'open.test']) {
        const { answer } = await visit('staff.test', { ...mode, ...resuming(inside) }, host);
        assert.match(answer, /^HTTP\/1.1 421 /, host);
      }
      assert.equal(upstream.requests.length, asked + 2);
    });

    test(`of a client with a certificate opens no site without a rule (${version})`, async () => {
      const inside = await visit('staff.test', { ...mode, ...showing(alice) });
      assert.deepEqual(await summary(visit('open.test', { ...mode, ...resuming(inside) })), { status: '200', reused: false });
    });

    test(`that is resumed has the name of its own ClientHello, and is not resumed under another (${version})`, async () => {
      const named = { headers: [{ name: 'X-Name', value: '<{http.request.tls.server_name}>' }] };
      const fromNames = ['open.test', 'also-open.test'].map((name) => ({ ...site(name, upstream), ...named }));
      using other = await ProxyFixture.with(fromNames, { httpsPort: 0 });
      await other.useTicketKeys(randomBytes(48));
      await other.certify({ domains: NAMES, certificate: shown.certificate, private_key: shown.privateKey });
      const to = { ...mode, port: other.securePort };
      const first = await visit('open.test', to);
      assert.match(first.answer, /\r\nX-Name: <open\.test>\r\n/);
      for (const name of ['open.test', 'also-open.test']) {
        const again = await visit(name, { ...to, ...resuming(first) });
        assert.equal(again.reused, name === 'open.test', name);
        assert.match(again.answer, new RegExp(`\\r\\nX-Name: <${name}>\\r\\n`));
      }
    });

    test(`from before the rule ends with the rule (${version})`, async () => {
      await proxy.publish([site('late.test', upstream)]);
      const open = await visit('late.test', mode);
      await proxy.publish([asking(site('late.test', upstream), guests)]);
      assert.match(await refusal('late.test', { ...mode, ...resuming(open) }), /certificate required|handshake failure/i);
      const ofGuests = await visit('late.test', { ...mode, ...showing(guest) });
      await proxy.publish([asking(site('late.test', upstream), staff)]);
      assert.match(await refusal('late.test', { ...mode, ...resuming(ofGuests) }), /certificate required|handshake failure/i);
      await proxy.publish([site('late.test', upstream)]);
      assert.equal((await visit('late.test', { ...mode, ...resuming(ofGuests) })).reused, false);
    });
  }

  test('kept by another TLS library opens no other site either', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'sessions-'));
    t.after(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'alice.pem'), alice.certificate + alice.privateKey);
    const file = join(folder, 'session.pem');
    const cert = ['-cert', join(folder, 'alice.pem')];
    for (const flag of ['-tls1_2', '-tls1_3']) {
      await openssl('staff-too.test', flag, '-sess_out', file, ...cert);
      assert.match(await openssl('staff-too.test', flag, '-sess_in', file), /Reused, TLS[\s\S]*HTTP\/1.1 200/, flag);
      const elsewhere = await openssl('staff.test', flag, '-sess_in', file);
      assert.doesNotMatch(elsewhere, /Reused|HTTP\/1.1/, flag);
    }
  });
});

const resuming = ({ session }: Visit): ConnectionOptions => ({ ...(session && { session }) });

async function summary(visiting: Promise<Visit>): Promise<{ status: string; reused: boolean }> {
  const visit = await visiting;
  visit.socket.destroy();
  return { status: statusOf(visit), reused: visit.reused };
}

/** The output of `openssl s_client`, which contains the response to one request. */
function openssl(name: string, ...flags: string[]): Promise<string> {
  return new Promise((resolve) => {
    const args = ['s_client', '-connect', `127.0.0.1:${proxy.securePort}`, '-servername', name, '-ign_eof', ...flags];
    const child = execFile('openssl', args, { timeout: 60_000 }, (_error, stdout, stderr) => resolve(stdout + stderr));
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(`GET / HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`);
  });
}

describe('a connection', () => {
  test('serves only hosts with the same rule as the name it was opened for', async () => {
    const open = await visit('open.test');
    assert.match(await sendRequest(open.socket, 'also-open.test'), /^HTTP\/1.1 200 /);
    assert.match(await sendRequest(open.socket, 'staff.test'), /^HTTP\/1.1 421 /);
    for (const host of ['open.test', 'guests.test']) {
      const inside = await visit('staff.test', showing(alice));
      assert.match(await sendRequest(inside.socket, 'staff-too.test'), /^HTTP\/1.1 200 /);
      assert.match(await sendRequest(inside.socket, host), /^HTTP\/1.1 421 /, host);
      inside.socket.destroy();
    }
  });

  test('over HTTP/2 keeps serving its own hosts after a request for another one', async () => {
    const session = await http2('open.test');
    assert.equal(await status(session, 'staff.test'), 421);
    assert.equal(await status(session, 'open.test'), 200);
    session.destroy();
    const inside = await http2('staff.test', showing(alice));
    assert.equal(await status(inside, 'guests.test'), 421);
    assert.equal(await status(inside, 'open.test'), 421);
    assert.equal(await status(inside, 'staff-too.test'), 200);
    inside.destroy();
  });

  test('that is open when the rule of its site changes is closed with its next request', async () => {
    for (const changed of [asking(site('late.test', upstream), guests), site('late.test', upstream)]) {
      await proxy.publish([asking(site('late.test', upstream), staff)]);
      const { socket } = await visit('late.test', showing(alice));
      const session = await http2('late.test', showing(alice));
      assert.equal(await status(session, 'late.test'), 200);
      await proxy.publish([changed]);
      const answer = await sendRequest(socket, 'late.test');
      assert.match(answer, /^HTTP\/1.1 421 [\s\S]*\r\nConnection: close\r\n/);
      await once(socket, 'close');
      const ended = once(session, 'goaway');
      assert.equal(await status(session, 'late.test'), 421);
      await ended;
      session.destroy();
    }
  });

  test('keeps its rule as long as the rule does not change', async () => {
    const { socket } = await visit('staff.test', showing(alice));
    await proxy.publish([{ ...asking(site('staff.test', upstream), staff), headers: [{ name: 'X-New', value: 'yes' }] }]);
    assert.match(await sendRequest(socket, 'staff.test'), /^HTTP\/1.1 200 [\s\S]*\r\nX-New: yes\r\n/);
    socket.destroy();
  });
});

async function http2(servername: string, more: ConnectionOptions = {}): Promise<ClientHttp2Session> {
  const session = connectHttp2(`https://${servername}:${proxy.securePort}`, { ca: authority.certificate, host: '127.0.0.1', ...more });
  session.on('error', () => undefined);
  await once(session, 'connect');
  return session;
}

async function status(session: ClientHttp2Session, host: string): Promise<number | undefined> {
  const stream = session.request({ ':path': '/', ':authority': host });
  const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders & { ':status'?: number }];
  stream.resume();
  return headers[':status'];
}
