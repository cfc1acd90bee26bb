import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { connect } from 'node:tls';
import { defaultNameOf } from '../../../shared/certificates/default-certificate.ts';
import { type MadePair, makePair } from '../../../shared/certificates/testing/pairs.ts';
import { ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';

const own = await makePair(['own.test']);
const ofPort = await makePair(['port.example']);
const ofAddress = await makePair(['address.example']);

let upstream: UpstreamFixture;
let proxy: ProxyFixture;
before(async () => {
  upstream = await UpstreamFixture.serving(ok('inside'));
  proxy = await ProxyFixture.with([site('own.test', upstream), site('other.test', upstream)], { httpsPort: 0, bind: '0.0.0.0' });
  const pem = ({ certificate, privateKey }: MadePair) => ({ certificate, private_key: privateKey });
  await proxy.certify({ domains: ['own.test'], ...pem(own) });
  const port = proxy.securePort;
  await proxy.certifyAs(defaultNameOf({ address: null, port }), { domains: [], ...pem(ofPort) });
  await proxy.certifyAs(defaultNameOf({ address: '127.0.0.2', port }), { domains: [], ...pem(ofAddress) });
});
after(() => {
  proxy[Symbol.dispose]();
  upstream[Symbol.dispose]();
});

/** The result for a client that sends a name, or none, and requests a host. */
async function visit(servername: string, host: string, address = '127.0.0.1'): Promise<{ readonly name: string; readonly line: string }> {
  const socket = connect({ host: address, port: proxy.securePort, servername, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { subjectaltname: name = '' } = socket.getPeerCertificate();
  socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  let text = '';
  for await (const piece of socket) text += String(piece);
  return { name, line: text.slice(0, text.indexOf('\r\n')) };
}

test('a name without a certificate of its own gets the default one of the address and port, as does a client without a name', async () => {
  assert.match((await visit('own.test', 'own.test')).name, /own\.test/);
  for (const name of ['other.test', 'unknown.test', '']) {
    assert.match((await visit(name, 'other.test')).name, /port\.example/, name);
    assert.match((await visit(name, 'other.test', '127.0.0.2')).name, /address\.example/, name);
  }
});

test('a default certificate serves every host without its own, and requests for other hosts are misdirected', async () => {
  assert.match((await visit('other.test', 'other.test')).line, / 200 /);
  assert.match((await visit('unknown.test', 'other.test')).line, / 200 /);
  assert.match((await visit('unknown.test', 'unknown.test')).line, / 404 /);
  assert.match((await visit('other.test', 'own.test')).line, / 421 /);
  assert.match((await visit('own.test', 'other.test')).line, / 421 /);
});

test('a client cannot request the default certificate of another place by its name in our index', async () => {
  const place = defaultNameOf({ address: '127.0.0.2', port: proxy.securePort });
  assert.match((await visit(place, 'other.test')).name, /port\.example/);
});
