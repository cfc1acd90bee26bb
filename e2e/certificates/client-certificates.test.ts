import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { makePair } from '../../shared/certificates/testing/pairs.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import { Folder } from '../testing/dataplane.ts';
import { Pair } from '../testing/pair.ts';
import { freePort } from '../testing/ports.ts';

const authority = await makePair([], { subject: 'CN=servers', authority: true });
const servers = await makePair(['open.test', 'staff.test'], { signer: authority.signs });
const staff = await makePair([], { subject: 'CN=staff', authority: true });
const alice = await makePair([], { subject: 'CN=alice', signer: staff.signs });
const guests = await makePair([], { subject: 'CN=guests', authority: true });
const guest = await makePair([], { subject: 'CN=guest', signer: guests.signs });

type Ran = { readonly code: number; readonly out: string };

/** Runs a third-party client with `input` on stdin. @returns all of its output. */
function client(program: string, args: readonly string[], input = ''): Promise<Ran> {
  return new Promise((resolve) => {
    const child = execFile(program, args, { timeout: 60_000 }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, out: stderr + stdout }),
    );
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}

/** A public site and a staff site with a common certificate. */
class Scene {
  readonly pair: Pair;
  private readonly folder: Folder;
  private readonly port: number;

  private constructor(pair: Pair, folder: Folder, port: number) {
    this.pair = pair;
    this.folder = folder;
    this.port = port;
  }

  static async open(folder: Folder): Promise<Scene> {
    for (const [name, text] of [
      ['roots.pem', authority.certificate],
      ['servers.pem', servers.certificate + servers.privateKey],
      ['clients.pem', staff.certificate],
      ['alice.pem', alice.certificate + alice.privateKey],
      ['guest.pem', guest.certificate + guest.privateKey],
    ] as const)
      writeFileSync(folder.file(name), text);
    const port = await freePort();
    const flags = ['--https-port', `${port}`];
    const sites = `open.test {
  tls servers.pem servers.pem
  respond "open"
}
staff.test {
  tls servers.pem servers.pem {
    client_ca clients.pem
  }
  respond "inside"
}
`;
    return new Scene(await Pair.start(folder, sites, { flags }), folder, port);
  }

  /** A visit with curl: the status, or its message about the handshake. */
  async curl(name: string, ...args: string[]): Promise<string> {
    const resolve = ['--resolve', `${name}:${this.port}:127.0.0.1`, '--cacert', this.folder.file('roots.pem')];
    const { out } = await client('curl', ['-sS', ...resolve, '-w', ' %{http_code}', ...args, `https://${name}:${this.port}/`]);
    return out;
  }

  /** The same with a client that sends nothing, so that it receives everything. */
  async listen(name: string, ...args: string[]): Promise<string> {
    return (await client('openssl', [...this.to(name), ...args])).out;
  }

  private to(name: string): string[] {
    return ['s_client', '-connect', `127.0.0.1:${this.port}`, '-servername', name, '-ign_eof'];
  }

  /** The output of s_client about its handshake and one request. */
  async openssl(name: string, ...args: string[]): Promise<string> {
    return (await client('openssl', [...this.to(name), ...args], `GET / HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`)).out;
  }
}

describe('two sites of which one is for the staff', () => {
  const folder = new Folder();
  let scene: Scene;
  before(async () => {
    scene = await Scene.open(folder);
  });
  after(async () => {
    await scene?.pair[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('a site with client certificates admits clients with a certificate of its authority, and rejects others in the handshake', async () => {
    assert.equal(await scene.curl('open.test'), 'open 200');
    for (const version of ['--http1.1', '--http2']) {
      assert.equal(await scene.curl('staff.test', version, '--cert', folder.file('alice.pem')), 'inside 200');
      assert.match(await scene.curl('staff.test', version), /certificate required[\s\S]* 000$/i);
      assert.match(await scene.curl('staff.test', version, '--cert', folder.file('guest.pem')), / 000$/);
      // The certificate covers both names, but a connection for one has presented no client certificate for the other.
      assert.match(await scene.curl('open.test', version, '-H', 'Host: staff.test'), / 421$/);
      assert.match(await scene.curl('staff.test', version, '--cert', folder.file('alice.pem'), '-H', 'Host: open.test'), / 421$/);
    }
    assert.match(await scene.listen('staff.test', '-tls1_3'), /alert certificate required/);
    assert.match(await scene.listen('staff.test', '-tls1_2'), /alert handshake failure/);
    assert.equal((await scene.pair.visit('staff.test')).status, 308);
    const explained = await scene.pair.command('explain', 'https://staff.test/');
    assert.match(explained.stdout, /client_auth.*the handshake requires a client certificate/);
  });

  // The last: it replaces the authority of the clients.
  test('every worker resumes a session of the site, but not under a different rule', async () => {
    const session = folder.file('session.pem');
    for (const version of ['-tls1_2', '-tls1_3']) {
      await scene.openssl('staff.test', version, '-cert', folder.file('alice.pem'), '-sess_out', session);
      // Connections are distributed over the workers at random.
      for (let time = 0; time < 8; time++)
        assert.match(await scene.openssl('staff.test', version, '-sess_in', session), /Reused, [\s\S]*inside/, version);
      await scene.openssl('open.test', version, '-sess_out', folder.file('open.pem'));
      assert.match(await scene.openssl('open.test', version, '-sess_in', folder.file('open.pem')), /Reused, [\s\S]*open/);
      const elsewhere = await scene.openssl('staff.test', version, '-sess_in', folder.file('open.pem'));
      assert.doesNotMatch(elsewhere, /Reused, |inside/, version);
    }
    writeFileSync(folder.file('clients.pem'), guests.certificate);
    await until('the new authority', async () => (await scene.curl('staff.test', '--cert', folder.file('guest.pem'))) === 'inside 200');
    assert.doesNotMatch(await scene.openssl('staff.test', '-tls1_3', '-sess_in', session), /Reused, |inside/);
    assert.match(await scene.curl('staff.test', '--cert', folder.file('alice.pem')), / 000$/);
    assert.equal(scene.pair.program.exit, null);
  });
});
