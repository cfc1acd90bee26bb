import { parseArgs } from 'node:util';
import type { Timing } from './contest/rounds.ts';

export type BenchOptions = {
  readonly names: readonly string[];
  readonly timing: Timing;
  /** Where the report is written; null for nowhere. */
  readonly json: string | null;
  /** A report to compare with. */
  readonly base: string | null;
  /** A report to show instead of measuring. */
  readonly from: string | null;
  /** Where the picture is written. */
  readonly svg: string | null;
  readonly help: boolean;
};

export const USAGE = `npm run bench -- [OPTIONS] [BENCHMARK …]

  --rounds N     rounds of each proxy (default 5)
  --seconds N    seconds of a round (default 3)
  --json FILE    write everything measured to FILE
  --base FILE    compare with FILE, which an earlier run wrote with --json
  --from FILE    show FILE again instead of measuring
  --svg FILE     draw a picture of the contests
  --help         show this help

SLUICE_BENCH_PEERS names a folder with proxies to compare with; otherwise PATH is searched for nginx, haproxy, caddy and traefik.
`;

/** @throws with a message for the user. */
export function readOptions(argv: readonly string[]): BenchOptions {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '3' },
      json: { type: 'string' },
      base: { type: 'string' },
      from: { type: 'string' },
      svg: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const { rounds, seconds, json = null, base = null, from = null, svg = null, help } = values;
  const timing = { rounds: count('--rounds', rounds), seconds: count('--seconds', seconds) };
  return { names: positionals, timing, json, base, from, svg, help };
}

function count(flag: string, text: string): number {
  if (!/^[1-9]\d{0,2}$/.test(text)) throw new Error(`${flag} ${text}: a number from 1 to 999 is expected`);
  return Number(text);
}
