import { writeFileSync } from 'node:fs';
import { Folder } from '../../testing/dataplane.ts';
import { Program } from '../../testing/process.ts';
import { Upstream } from '../../testing/upstream.ts';
import { LOAD_CORE, PROXY_CORE } from '../contest/placement.ts';
import { atMost, type Figure, shown } from '../figure.ts';
import { ownDataplane } from '../own-dataplane.ts';
import { cpuOf } from '../processes.ts';

const ROUNDS = 15;
const SECONDS = 1;
const ADDRESSES = 10_000;

/** Requests of browsers, each from the next address, given in the field that trusted proxies add. */
const SCRIPT = `
local nth = 0
request = function()
  nth = (nth + 1) % ${ADDRESSES}
  wrk.headers["X-Forwarded-For"] = "198.18." .. math.floor(nth / 256) .. "." .. (nth % 256)
  return wrk.format()
end
`;
const BROWSER = [
  'User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
  'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8',
  'Accept-Language: en-US,en;q=0.9',
];
const KINDS = {
  limited: { host: 'limited.test', fields: BROWSER },
  challenged: { host: 'challenged.test', fields: BROWSER },
  refused: { host: 'challenged.test', fields: [...BROWSER.filter((field) => !field.startsWith('Accept:')), 'Accept: */*'] },
} as const;
type Kind = keyof typeof KINDS;

/** What a flood from 10,000 addresses costs a worker that responds with challenges, and with 429. None of it reaches the upstream. */
export async function flood(): Promise<Figure[]> {
  using folder = new Folder();
  await using upstream = await Upstream.start('upstream');
  const command = ['taskset', '-c', `${PROXY_CORE}`];
  const flags = ['--trusted-proxies', '127.0.0.1/32'];
  const dataplane = await ownDataplane({ stateDir: folder.file('state'), flags, command });
  const script = folder.file('flood.lua');
  writeFileSync(script, SCRIPT);
  try {
    await dataplane.route('limited.test', upstream.address, { rate_limits: [{ rph: 1 }] });
    await dataplane.route('challenged.test', upstream.address, { under_attack: true });
    const micros: Record<Kind, number[]> = { limited: [], challenged: [], refused: [] };
    /**
     * The requests of challenged clients that reached the upstream; the last requests of the first round below the limit may still be in
     * flight.
     */
    let forwarded = 0;
    for (let round = 0; round <= ROUNDS; round++) {
      for (const kind of Object.keys(KINDS) as Kind[]) {
        const begun = cpuOf([dataplane.program.pid]);
        const before = upstream.requests;
        const requests = await load(dataplane.httpPort, script, KINDS[kind]);
        const ended = cpuOf([dataplane.program.pid]);
        const seconds = ended.user + ended.kernel - begun.user - begun.kernel;
        // The first round warms up compilers, and each address has its one request.
        if (round === 0) continue;
        micros[kind].push((seconds * 1e6) / requests);
        if (kind !== 'limited') forwarded += upstream.requests - before;
      }
    }
    // The minimum of the rounds, since other work on the machine only adds to it.
    const minimum = (kind: Kind): number => Math.min(...micros[kind]);
    return [
      shown('CPU time of a request over its limit (429)', minimum('limited'), 'µs'),
      shown('CPU time of a challenged page (503)', minimum('challenged'), 'µs'),
      shown('CPU time of a refused request that can show no page (503)', minimum('refused'), 'µs'),
      atMost('a challenge against a 429', minimum('challenged') / minimum('limited'), 'x', 1),
      atMost('a refusal against a 429', minimum('refused') / minimum('limited'), 'x', 1),
      atMost('challenged requests that reached the upstream', forwarded, '', 0),
    ];
  } finally {
    await dataplane.program.kill('SIGTERM');
  }
}

async function load(port: number, script: string, { host, fields }: (typeof KINDS)[Kind]): Promise<number> {
  const headers = [`Host: ${host}`, ...fields].flatMap((field) => ['-H', field]);
  const args = ['-c', `${LOAD_CORE}`, 'wrk', '-t1', '-c64', `-d${SECONDS}s`, '-s', script, ...headers, `http://127.0.0.1:${port}/`];
  const program = new Program('taskset', args);
  await program.exited;
  const total = /(\d+) requests in/.exec(program.stdout);
  const failed = /Non-2xx or 3xx responses: (\d+)/.exec(program.stdout);
  if (total === null || /Socket errors/.test(program.stdout)) throw new Error(`wrk did not measure:\n${program.output}`);
  if (Number(total[1]) - Number(failed?.[1] ?? 0) > ADDRESSES) throw new Error(`requests were let through:\n${program.stdout}`);
  return Number(total[1]);
}
