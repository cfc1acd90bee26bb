import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rootCertificatePath } from '../../dataplane/tls/internal/root.ts';
import { trustingLine } from '../../dataplane/tls/internal/trusting.ts';
import { sleep, systemClock } from '../../shared/runtime/clock.ts';
import { isTaken, statusOf } from './ports.ts';

/** `npm start`: two sample upstreams, the proxy in front of them, and what to try. Ends everything on Ctrl-C. */
const root = fileURLToPath(new URL('../..', import.meta.url));
const SITES = 8080;
const SECURE = 8443;
const PORTS: Readonly<Record<number, string>> = {
  8080: 'the sites over HTTP',
  8443: 'the sites over HTTPS',
  9101: 'the first sample upstream',
  9102: 'the second sample upstream',
  6190: 'the Admin API',
  6191: "the controller's status pages",
};
const READY_WITHIN_MS = 20_000;

const say = (text: string) => process.stdout.write(`${text}\n`);

/** A socket's path is short on every system, a checkout's may be long. */
function stateDirectory(): string {
  const here = join(root, '.sluice');
  return Buffer.byteLength(here) < 80 ? here : join(tmpdir(), `sluice-demo-${process.getuid?.() ?? 'user'}`);
}

function startAll(stateDir: string): ChildProcess[] {
  const sample = fileURLToPath(new URL('./sample.ts', import.meta.url));
  const samples = [
    [sample, 'the first upstream', '9101'],
    [sample, 'the second upstream', '9102'],
  ].map((argv) => spawn(process.execPath, argv, { stdio: ['pipe', 'inherit', 'inherit'], detached: true }));
  const config = relative(process.cwd(), join(root, 'deploy/demo/Sluicefile'));
  const flags = ['--config', config, '--state-dir', stateDir, '--cert-dir', join(stateDir, 'certs'), '--log-level', 'warn'];
  const proxy = spawn(join(root, 'sluice'), ['run', ...flags], {
    stdio: ['pipe', 'inherit', 'inherit'],
    detached: true,
    env: { ...process.env, SLUICE_SUPERVISED: '1' },
  });
  return [proxy, ...samples];
}

async function ready(proxy: ChildProcess): Promise<boolean> {
  for (let waited = 0; waited < READY_WITHIN_MS && proxy.exitCode === null; waited += 100) {
    // Visitors are led to HTTPS as soon as there is something to lead to.
    if ((await statusOf(SITES, 'app.localhost', '/')) === 200 && (await statusOf(SITES, 'secure.localhost', '/')) === 308) return true;
    await sleep(systemClock, 100);
  }
  return false;
}

/** Browsers on Linux have a list of their own. */
function trusting(root: string): string {
  const browsers = `  certutil -d sql:$HOME/.pki/nssdb -A -t C,, -n sluice-demo -i ${root}   # Chromium on Linux; package libnss3-tools`;
  return process.platform === 'linux' ? `  ${trustingLine(root)}\n${browsers}` : `  ${trustingLine(root)}`;
}

function tell(stateDir: string): void {
  const admin = `--admin unix:${relative(process.cwd(), join(stateDir, 'admin.sock'))}`;
  const authority = relative(process.cwd(), rootCertificatePath(stateDir));
  const curl = (host: string, path: string, more = '') => `  curl -i ${more}-H 'Host: ${host}' http://127.0.0.1:${SITES}${path}`;
  say(`
Open in a browser (every name under localhost is this machine):
  http://app.localhost:${SITES}/          two upstreams in turn
  http://api.localhost:${SITES}/v1/users  a path block with its prefix stripped
  http://api.localhost:${SITES}/ping      an answer without an upstream
  http://any.demo.localhost:${SITES}/     a wildcard
  https://secure.localhost:${SECURE}/      the two upstreams over HTTPS: with a warning until the root is trusted (below)

Try:
${curl('app.localhost', '/')}
${curl('api.localhost', '/v1/users')}
${curl('api.localhost', '/old/users')}
  for i in 1 2 3 4 5 6 7 8; do curl -s -o /dev/null -w '%{http_code} ' -H 'Host: api.localhost' http://127.0.0.1:${SITES}/ping; done; echo
  curl -i --cacert ${authority} --resolve secure.localhost:${SECURE}:127.0.0.1 https://secure.localhost:${SECURE}/

Trust the root of the internal authority, and the warning becomes a padlock:
${trusting(authority)}

Ask, from another terminal:
  ./sluice status ${admin}
  ./sluice routes ${admin}
  ./sluice explain api.localhost/v1/users ${admin}

Change deploy/demo/Sluicefile while it runs. Ctrl-C ends everything.
`);
}

async function main(): Promise<number> {
  for (const [port, use] of Object.entries(PORTS)) {
    if (!(await isTaken(Number(port)))) continue;
    process.stderr.write(`Port ${port} (${use}) is taken by another program: end it and start again.\n`);
    return 1;
  }
  const stateDir = stateDirectory();
  const children = startAll(stateDir);
  const proxy = children[0] as ChildProcess;
  const ended = once(proxy, 'close');
  let stopping = false;
  const stop = () => {
    stopping = true;
    for (const child of children) child.kill('SIGTERM');
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  say('Starting ...');
  if (await ready(proxy)) tell(stateDir);
  else if (!stopping) {
    process.stderr.write('The proxy did not become ready; its lines above say why.\n');
    stop();
    await ended;
    return 1;
  }
  await ended;
  for (const child of children) child.kill('SIGTERM');
  return stopping ? 0 : 1;
}

process.exitCode = await main();
