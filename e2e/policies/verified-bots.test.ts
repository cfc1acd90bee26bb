import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:http2';
import { test } from 'node:test';
import { NameServer, type Records } from '../../dataplane/bots/testing/name-server.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import { Folder } from '../testing/dataplane.ts';
import { Pair } from '../testing/pair.ts';
import { Upstream } from '../testing/upstream.ts';

const GOOGLEBOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)';
const BINGBOT = 'Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)';
const [FORGER, UNDECIDED, LATE] = ['203.0.114.7', '66.249.65.9', '66.249.65.10'];
/** More than one, because an address whose look-up takes too long on a busy machine is not looked up again for minutes. */
const CRAWLERS = Array.from({ length: 60 }, (_, nth) => `66.249.66.${nth + 1}`);
const VISITS_EACH = 40;

const pointer = (address: string): string => `PTR ${address.split('.').reverse().join('.')}.in-addr.arpa`;

const nameOf = (address: string): string => `crawl-${address.replaceAll('.', '-')}.googlebot.com`;

const RECORDS: Records = {
  ...Object.fromEntries(
    CRAWLERS.flatMap((address) => [[pointer(address), [nameOf(address)]] as const, [`A ${nameOf(address)}`, [address]] as const]),
  ),
  // The owner of an address can give it any name.
  [pointer(FORGER)]: [nameOf('66.249.66.1')],
  [pointer(UNDECIDED)]: 'silence',
};

type Visitor = { readonly address: string; readonly userAgent: string };
/** Sends one request and returns the status of its response. */
type Send = (pair: Pair, visitor: Visitor) => Promise<number>;

const overHttp1: Send = async (pair, { address, userAgent }) =>
  (await pair.visit('app.test', '/', { headers: { 'user-agent': userAgent, 'x-forwarded-for': address } })).status;

const overHttp2: Send = async (pair, { address, userAgent }) => {
  const session = connect(`http://127.0.0.1:${pair.httpPort}`);
  try {
    const stream = session.request({ ':authority': 'app.test', ':path': '/', 'user-agent': userAgent, 'x-forwarded-for': address });
    const [head] = (await once(stream, 'response')) as [Readonly<Record<string, string | number>>];
    await once(stream.resume(), 'close');
    return Number(head[':status']);
  } finally {
    session.close();
  }
};

const MOUNT = 'mount --bind "$1" /etc/resolv.conf && shift && exec "$@"';
const mounts = process.getuid?.() !== 0 && 'mounts a resolv.conf, as root';

/** The pair as if it were on a machine with this name server, behind a proxy that forwards the client's address. */
function startBehind(folder: Folder, server: NameServer, app: Upstream): Promise<Pair> {
  const file = folder.file('resolv.conf');
  writeFileSync(file, `nameserver ${server.address}\n`);
  return Pair.start(folder, `app.test {\n  under_attack on\n  reverse_proxy ${app.address}\n}\n`, {
    flags: ['--trusted-proxies', '127.0.0.1'],
    command: ['unshare', '--mount', 'sh', '-c', MOUNT, 'sh', file],
  });
}

for (const [protocol, send] of [
  ['HTTP/1.1', overHttp1],
  ['HTTP/2', overHttp2],
] as const)
  test(`only a search engine whose address DNS confirms passes under_attack, over ${protocol}`, { skip: mounts }, async () => {
    using folder = new Folder();
    using server = await NameServer.start(RECORDS);
    await using app = await Upstream.start('app', (_, response) => response.end('page'));
    await using pair = await startBehind(folder, server, app);
    const visitBy = (address: string, userAgent = GOOGLEBOT): Promise<number> => send(pair, { address, userAgent });
    let visits = 0;
    const crawlerThatPasses = (): Promise<string> =>
      until('a crawler to pass', async () => {
        const address = CRAWLERS[Math.floor(visits++ / VISITS_EACH)] ?? assert.fail('no crawler passes');
        return (await visitBy(address)) === 200 ? address : null;
      });

    // No request waits for DNS, which does not answer about the last of them at all.
    for (const address of [CRAWLERS[0] ?? '', FORGER, UNDECIDED]) assert.equal(await visitBy(address), 503);
    assert.equal(app.requests, 0);
    const crawler = await crawlerThatPasses();
    assert.equal(server.asked.filter((question) => question === pointer(crawler)).length, 1, 'once for all workers');
    await until('the questions about the others', () => [FORGER, UNDECIDED].every((address) => server.asked.includes(pointer(address))));
    visits = Math.ceil(visits / VISITS_EACH) * VISITS_EACH;
    assert.notEqual(await crawlerThatPasses(), crawler, 'one that is looked up after the forged one');
    const before = app.requests;
    for (let nth = 0; nth < 5; nth++)
      for (const [address, userAgent] of [
        [FORGER, GOOGLEBOT],
        [UNDECIDED, GOOGLEBOT],
        [crawler, BINGBOT],
        [crawler, 'Mozilla/5.0'],
      ] as const)
        assert.equal(await visitBy(address, userAgent), 503, `${address} ${userAgent}`);
    assert.equal(app.requests, before);

    // Verified addresses stay verified without DNS, and no new ones pass.
    server[Symbol.dispose]();
    await until('the crawler to pass without DNS', async () => (await visitBy(crawler)) === 200);
    for (let nth = 0; nth < 5; nth++) assert.equal(await visitBy(LATE), 503);
    assert.equal((await pair.admin('/ready')).status, 200);
  });
