import { writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Folder } from '../../testing/dataplane.ts';
import { visit } from '../../testing/http.ts';
import { freePort } from '../../testing/ports.ts';
import { Upstream } from '../../testing/upstream.ts';
import { run } from '../contenders/sluice.ts';
import { PROXY_CORE } from '../contest/placement.ts';
import type { Timing } from '../contest/rounds.ts';
import { atMost, type Figure, median, shown, spreadOf } from '../figure.ts';
import { cpuOf, familyOf } from '../processes.ts';

const SITES = 1_000;
/** Milliseconds. */
const GOAL = 300;
/** Each question takes processor time from what is measured. */
const ASKED_EVERY_MS = 5;

/**
 * How soon `sluice run` with 1,000 sites, on one core, serves the last of them: without saved state, and with the state of the previous
 * run.
 */
export async function startUp({ rounds }: Timing): Promise<Figure[]> {
  await using upstream = await Upstream.start('bench', (_, response) => response.end('ok'));
  const [fresh, again]: [Start[], Start[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    using folder = new Folder();
    const [port, httpsPort] = [await freePort(), await freePort()];
    const config = folder.file('Sluicefile');
    const sites = Array.from({ length: SITES }, (_, number) => `site-${number}.test {\n  reverse_proxy ${upstream.address}\n}\n`);
    writeFileSync(config, `{\n  http_port ${port}\n  https_port ${httpsPort}\n  bind 127.0.0.1\n}\n${sites.join('')}`);
    fresh.push(await timed(config, folder.file('state'), port));
    again.push(await timed(config, folder.file('state'), port));
  }
  return [...figuresOf('no state', fresh), ...figuresOf('started before', again)];
}

/** The time until a response, and the processor time that was used until then, in ms. */
type Start = { readonly time: number; readonly processor: number };

function figuresOf(kind: string, starts: readonly Start[]): Figure[] {
  const what = `from the start to the first response, ${SITES.toLocaleString('en')} sites, ${kind}`;
  const [times, processor] = [starts.map(({ time }) => time), starts.map((start) => start.processor)];
  return [
    atMost(what, median(times), 'ms', GOAL, spreadOf(times)),
    shown(`${what}: processor time`, median(processor), 'ms', spreadOf(processor)),
  ];
}

async function timed(config: string, stateDir: string, port: number): Promise<Start> {
  const begun = performance.now();
  await using program = await run(config, stateDir, [PROXY_CORE], 1);
  while ((await statusOf(port)) !== 200) {
    if (program.exit !== null) throw new Error(`it ended:\n${program.output}`);
    await pause(ASKED_EVERY_MS);
  }
  const time = performance.now() - begun;
  const { user, kernel } = cpuOf(familyOf(program.pid));
  return { time, processor: 1_000 * (user + kernel) };
}

/** null while the connection is refused. */
async function statusOf(port: number): Promise<number | null> {
  try {
    return (await visit(port, `site-${SITES - 1}.test`)).status;
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ECONNREFUSED' || error.code === 'ECONNRESET')) return null;
    throw error;
  }
}
