import { writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect } from 'node:net';
import { CertificatesFixture } from '../../../dataplane/traffic/testing/certificates.ts';
import { until } from '../../../shared/runtime/testing/until.ts';
import type { Folder } from '../../testing/dataplane.ts';
import { freePort } from '../../testing/ports.ts';
import { Program } from '../../testing/process.ts';

type Options = {
  /** The port that the authority connects to for HTTP-01, for every name. */
  readonly httpPort: number;
  /** The port that it connects to for TLS-ALPN-01. */
  readonly tlsPort: number;
  /** The percentage of valid nonces that it rejects, so that clients must retry. */
  readonly rejectedNonces?: number;
  /** Whether validation takes seconds, as at public authorities. */
  readonly slow?: boolean;
  /** Keys for external account binding, by key id; null if it is not required. */
  readonly binding?: Readonly<Record<string, string>> | null;
  /** The validity of its certificates (s); five years by default. */
  readonly validSecs?: number;
  /** A DNS server to use instead of its own, which returns 127.0.0.1 for every name. */
  readonly dnsServer?: string;
  /** The ports of an earlier instance that this one replaces. */
  readonly ports?: PebblePorts;
};

export type PebblePorts = { readonly directory: number; readonly management: number; readonly dns: number; readonly dnsManagement: number };

/** A test certificate authority (Pebble), with a DNS server that returns 127.0.0.1 for every name. */
export class Pebble {
  readonly ports: PebblePorts;
  /** The roots that verify its HTTPS. */
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
    const certificates = new CertificatesFixture();
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
    // Clients that wait for the authority order as soon as it is up, and it queries the DNS immediately.
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

  /** The root of its certificates, a new one at each start. */
  root(): Promise<string> {
    return this.get(this.ports.management, '/roots/0');
  }

  /** Its complete output. */
  get output(): string {
    return this.authority.output;
  }

  /** Waits for a text in its output. */
  said(text: string): Promise<void> {
    return this.authority.said(text);
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

/** Whether a port accepts connections. Trying to listen on it instead could block the program that is about to. */
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

/** Stops everything after a failed start. @throws the reason. */
async function endedBy(reason: unknown, running: AsyncDisposable): Promise<never> {
  await running[Symbol.asyncDispose]();
  throw reason;
}
