import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type TLSSocket } from 'node:tls';
import { Dataplane, Folder } from '../../testing/dataplane.ts';
import { freePort } from '../../testing/ports.ts';
import { Pebble } from './pebble.ts';

type AuthorityOptions = Partial<Parameters<typeof Pebble.start>[1]>;

/** A data plane that orders from a test authority. */
export class Scene {
  readonly folder = new Folder();
  readonly httpPort: number;
  readonly httpsPort: number;
  pebble: Pebble | null = null;

  private constructor(httpPort: number, httpsPort: number) {
    this.httpPort = httpPort;
    this.httpsPort = httpsPort;
  }

  static async start(more: AuthorityOptions = {}): Promise<Scene> {
    const scene = new Scene(await freePort(), await freePort());
    await scene.startAuthority(more);
    return scene;
  }

  async startAuthority(more: AuthorityOptions = {}): Promise<Pebble> {
    this.pebble = await Pebble.start(this.folder, { httpPort: this.httpPort, tlsPort: this.httpsPort, ...more });
    return this.pebble;
  }

  /** `authority`: the authority to use instead of Pebble itself. */
  dataplane(
    more: readonly string[] = [],
    authority: { readonly directory: string; readonly rootPath: string } | null = this.pebble,
  ): Promise<Dataplane> {
    const { folder, httpPort, httpsPort } = this;
    if (authority === null) throw new Error('no authority');
    const flags = ['--https-port', `${httpsPort}`, '--cert-dir', folder.file('certs'), '--acme-email', 'ops@example.com'];
    const asked = ['--acme-directory', authority.directory, '--acme-ca-root', authority.rootPath];
    return Dataplane.start({ stateDir: folder.file('state'), httpPort, flags: [...flags, ...asked, ...more] });
  }

  /** A handshake that trusts the authority. @throws the error that ended it. */
  async shake(name: string, root: string, port = this.httpsPort): Promise<TLSSocket> {
    const socket = connect({ host: '127.0.0.1', port, servername: name, ca: root });
    await once(socket, 'secureConnect');
    return socket;
  }

  /** The serial number of the stored certificate for a name; null if there is none, or a damaged one. */
  kept(name: string): string | null {
    try {
      return new X509Certificate(readFileSync(this.folder.file(`certs/acme/${name}/cert.pem`))).serialNumber.toLowerCase();
    } catch (error) {
      if (error instanceof Error && 'code' in error) return null;
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pebble?.[Symbol.asyncDispose]();
    this.folder[Symbol.dispose]();
  }
}

/** Sends one request on a connection. @returns the response, header section and body. */
export async function get(socket: TLSSocket, host: string): Promise<string> {
  socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}

/** The serial number of the certificate that a connection received. */
export const serialOf = (socket: TLSSocket): string => socket.getPeerCertificate().serialNumber.toLowerCase();
