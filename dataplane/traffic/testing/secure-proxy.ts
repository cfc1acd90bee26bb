import type { RouteInput } from '../../../shared/route.ts';
import { CertificatesFixture } from './certificates.ts';
import { Frames } from './frames.ts';
import { ProxyFixture, type Replaced, site } from './test-proxy.ts';

type Issued = { readonly ca: string; readonly cert: string; readonly key: string };
/** By their names; issued once, since keys take their time. */
const certificates = new Map<string, Issued>();

function issued(names: readonly string[]): Issued {
  const known = certificates.get(names.join());
  if (known !== undefined) return known;
  using authority = new CertificatesFixture();
  const one = { ca: authority.ca, ...authority.issue(...names) };
  certificates.set(names.join(), one);
  return one;
}

/** Test support: a proxy that shows a certificate for `a.test`, and clients of HTTP/2 that write their frames by hand. */
export class SecureFixture {
  readonly proxy: ProxyFixture;
  readonly ca: string;
  private readonly clients: Frames[] = [];

  private constructor(proxy: ProxyFixture, ca: string) {
    this.proxy = proxy;
    this.ca = ca;
  }

  /** `others` are names that its certificate covers too. */
  static of(routes: readonly RouteInput[], ...others: readonly string[]): Promise<SecureFixture> {
    return SecureFixture.with(routes, {}, ...others);
  }

  /** With `parts` in place of the worker's own. */
  static async with(routes: readonly RouteInput[], parts: Replaced, ...others: readonly string[]): Promise<SecureFixture> {
    const domains = ['a.test', ...others];
    const { ca, cert, key } = issued(domains);
    const proxy = await ProxyFixture.with(routes, { httpsPort: 0 }, parts);
    await proxy.certify({ domains, certificate: cert, private_key: key });
    return new SecureFixture(proxy, ca);
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
  }
}
