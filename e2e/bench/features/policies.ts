import { generateKeyPairSync, sign } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { openCountryDatabase } from '../../../dataplane/analytics/country-database.ts';
import { createLedger } from '../../../dataplane/ledger/ledger.ts';
import { Faults } from '../../../dataplane/traffic/exchange/faults.ts';
import { Countries } from '../../../dataplane/traffic/match/countries.ts';
import { Passwords } from '../../../dataplane/traffic/policy/basic-auth/passwords.ts';
import { KeySets } from '../../../dataplane/traffic/policy/jwt/key-sets.ts';
import { POLICIES } from '../../../dataplane/traffic/policy/order.ts';
import { type KindTools, LATER, type PolicyTools } from '../../../dataplane/traffic/policy/policy.ts';
import { Bots } from '../../../dataplane/traffic/policy/under-attack/bots.ts';
import { Clearances } from '../../../dataplane/traffic/policy/under-attack/clearance.ts';
import { SETTINGS } from '../../../dataplane/traffic/testing/proxy/test-proxy.ts';
import { sampleExchange } from '../../../dataplane/traffic/testing/samples/sample-exchange.ts';
import { readAppliedRoute } from '../../../shared/route.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import { APPLY_CONTENT_TYPE } from '../../../shared/wire/apply.ts';
import { Folder, frame } from '../../testing/dataplane.ts';
import { Program } from '../../testing/process.ts';
import { nginxUpstream } from '../contenders/nginx.ts';
import { LOAD_CORE, PROXY_CORE, UPSTREAM_CORE } from '../contest/placement.ts';
import { atMost, type Figure, median, shown } from '../figure.ts';
import { ownDataplane } from '../own-dataplane.ts';
import { cpuOf } from '../processes.ts';

const ROUNDS = 7;
const SECONDS = 2;

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const PEM = publicKey.export({ type: 'spki', format: 'pem' }) as string;
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const SIGNED = `${part({ alg: 'RS256' })}.${part({ exp: 9_999_999_999, sub: 'bob', realm_access: { roles: ['buyer'] } })}`;
const TOKEN = `${SIGNED}.${sign('sha256', Buffer.from(SIGNED), privateKey).toString('base64url')}`;

/** Members of a route with the policy, and the fields of a request that passes it. */
type Site = { readonly what: string; readonly route: object; readonly fields?: readonly string[] };

/** Address ranges that do not include the sender of the requests. */
const RANGES = Array.from({ length: 10 }, (_, n) => `198.51.${n}.0/24`);
/** A fixed response to other requests. */
const responding = (match: object): object => ({ responds: [{ status: 403, body: '', match: { name: 'others', ...match } }] });

const SITES: Readonly<Record<string, Site>> = {
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
  },
  cors: {
    what: 'cors',
    route: { cors: { origins: ['https://app.example'] } },
    fields: ['Origin: https://app.example'],
  },
  body: { what: 'request_body', route: { request_body: { max_size: 1_000_000 } } },
  jwt: {
    what: 'jwt with a token that was verified before',
    route: { jwt: { keys: [{ pem: PEM }], copy_claims: [{ claim: 'realm_access.roles', to: 'X-Roles' }] } },
    fields: [`Authorization: Bearer ${TOKEN}`],
  },
  excepted: {
    what: 'under_attack, a request that is excepted',
    route: { under_attack: true, challenge: { except: [{ path: ['/*'] }] } },
  },
  password: {
    what: 'basic_auth with a password that was verified before',
    route: { basic_auth: { users: [{ name: 'bob', hash: `$2b$04$${'a'.repeat(53)}` }] } },
    fields: [`Authorization: Basic ${btoa('bob:secret')}`],
  },
  maintenance: { what: 'maintenance of other paths', route: { maintenance: { match: { path: ['/closed/*'] } } } },
  redirects: {
    what: 'ten lines of redir for other paths',
    route: { redirects: Array.from({ length: 10 }, (_, n) => ({ from: `/old-${n}/*`, to: '/new/{remainder}', status: 308 })) },
  },
  path: { what: 'respond with a matcher: path', route: responding({ path: ['/closed/*', '*.php'] }) },
  pattern: { what: 'respond with a matcher: path_regexp', route: responding({ path_regexp: ['^/v[0-9]+/'] }) },
  agent: { what: 'respond with a matcher: header', route: responding({ header: [{ name: 'User-Agent', values: ['*bot*'] }] }) },
  ranges: { what: 'respond with a matcher: remote_ip with ten ranges', route: responding({ remote_ip: RANGES }) },
  auto: { what: 'under_attack auto, below its threshold', route: { challenge: { auto_rps: 1_000_000 } } },
};

/**
 * The cost of access policies: of each alone, in this process, and of a complete request to a site without policies while other sites
 * have them.
 */
export async function policies(): Promise<Figure[]> {
  return [...(await alone()), ...(await wholeRequests())];
}

const LOOPS = 40;
const REQUESTS = 20_000;
const FIELDS =
  'Host: a\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0\r\nAccept: text/html,*/*;q=0.8\r\nAccept-Language: en\r\n';

/** Loops that run the policies of a route, against one without them: the fastest of many rounds, since other work only slows them down. */
async function alone(): Promise<Figure[]> {
  const ledger = createLedger(1);
  const clock = systemClock;
  const tools: PolicyTools = {
    now: () => Date.now(),
    rates: ledger.rates,
    countries: new Countries(openCountryDatabase(memoryLog()), memoryLog()),
    clearances: new Clearances(Buffer.alloc(32)),
    bots: new Bots(() => undefined),
    keySets: new KeySets({ clock, wanted: () => undefined }),
    passwords: new Passwords({
      semaphore: ledger.passwordChecks,
      slot: 0,
      wrong: ledger.wrongGuesses,
      clock,
      log: memoryLog(),
      faults: new Faults({ log: memoryLog(), clock }),
      key: Buffer.alloc(32, 1),
      compare: async () => true,
    }),
    https: SETTINGS.https,
    httpsPorts: [],
    isProvided: () => false,
  };
  const fastest = async (route: object, fields: readonly string[] = []): Promise<number> => {
    const read = readAppliedRoute({ domain: 'a', upstream: '127.0.0.1:1', tls: false, ...route });
    if ('problem' in read) throw new Error(read.problem.reason);
    const compiled = POLICIES.flatMap((kind) => kind(read.route, null, -1, {} as KindTools));
    const kept = FIELDS + fields.map((field) => `${field}\r\n`).join('');
    const x = sampleExchange({ method: 'GET', target: '/shop?page=2', kept, length: 0, chunked: false });
    x.path = '/shop';
    // A password is compared once.
    while (compiled.some((policy) => policy.decide(x, tools) === LATER)) await setTimeout(10);
    let best = Number.POSITIVE_INFINITY;
    for (let loop = 0; loop < LOOPS; loop++) {
      const begun = performance.now();
      for (let nth = 0; nth < REQUESTS; nth++) {
        x.upstreamFields = kept;
        for (const policy of compiled) if (policy.decide(x, tools) !== null) throw new Error(`${policy.name} does not let it through`);
      }
      best = Math.min(best, performance.now() - begun);
    }
    return (best * 1_000) / REQUESTS;
  };
  const figures: Figure[] = [];
  for (const { what, route, fields } of Object.values(SITES))
    figures.push(shown(`${what} adds`, (await fastest(route, fields)) - (await fastest({}, fields)), 'µs'));
  return figures;
}

/** One process serves a site, with and without others beside it, and a site with a round trip of forward_auth, in turns. */
async function wholeRequests(): Promise<Figure[]> {
  using folder = new Folder();
  const upstream = await nginxUpstream(folder, UPSTREAM_CORE);
  const address = `127.0.0.1:${upstream.port}`;
  const command = ['taskset', '-c', `${PROXY_CORE}`];
  const dataplane = await ownDataplane({ stateDir: folder.file('state'), command });
  const others = Object.entries(SITES).map(([name, { route }]) => ({ domain: `${name}.test`, upstream: address, ...route }));
  let revision = 0;
  const apply = async (routes: readonly object[]): Promise<void> => {
    const { status, text } = await dataplane.admin('POST', '/routes', frame(++revision, routes), { 'content-type': APPLY_CONTENT_TYPE });
    if (status !== 200 || text.includes('"rejected"')) throw new Error(text);
  };
  const rounds = { before: [] as number[], beside: [] as number[], after: [] as number[], authorized: [] as number[] };
  try {
    await dataplane.route('plain.test', address);
    await dataplane.route('authorized.test', address, { forward_auth: { upstreams: [address], uri: '/' } });
    for (let round = 0; round <= ROUNDS; round++) {
      const measure = async (name: keyof typeof rounds, host: string): Promise<void> => {
        const begun = cpuOf([dataplane.program.pid]);
        const requests = await load(dataplane.httpPort, host);
        const ended = cpuOf([dataplane.program.pid]);
        // The first round warms up compilers and connections.
        if (round > 0) rounds[name].push(((ended.user + ended.kernel - begun.user - begun.kernel) * 1e6) / requests);
      };
      await measure('before', 'plain.test');
      await apply(others);
      await measure('beside', 'plain.test');
      await apply([]);
      await measure('after', 'plain.test');
      await measure('authorized', 'authorized.test');
    }
    const noise = Math.abs(median(rounds.after) / median(rounds.before) - 1);
    return [
      shown('CPU time of a small proxied response', median(rounds.before), 'µs'),
      shown('the same a second time in each round: the noise', 1 + noise, 'x'),
      // Single measurements on a busy machine differ by several per cent.
      atMost('the same beside sites with every policy', median(rounds.beside) / median(rounds.before), 'x', 1.05 + noise),
      shown('the same with a round trip of forward_auth', median(rounds.authorized), 'µs'),
    ];
  } finally {
    await Promise.all([dataplane.program.kill('SIGTERM'), upstream.stop()]);
  }
}

async function load(port: number, host: string): Promise<number> {
  const program = new Program('taskset', [
    '-c',
    `${LOAD_CORE}`,
    'wrk',
    '-t1',
    '-c64',
    `-d${SECONDS}s`,
    '-H',
    `Host: ${host}`,
    `http://127.0.0.1:${port}/`,
  ]);
  await program.exited;
  const total = /(\d+) requests in/.exec(program.stdout);
  if (total === null || /Non-2xx|Socket errors/.test(program.stdout)) throw new Error(`requests to ${host} failed:\n${program.output}`);
  return Number(total[1]);
}
