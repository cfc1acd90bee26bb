import { writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect } from 'node:net';
import { CertificatesFixture } from '../../../dataplane/traffic/testing/certificates.ts';
import type { Folder } from '../../harness/dataplane.ts';
import { freePort } from '../../harness/ports.ts';
import { Program } from '../../harness/process.ts';
import { until } from '../../harness/until.ts';

type Options = {
  /** Where the authority looks for HTTP-01 answers, whatever the name. */
  readonly httpPort: number;
  /** Where it looks for TLS-ALPN-01 answers. */
  readonly tlsPort: number;
  /** Percent of nonces that it refuses though they are good; every client has to try again. */
  readonly rejectedNonces?: number;
  /** Whether it takes seconds over a check, as public ones do. */
  readonly slow?: boolean;
  /** Keys of external account binding, by key id; null: it asks for none. */
  readonly binding?: Readonly<Record<string, string>> | null;
  /** How long its certificates are good (s); its own choice is five years. */
  readonly validSecs?: number;
  /** Another DNS than its own, which says 127.0.0.1 for every name. */
  readonly dnsServer?: string;
  /** Ports of an earlier one that is to be back at the same place. */
  readonly ports?: PebblePorts;
};

export type PebblePorts = { readonly directory: number; readonly management: number; readonly dns: number; readonly dnsManagement: number };

/** A certificate authority of the test's own, with a DNS that says 127.0.0.1 for every name. */
export class Pebble {
  readonly ports: PebblePorts;
  /** The roots by which its own HTTPS is verified. */
  readonly rootPath: string;
  private readonly authority: Program;
  private readonly dns: Program;

  private constructor(ports: PebblePorts, rootPath: string, authority: Program, dns: Program) {
    this.ports = ports;
    this.rootPath = rootPath;
    this.authority = authority;
    this.dns = dns;
  }

  static async start(
    folder: Folder,
    { httpPort, tlsPort, rejectedNonces = 5, slow = false, binding = null, validSecs, dnsServer, ports }: Options,
  ): Promise<Pebble> {
    const at = ports ?? {
      directory: await freePort(),
      management: await freePort(),
      dns: await freePort(),
      dnsManagement: await freePort(),
    };
    using certificates = new CertificatesFixture();
    const { cert, key } = certificates.issue('localhost', '127.0.0.1');
    const file = (name: string, text: string): string => {
      const path = folder.file(`pebble-${at.directory}-${name}`);
      writeFileSync(path, text);
      return path;
    };
    const rootPath = file('root.pem', certificates.ca);
    const config = {
      pebble: {
        listenAddress: `127.0.0.1:${at.directory}`,
        managementListenAddress: `127.0.0.1:${at.management}`,
        certificate: file('cert.pem', cert),
        privateKey: file('key.pem', key),
        httpPort,
        tlsPort,
        ...(validSecs !== undefined && { certificateValidityPeriod: validSecs }),
        externalAccountBindingRequired: binding !== null,
        ...(binding !== null && { externalAccountMACKeys: binding }),
      },
    };
    const none = ['-http01', '', '-https01', '', '-tlsalpn01', ''];
    const dnsAddress = `127.0.0.1:${at.dns}`;
    const dns = new Program('pebble-challtestsrv', [
      ...none,
      '-dns01',
      dnsAddress,
      '-management',
      `127.0.0.1:${at.dnsManagement}`,
      '-defaultIPv6',
      '',
    ]);
    // Whoever waits for the authority orders as soon as it is there, and it asks the DNS at once.
    await until('the DNS to answer', async () => {
      if (dns.exit !== null) throw new Error(dns.output);
      return (await accepts(at.dnsManagement)) && (await accepts(at.dns));
    }).catch((error: unknown) => endedBy(error, dns));
    const authority = new Program(
      'pebble',
      ['-config', file('config.json', JSON.stringify(config)), '-dnsserver', dnsServer ?? dnsAddress],
      {
        PEBBLE_WFE_NONCEREJECT: `${rejectedNonces}`,
        ...(!slow && { PEBBLE_VA_NOSLEEP: '1' }),
      },
    );
    const pebble = new Pebble(at, rootPath, authority, dns);
    await until('the authority to answer', async () => {
      if (authority.exit !== null) throw new Error(authority.output);
      return (await pebble.get(at.directory, '/dir')).includes('newOrder');
    }).catch((error: unknown) => endedBy(error, pebble));
    return pebble;
  }

  get directory(): string {
    return `https://localhost:${this.ports.directory}/dir`;
  }

  /** The root of what it issues: another one each time that it starts. */
  root(): Promise<string> {
    return this.get(this.ports.management, '/roots/0');
  }

  /** Everything that it has said. */
  get output(): string {
    return this.authority.output;
  }

  private get(port: number, path: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const asked = request({ host: '127.0.0.1', port, path, rejectUnauthorized: false }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        answer.on('end', () => resolve(text));
      });
      asked.on('error', reject).end();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.authority[Symbol.asyncDispose](), this.dns[Symbol.asyncDispose]()]);
  }
}

/** Whether somebody accepts connections. To listen there for a moment would keep the one away who is about to. */
function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.on('connect', () => end(true)).on('error', () => end(false));
  });
}

/** A start that failed leaves nothing running. @throws the reason. */
async function endedBy(reason: unknown, running: AsyncDisposable): Promise<never> {
  await running[Symbol.asyncDispose]();
  throw reason;
}
