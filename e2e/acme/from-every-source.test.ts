import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { until } from '../../shared/runtime/testing/until.ts';
import { missing } from '../components.ts';
import { Folder } from '../testing/dataplane.ts';
import { Pair } from '../testing/pair.ts';
import { freePort } from '../testing/ports.ts';
import { Upstream } from '../testing/upstream.ts';
import { Pebble } from './testing/pebble.ts';

const skip = missing('pebble') ?? missing('curl') ?? missing('h2load');
const run = promisify(execFile);

/** The pair with a Sluicefile that uses a test authority. */
class Served {
  readonly folder = new Folder();
  readonly httpPort: number;
  readonly httpsPort: number;
  readonly pair: Pair;
  private readonly pebble: Pebble;
  private readonly rootPath: string;

  private constructor(folder: Folder, [httpPort, httpsPort]: readonly [number, number], pair: Pair, pebble: Pebble, rootPath: string) {
    this.folder = folder;
    this.httpPort = httpPort;
    this.httpsPort = httpsPort;
    this.pair = pair;
    this.pebble = pebble;
    this.rootPath = rootPath;
  }

  static async start(sites: string): Promise<Served> {
    const folder = new Folder();
    const [httpPort, httpsPort] = [await freePort(), await freePort()];
    const pebble = await Pebble.start(folder, { httpPort, tlsPort: httpsPort });
    const globals = `{
  http_port ${httpPort}
  https_port ${httpsPort}
  bind 127.0.0.1
  email ops@example.com
  acme_directory ${pebble.directory}
}
`;
    const flags = ['--cert-dir', folder.file('certs'), '--acme-ca-root', pebble.rootPath];
    const pair = await Pair.start(folder, sites, { globals, flags }).catch(async (error: unknown) => {
      await pebble[Symbol.asyncDispose]();
      throw error;
    });
    const rootPath = folder.file('issued-by.pem');
    writeFileSync(rootPath, await pebble.root());
    return new Served(folder, [httpPort, httpsPort], pair, pebble, rootPath);
  }

  /** The output of curl, which trusts only the test authority and resolves every host to this machine. @throws the error. */
  async curl(url: string, ...more: string[]): Promise<string> {
    const { hostname, port } = new URL(url);
    const here = [port, `${this.httpsPort}`].flatMap((at) => ['--resolve', `${hostname}:${at}:127.0.0.1`]);
    return (await run('curl', ['-sS', '--fail', '--max-time', '15', '--cacert', this.rootPath, ...here, ...more, url])).stdout;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pair[Symbol.asyncDispose]();
    await this.pebble[Symbol.asyncDispose]();
    this.folder[Symbol.dispose]();
  }
}

const site = (name: string, upstream: Upstream): string => `${name} {\n  reverse_proxy ${upstream.address}\n}\n`;

describe('a file with a site', { skip }, () => {
  let upstream: Upstream;
  let served: Served;
  before(async () => {
    upstream = await Upstream.start('app', (_, response) => response.end('hello'));
    served = await Served.start(site('shop.example.com', upstream));
  });
  after(async () => {
    await served?.[Symbol.asyncDispose]();
    await upstream?.[Symbol.asyncDispose]();
  });

  test('a site added to the file gets a certificate without a restart, and curl follows the redirect to it', async () => {
    const arrived = (name: string) =>
      served.curl(`http://${name}:${served.httpPort}/a`, '-L', '-w', ' %{http_version} %{ssl_verify_result}');
    assert.equal(await until('the first site', () => arrived('shop.example.com')), 'hello 2 0');
    served.pair.write(site('shop.example.com', upstream) + site('blog.example.com', upstream));
    assert.equal(await until('the second site', () => arrived('blog.example.com')), 'hello 2 0');
    assert.equal(await served.curl(`https://blog.example.com:${served.httpsPort}/`, '--http1.1', '-w', ' %{http_version}'), 'hello 1.1');
  });

  test('h2load gets the certificate and HTTP/2 under load', async () => {
    const url = `https://shop.example.com:${served.httpsPort}/`;
    await until('the certificate', () => served.curl(url));
    const { stdout } = await run('h2load', ['-n', '2000', '-c', '8', '-m', '8', `--connect-to=127.0.0.1:${served.httpsPort}`, url]);
    assert.match(stdout, /2000 done, 2000 succeeded, 0 failed, 0 errored/);
    assert.match(stdout, /Application protocol: h2/);
  });
});
