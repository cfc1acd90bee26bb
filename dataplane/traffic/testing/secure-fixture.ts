import type { RouteInput } from '../../../shared/route.ts';
import { CertificatesFixture } from './certificates-fixture.ts';
import { Frames } from './frames-fixture.ts';
import { ProxyFixture, site } from './proxy-fixture.ts';

/** Test support: a proxy that shows a certificate for `a.test`, and clients of HTTP/2 that write their frames by hand. */
export class SecureFixture {
  readonly proxy: ProxyFixture;
  readonly ca: string;
  private readonly authority: CertificatesFixture;
  private readonly clients: Frames[] = [];

  private constructor(proxy: ProxyFixture, authority: CertificatesFixture) {
    this.proxy = proxy;
    this.authority = authority;
    this.ca = authority.ca;
  }

  /** `others` are names that its certificate covers too. */
  static async of(routes: readonly RouteInput[], ...others: readonly string[]): Promise<SecureFixture> {
    const authority = new CertificatesFixture();
    const domains = ['a.test', ...others];
    const { cert, key } = authority.issue(...domains);
    const proxy = await ProxyFixture.with(routes, { httpsPort: 0 });
    await proxy.certify({ domains, certificate: cert, private_key: key });
    return new SecureFixture(proxy, authority);
  }

  /** In front of one site, `a.test`. */
  static before(upstream: { readonly address: string }): Promise<SecureFixture> {
    return SecureFixture.of([site('a.test', upstream)]);
  }

  /** A connection on which nothing has been said yet. */
  async connect(): Promise<Frames> {
    const client = await Frames.secure(this.proxy.securePort, this.ca);
    this.clients.push(client);
    return client;
  }

  /** A connection that has been greeted. */
  async greeted(...settings: readonly (readonly [number, number])[]): Promise<Frames> {
    return (await this.connect()).greet(...settings);
  }

  [Symbol.dispose](): void {
    for (const client of this.clients) client[Symbol.dispose]();
    this.proxy[Symbol.dispose]();
    this.authority[Symbol.dispose]();
  }
}
