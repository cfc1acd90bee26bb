import { generateKeyPairSync, sign } from 'node:crypto';
import { Dataplane, Folder } from '../harness/dataplane.ts';
import { Program } from '../harness/process.ts';
import { cpuOf } from './contenders/contender.ts';
import { nginxUpstream } from './contenders/nginx.ts';
import { atMost, type Figure, shown } from './figure.ts';

const PROXY_CORE = 0;
const LOAD_CORE = 1;
const ROUNDS = 10;
const SECONDS = 1;

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const PEM = publicKey.export({ type: 'spki', format: 'pem' }) as string;
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const SIGNED = `${part({ alg: 'RS256' })}.${part({ exp: 9_999_999_999, sub: 'bob', realm_access: { roles: ['buyer'] } })}`;
const TOKEN = `${SIGNED}.${sign('sha256', Buffer.from(SIGNED), privateKey).toString('base64url')}`;

/** Members of a route with the policy, and the fields of a request that it lets through. */
type Site = { readonly what: string; readonly route: object; readonly fields?: readonly string[] };

const sites = (auth: string): Readonly<Record<string, Site>> => ({
  address: { what: 'rate_limit by address', route: { rate_limit_rps: 1_000_000 } },
  header: {
    what: 'rate_limit by a header field',
    route: { rate_limits: [{ rps: 1_000_000, header: 'X-Api-Key' }] },
    fields: ['X-Api-Key: 0123456789abcdef'],
  },
  key: { what: 'rate_limit by {client_ip}{path}', route: { rate_limits: [{ rps: 1_000_000, key: '{client_ip}{path}' }] } },
  countries: {
    what: 'ip_filter with countries',
    route: { ip_filter: { deny_countries: ['KP'] } },
    fields: ['X-Forwarded-For: 8.8.8.8'],
  },
  cors: {
    what: 'cors',
    route: { cors: { origins: ['https://app.example'] } },
    fields: ['Origin: https://app.example'],
  },
  body: { what: 'request_body', route: { request_body: { max_size: 1_000_000 } } },
  jwt: {
    what: 'jwt with a token that is known',
    route: { jwt: { keys: [{ pem: PEM }], copy_claims: [{ claim: 'realm_access.roles', to: 'X-Roles' }] } },
    fields: [`Authorization: Bearer ${TOKEN}`],
  },
  excepted: {
    what: 'under_attack, a request that is excepted',
    route: { under_attack: true, challenge: { except: [{ path: ['/*'] }] } },
  },
  auto: { what: 'under_attack auto, below its threshold', route: { challenge: { auto_rps: 1_000_000 } } },
  forwardAuth: { what: 'forward_auth, with its round trip', route: { forward_auth: { upstreams: [auth], uri: '/' } } },
});

/**
 * The CPU time that policies of access cost one worker, and that they cost a site which does not use them: the least of several rounds, since
 * other work on the machine only adds to it. The same process serves with and without the other sites, in turns.
 */
export async function policies(): Promise<Figure[]> {
  using folder = new Folder();
  const upstream = await nginxUpstream(folder, LOAD_CORE);
  const address = `127.0.0.1:${upstream.port}`;
  const kinds = sites(address);
  const flags = ['--trusted-proxies', '127.0.0.1/32'];
  const dataplane = await Dataplane.start({
    stateDir: folder.file('state'),
    workers: 1,
    flags,
    command: ['taskset', '-c', `${PROXY_CORE}`],
  });
  const least = new Map<string, number>();
  let round = 0;
  const measure = async (name: string, site: string, fields: readonly string[] = []): Promise<void> => {
    const begun = cpuOf([dataplane.program.pid]);
    const requests = await load(dataplane.httpPort, `${site}.test`, fields);
    const ended = cpuOf([dataplane.program.pid]);
    const micros = ((ended.user + ended.kernel - begun.user - begun.kernel) * 1e6) / requests;
    // The first round warms up compilers and connections.
    if (round > 0) least.set(name, Math.min(micros, least.get(name) ?? micros));
  };
  try {
    await dataplane.route('plain.test', address);
    for (; round <= ROUNDS; round++) {
      await measure('plain', 'plain');
      for (const [name, { route }] of Object.entries(kinds)) await dataplane.route(`${name}.test`, address, route);
      await measure('unused', 'plain');
      for (const [name, { fields }] of Object.entries(kinds)) {
        await measure(name, name, fields);
        // The same request where nothing looks at its fields.
        await measure(`${name} without`, 'plain', fields);
      }
      for (const name of Object.keys(kinds)) await dataplane.admin('DELETE', `/routes/${name}.test`);
      await measure('again', 'plain');
    }
    const of = (name: string): number => least.get(name) ?? Number.NaN;
    const noise = Math.abs(of('again') / of('plain') - 1);
    return [
      shown('CPU time of a small proxied response', of('plain'), 'µs'),
      shown('the same a second time in each round: the noise', of('again') / of('plain'), 'x'),
      atMost('the same beside sites with every policy', of('unused') / of('plain'), 'x', 1.01 + noise),
      ...Object.entries(kinds).map(([name, { what }]) => shown(`${what} adds`, of(name) - of(`${name} without`), 'µs')),
    ];
  } finally {
    await Promise.all([dataplane.program.kill('SIGTERM'), upstream.stop()]);
  }
}

async function load(port: number, host: string, fields: readonly string[]): Promise<number> {
  const headers = [`Host: ${host}`, ...fields].flatMap((field) => ['-H', field]);
  const program = new Program('taskset', [
    '-c',
    `${LOAD_CORE}`,
    'wrk',
    '-t1',
    '-c64',
    `-d${SECONDS}s`,
    ...headers,
    `http://127.0.0.1:${port}/`,
  ]);
  await program.exited;
  const total = /(\d+) requests in/.exec(program.stdout);
  if (total === null || /Non-2xx|Socket errors/.test(program.stdout)) throw new Error(`requests to ${host} failed:\n${program.output}`);
  return Number(total[1]);
}
