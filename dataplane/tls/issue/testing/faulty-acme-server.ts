import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemRandom } from '../../../../shared/runtime/random.ts';
import { CertificateGenerator } from '../../internal/certificate-generator.ts';
import type { AcmeSettings } from '../acme/acme-client.ts';

type Headers = Readonly<Record<string, string>>;
/** `endless`: a body that never ends, with a byte now and then. */
export type FaultyAnswer = {
  readonly status: number;
  readonly headers?: Headers;
  readonly body?: string | object;
  readonly endless?: boolean;
};

const DAY_MS = 86_400_000;

/** Test support: an ACME server that handles one order for `shop.test`, with responses that tests can override. */
export class FaultyAcmeServer {
  /**
   * Responses to send instead, by path: `/dir`, `/nonce`, `/account`, `/order`, `/authorization`, `/check`. If there are several for a
   * path, each is sent once.
   */
  readonly overrides = new Map<string, FaultyAnswer | FaultyAnswer[]>();
  /** What happens before the response to a path. */
  readonly before = new Map<string, () => void>();
  /** The requested paths. */
  readonly requested: string[] = [];
  private readonly folder = mkdtempSync(join(tmpdir(), 'odd-authority-'));
  private readonly server: Server;

  private constructor(server: Server, root: string) {
    this.server = server;
    writeFileSync(join(this.folder, 'root.pem'), root);
    server.on('request', ({ url = '' }, response) => {
      this.requested.push(url);
      this.before.get(url)?.();
      const override = this.overrides.get(url);
      const { status, headers, body = '', endless } = (Array.isArray(override) ? override.shift() : override) ?? this.usual(url);
      response.writeHead(status, { 'replay-nonce': 'a-nonce', 'content-type': 'application/json', ...headers });
      if (endless) return this.drip(response);
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  }

  static async start(): Promise<FaultyAcmeServer> {
    const maker = await CertificateGenerator.load(systemRandom);
    const life = { notBefore: Date.now() - DAY_MS, notAfter: Date.now() + DAY_MS };
    const root = await maker.root('an odd authority', life);
    const { certificate: cert, privateKey: key } = await maker.leaf('localhost', life, root);
    const server = createServer({ cert, key });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new FaultyAcmeServer(server, root.certificate);
  }

  get settings(): AcmeSettings {
    return { directory: this.url('/dir'), rootPath: join(this.folder, 'root.pem'), email: null, binding: null, dns: null };
  }

  url(path: string): string {
    return `https://localhost:${(this.server.address() as AddressInfo).port}${path}`;
  }

  /** An authorization with a pending challenge. */
  authorization(name: string, token: string): FaultyAnswer {
    const challenges = [{ type: 'http-01', status: 'pending', url: this.url('/check'), token }];
    return { status: 200, body: { status: 'pending', identifier: { type: 'dns', value: name }, challenges } };
  }

  private drip(response: ServerResponse): void {
    const drops = setInterval(() => response.write(' '), 50);
    response.on('close', () => clearInterval(drops));
  }

  private usual(path: string): FaultyAnswer {
    const [newNonce, newAccount, newOrder] = ['/nonce', '/account', '/order'].map((each) => this.url(each));
    const order = { status: 'pending', authorizations: [this.url('/authorization')], finalize: this.url('/finalize') };
    if (path === '/dir') return { status: 200, body: { newNonce, newAccount, newOrder } };
    if (path === '/nonce') return { status: 200 };
    if (path === '/account') return { status: 201, headers: { location: this.url('/account/1') }, body: { status: 'valid' } };
    if (path === '/order') return { status: 201, headers: { location: this.url('/order/1') }, body: order };
    if (path === '/authorization') return this.authorization('shop.test', 'a-token');
    return { status: 404, body: { type: 'urn:ietf:params:acme:error:malformed', detail: `there is no ${path}` } };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
    rmSync(this.folder, { recursive: true });
  }
}
