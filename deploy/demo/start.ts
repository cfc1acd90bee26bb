import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type DashboardForwarder, startForwarder } from '../../controller/cli/dashboard/forwarder.ts';
import { rootCertificatePath } from '../../dataplane/tls/internal/root.ts';
import { trustCommand } from '../../dataplane/tls/internal/trust-command.ts';
import { ADMIN_SOCKET_FILE, NAME } from '../../shared/name.ts';
import { sleep, systemClock } from '../../shared/runtime/clock.ts';
import { type Flag, type Flags, helpOf, readFlags, UsageError } from '../../shared/runtime/flags.ts';
import { runningInstance } from '../../shared/runtime/process/running-instance.ts';
import { accepted, type Parsed, refused } from '../../shared/values/parsed.ts';
import { choosePorts, PortTakenError, statusOf } from './ports.ts';
import { bringVisitors } from './visitors/bring-visitors.ts';

/**
 * `npm start [-- --http-port N]`: sample upstreams, the proxy in front of them, visitors, the dashboard, and what to try. Ends everything
 * on Ctrl-C.
 */
const root = fileURLToPath(new URL('../..', import.meta.url));
const USES = [
  { name: 'http', usual: 8080, what: 'the demo' },
  { name: 'https', usual: 8443, what: 'the demo over HTTPS' },
  { name: 'first', usual: 9101, what: 'the first sample upstream' },
  { name: 'second', usual: 9102, what: 'the second sample upstream' },
  { name: 'shop', usual: 9103, what: 'the sample shop' },
  { name: 'admin', usual: 6190, what: 'the Admin API' },
  { name: 'controller', usual: 6191, what: "the controller's status page" },
] as const;
type Ports = Readonly<Record<(typeof USES)[number]['name'], number>>;

const parsePort = (text: string): Parsed<number> =>
  /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535 ? accepted(Number(text)) : refused('a port is 1 to 65535');
const portFlag = (name: string, what: string): Flag => ({
  name,
  placeholder: 'PORT',
  help: `port of ${what}`,
  parse: parsePort,
});
const QUIET: Flag = { name: 'no-visitors', kind: 'switch', help: 'bring no visitors: the only traffic is your own' };
const FLAGS = [portFlag('http-port', 'the demo over HTTP'), portFlag('https-port', 'the demo over HTTPS'), QUIET];
/** The same visitors in every demo. */
const SEED = 2_026;
/** Long enough for a busy machine. If the proxy can't start, it exits, which also ends the wait. */
const READY_WITHIN_MS = 60_000;

const say = (text: string) => process.stdout.write(`${text}\n`);

/** The length of a socket's path is limited, and the path of a checkout may be long. */
function stateDirectory(): string {
  const here = join(root, '.sluice');
  return Buffer.byteLength(here) < 80 ? here : join(tmpdir(), `sluice-demo-${process.getuid?.() ?? 'user'}`);
}

function startAll(stateDir: string, ports: Ports): ChildProcess[] {
  const sample = fileURLToPath(new URL('./sample.ts', import.meta.url));
  const samples = [
    [sample, 'the first upstream', `${ports.first}`],
    [sample, 'the second upstream', `${ports.second}`],
    [fileURLToPath(new URL('./shop.ts', import.meta.url)), `${ports.shop}`],
  ].map((argv) => spawn(process.execPath, argv, { stdio: ['pipe', 'inherit', 'inherit'], detached: true }));
  const config = relative(process.cwd(), join(root, 'deploy/demo/Sluicefile'));
  const flags = ['--config', config, '--state-dir', stateDir, '--cert-dir', join(stateDir, 'certs'), '--log-level', 'warn'];
  const listen = ['--admin-listen', `127.0.0.1:${ports.admin}`, '--listen', `127.0.0.1:${ports.controller}`];
  const numbers = ['--http-port', `${ports.http}`, '--https-port', `${ports.https}`];
  // The visitors of the demo come from this machine and have their addresses in X-Forwarded-For.
  const trust = ['--trusted-proxies', '127.0.0.1/32'];
  const upstreams = {
    FIRST_UPSTREAM: `127.0.0.1:${ports.first}`,
    SECOND_UPSTREAM: `127.0.0.1:${ports.second}`,
    SHOP_UPSTREAM: `127.0.0.1:${ports.shop}`,
  };
  const proxy = spawn(join(root, 'sluice'), ['run', ...flags, ...listen, ...numbers, ...trust], {
    stdio: ['pipe', 'inherit', 'inherit'],
    detached: true,
    env: { ...process.env, ...upstreams, SLUICE_SUPERVISED: '1' },
  });
  return [proxy, ...samples];
}

async function ready(proxy: ChildProcess, { http: port, admin }: Ports): Promise<boolean> {
  for (let waited = 0; waited < READY_WITHIN_MS && proxy.exitCode === null; waited += 100) {
    // The Admin API first, since requests to the sites are counted. Visitors are redirected to HTTPS as soon as it is available.
    if (
      (await statusOf(admin, '127.0.0.1', '/ready')) === 200 &&
      (await statusOf(port, 'app.localhost', '/')) === 200 &&
      (await statusOf(port, 'secure.localhost', '/')) === 308
    )
      return true;
    await sleep(systemClock, 100);
  }
  return false;
}

/** Browsers on Linux have a separate list of trusted roots. */
function trusting(root: string): string {
  const browsers = `  certutil -d sql:$HOME/.pki/nssdb -A -t C,, -n sluice-demo -i ${root}   # Chromium on Linux; package libnss3-tools`;
  return process.platform === 'linux' ? `  ${trustCommand(root)}\n${browsers}` : `  ${trustCommand(root)}`;
}

const adminSocket = (stateDir: string): string => join(stateDir, ADMIN_SOCKET_FILE);

function printIntro(stateDir: string, { http, https }: Ports, dashboard: DashboardForwarder, isQuiet: boolean): void {
  const admin = `--admin unix:${relative(process.cwd(), adminSocket(stateDir))}`;
  const authority = relative(process.cwd(), rootCertificatePath(stateDir));
  const curl = (host: string, path: string, more = '') => `  curl -i ${more}-H 'Host: ${host}' http://127.0.0.1:${http}${path}`;
  say(`
The dashboard, for the first browser that opens it (${isQuiet ? 'you are the only visitor' : 'the visitors are made up: npm start -- --no-visitors brings none'}):
  ${dashboard.url}

Open in a browser (every name under localhost is this machine):
  http://shop.localhost:${http}/         a few pages whose Web Vitals are measured
  http://app.localhost:${http}/          two upstreams in turn
  http://api.localhost:${http}/v1/users  a path block with its prefix stripped
  http://api.localhost:${http}/ping      an answer without an upstream
  http://any.demo.localhost:${http}/     a wildcard
  https://secure.localhost:${https}/      the two upstreams over HTTPS: with a warning until the root is trusted (below)

Try:
${curl('app.localhost', '/')}
${curl('api.localhost', '/v1/users')}
${curl('api.localhost', '/old/users')}
  for i in 1 2 3 4 5 6 7 8; do curl -s -o /dev/null -w '%{http_code} ' -H 'Host: api.localhost' http://127.0.0.1:${http}/ping; done; echo
  curl -i --cacert ${authority} --resolve secure.localhost:${https}:127.0.0.1 https://secure.localhost:${https}/

Trust the root of the internal authority, and the warning becomes a padlock:
${trusting(authority)}

In another terminal, run:
  ./sluice dashboard ${admin}
  ./sluice status ${admin}
  ./sluice routes ${admin}
  ./sluice explain api.localhost/v1/users ${admin}

Change deploy/demo/Sluicefile while it runs. Ctrl-C ends everything.
`);
}

/** Explicitly set ports are kept; the others are replaced if they are in use. */
async function portsFor({ given }: Flags): Promise<Ports> {
  const requested = new Map<string, number>();
  for (const name of ['http', 'https']) {
    const value = given.get(`${name}-port`)?.value;
    if (typeof value === 'number') requested.set(name, value);
  }
  const { ports, moved } = await choosePorts(USES, requested);
  for (const line of moved) say(line);
  return Object.fromEntries(ports) as Ports;
}

async function main(): Promise<number> {
  const flags = readFlags('demo', FLAGS, process.argv.slice(2), process.env);
  if (flags.help) {
    say(`npm start [-- FLAGS]\n\n${helpOf(FLAGS)}`);
    return 0;
  }
  const [stray] = flags.positionals;
  // npm keeps flags before "--" to itself, and passes on only their values.
  if (stray !== undefined)
    throw new UsageError(`${NAME} demo: unexpected argument "${stray}" (flags come after --: npm start -- --http-port 9000)`);
  const stateDir = stateDirectory();
  const running = await runningInstance(stateDir);
  if (running !== null)
    throw new UsageError(`${NAME} demo: it is already running in this checkout, as process ${running.pid}: end that one with Ctrl-C first`);
  const ports = await portsFor(flags);
  const children = startAll(stateDir, ports);
  const proxy = children[0] as ChildProcess;
  const ended = once(proxy, 'close');
  let stopping = false;
  const leaving = new AbortController();
  const stop = () => {
    stopping = true;
    leaving.abort();
    for (const child of children) child.kill('SIGTERM');
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  say('Starting ...');
  let dashboard: DashboardForwarder | undefined;
  if (await ready(proxy, ports)) {
    const admin = { kind: 'unix', path: adminSocket(stateDir) } as const;
    dashboard = await startForwarder({ admin, token: undefined, listen: { host: '127.0.0.1', port: 0 } });
    const isQuiet = flags.given.get(QUIET.name)?.value === true;
    if (!isQuiet) void bringVisitors({ port: ports.http, seed: SEED, clock: systemClock, signal: leaving.signal });
    printIntro(stateDir, ports, dashboard, isQuiet);
  } else if (!stopping) {
    process.stderr.write('The proxy did not become ready; its lines above say why.\n');
    stop();
    await ended;
    return 1;
  }
  await ended;
  leaving.abort();
  await dashboard?.close();
  for (const child of children) child.kill('SIGTERM');
  return stopping ? 0 : 1;
}

process.exitCode = await main().catch((error: unknown) => {
  if (!(error instanceof PortTakenError || error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n`);
  return error instanceof UsageError ? error.exitCode : 1;
});
