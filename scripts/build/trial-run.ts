import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, get } from 'node:http';
import { connect } from 'node:http2';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { ENV_PREFIX } from '../../shared/name.ts';

const RECORDER = new URL('record-scripts.ts', import.meta.url).href;
/** How long it may take until requests are answered (ms). An emulated machine is slow. */
const PATIENCE_MS = 60_000;
const ASKED_EVERY_MS = 20;
const HOST = 'plain.test';
const TLS_HOST = 'secure.test';
/** Another process may take one of the ports before it is used. */
const ATTEMPTS = 3;

/**
 * Runs what was built, as `run` does: a first start, and one with saved state, each until requests are answered over HTTP/1.1, and over HTTP/2
 * with TLS. @throws with the output of the processes if that fails.
 */
export async function trialRun(dist: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-build-'));
    const upstream = createServer((_, response) => response.end()).listen(0, '127.0.0.1');
    try {
      await once(upstream, 'listening');
      const target = `127.0.0.1:${(upstream.address() as AddressInfo).port}`;
      return await startTwice(dist, folder, target);
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
    } finally {
      upstream.close();
      rmSync(folder, { recursive: true });
    }
  }
}

async function startTwice(dist: string, folder: string, target: string): Promise<void> {
  const [http, https, admin, controller] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const config = join(folder, 'Sluicefile');
  writeFileSync(
    config,
    `{
  bind 127.0.0.1
  http_port ${http}
  https_port ${https}
}
${HOST} {
  tls off
  reverse_proxy ${target}
}
${TLS_HOST} {
  tls internal
  reverse_proxy ${target}
}
`,
  );
  const launcher = join(folder, 'launcher');
  writeFileSync(
    launcher,
    `#!/bin/sh
entry=controller/cli/main
case $1 in
  dataplane | controller) entry=$1/main; shift ;;
esac
exec '${process.execPath}' '${dist}'/$entry.js "$@"
`,
    { mode: 0o755 },
  );
  const files = ['--config', config, '--state-dir', join(folder, 'state'), '--cert-dir', join(folder, 'certs')];
  const listen = ['--admin-listen', `127.0.0.1:${admin}`, '--listen', `127.0.0.1:${controller}`];
  const settings = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith(ENV_PREFIX)));
  for (const _start of ['first', 'again']) {
    const parent = spawn(
      process.execPath,
      [join(dist, 'controller/cli/run/main.js'), launcher, 'run', '--workers', '1', ...files, ...listen],
      {
        env: { ...settings, NODE_OPTIONS: `--import=${RECORDER}` },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    await served(parent, async () => (await status(http)) === 200 && (await statusOverTls(https)) === 200);
  }
}

/** Waits until a start serves requests, and then for its orderly end, in which processes write what was recorded. */
async function served(parent: ChildProcess, serves: () => Promise<boolean>): Promise<void> {
  const output = Promise.all([parent.stdout, parent.stderr].map((stream) => stream && text(stream)));
  const exited = once(parent, 'exit');
  const patience = AbortSignal.timeout(PATIENCE_MS);
  const late = once(patience, 'abort');
  while (parent.exitCode === null && !patience.aborted && !(await Promise.race([serves(), late]))) await pause(ASKED_EVERY_MS);
  if (parent.exitCode === null) parent.kill('SIGTERM');
  // It kills the others if it ends without them.
  const hangs = setTimeout(() => parent.kill('SIGKILL'), PATIENCE_MS);
  const [code] = await exited;
  clearTimeout(hangs);
  if (code !== 0 || patience.aborted) throw new Error(`what was built does not serve requests:\n${(await output).join('')}`);
}

/** A port of 127.0.0.1 that is free now. */
async function freePort(): Promise<number> {
  const server = createTcpServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** null if there is no response. */
function status(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    get({ host: '127.0.0.1', port, agent: false, headers: { host: HOST } }, (response) => {
      response.resume();
      resolve(response.statusCode ?? null);
    }).once('error', () => resolve(null));
  });
}

/** The same over HTTP/2. A certificate of an authority that nobody trusts yet is what is expected. */
function statusOverTls(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const session = connect(`https://127.0.0.1:${port}`, { servername: TLS_HOST, rejectUnauthorized: false });
    const end = (result: number | null) => {
      session.destroy();
      resolve(result);
    };
    session.once('error', () => end(null)).once('close', () => end(null));
    const stream = session.request({ ':authority': TLS_HOST });
    stream.once('error', () => end(null));
    stream.once('response', (headers) => end(headers[':status'] ?? null));
  });
}
