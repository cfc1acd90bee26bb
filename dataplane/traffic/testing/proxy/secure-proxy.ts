import type { RouteInput } from '../../../../shared/route.ts';
import { CertificatesFixture } from '../certificates.ts';
import { Frames } from '../http2/frames.ts';
import { ProxyFixture, type ReplacedParts, site } from './test-proxy.ts';

type Issued = { readonly ca: string; readonly cert: string; readonly key: string };
/** By name. Issued once, because generating keys is slow. */
const certificates = new Map<string, Issued>();

function issued(names: readonly string[]): Issued {
  const known = certificates.get(names.join());
  if (known !== undefined) return known;
  const authority = new CertificatesFixture();
  const one = { ca: authority.ca, ...authority.issue(...names) };
  certificates.set(names.join(), one);
  return one;
}

/** Test support: a proxy with a certificate for `a.test`, and HTTP/2 clients that write raw frames. */
export class SecureFixture {
  readonly proxy: ProxyFixture;
  readonly ca: string;
  private readonly clients: Frames[] = [];

  private constructor(proxy: ProxyFixture, ca: string) {
    this.proxy = proxy;
    this.ca = ca;
  }

  /** `others` are further names that its certificate covers. */
  static of(routes: readonly RouteInput[], ...others: readonly string[]): Promise<SecureFixture> {
    return SecureFixture.with(routes, {}, ...others);
  }

  /** Replaces the worker's usual parts by `parts`. */
  static async with(routes: readonly RouteInput[], parts: ReplacedParts, ...others: readonly string[]): Promise<SecureFixture> {
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

  /** A connection on which nothing has been sent yet. */
  async connect(): Promise<Frames> {
    const client = await Frames.secure(this.proxy.securePort, this.ca);
    this.clients.push(client);
    return client;
  }

  /** A connection on which the preface and SETTINGS have been sent. */
  async greeted(...settings: readonly (readonly [number, number])[]): Promise<Frames> {
    return (await this.connect()).greet(...settings);
  }

  [Symbol.dispose](): void {
    for (const client of this.clients) client[Symbol.dispose]();
    this.proxy[Symbol.dispose]();
  }
}
