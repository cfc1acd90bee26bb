import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:tls';
import { Dataplane, Folder } from './dataplane.ts';
import { freePort } from './ports.ts';
import { Upstream } from './upstream.ts';

const ROOT_FILE = 'state/sluice-internal-root.crt';

/** The response over TLS to a client that trusts only one root; null sends no server name. @throws the error that ended the handshake. */
export async function getSecurely(port: number, name: string | null, root: string, host = name): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, ca: root, ...(name !== null && { servername: name }) });
  await once(socket, 'secureConnect');
  socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}

/** A data plane whose internal authority is trusted, and an upstream that says hello. */
export class InternalScene {
  readonly folder = new Folder();
  readonly upstream: Upstream;
  readonly httpsPort: number;

  private constructor(upstream: Upstream, httpsPort: number) {
    this.upstream = upstream;
    this.httpsPort = httpsPort;
  }

  static async start(): Promise<InternalScene> {
    return new InternalScene(await Upstream.start('app', (_, response) => response.end('hello')), await freePort());
  }

  dataplane(more: readonly string[] = [], httpPort?: number): Promise<Dataplane> {
    const flags = ['--https-port', `${this.httpsPort}`, ...more];
    return Dataplane.start({ stateDir: this.folder.file('state'), flags, ...(httpPort !== undefined && { httpPort }) });
  }

  get root(): string {
    return readFileSync(this.folder.file(ROOT_FILE), 'utf8');
  }

  /** Like `getSecurely`, with a client that trusts the root. */
  get(name: string | null, host = name ?? '127.0.0.1'): Promise<string> {
    return getSecurely(this.httpsPort, name, this.root, host);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.upstream[Symbol.asyncDispose]();
    this.folder[Symbol.dispose]();
  }
}
