import { writeFileSync } from 'node:fs';
import { compileBytes, compileFile } from '../../../controller/sources/file/compile.ts';
import { ODD_PIECES, repeated } from '../../../controller/sources/file/testing/odd-files.ts';
import { Folder } from '../../testing/dataplane.ts';
import { run } from '../../testing/process.ts';
import { atMost, type Figure, median } from '../figure.ts';

const ROUNDS = 5;

/** How long it takes to compile a config file: the validate command from a cold start, and compilation alone. */
export async function sluicefile(): Promise<Figure[]> {
  using folder = new Folder();
  const [thousand, fiftyThousand] = [folder.file('thousand'), folder.file('fifty-thousand')];
  writeFileSync(thousand, sites(1_000));
  writeFileSync(fiftyThousand, sites(50_000));
  const validate = async () => {
    const { code, stderr } = await run(['validate', '--config', thousand]);
    if (code !== 0) throw new Error(stderr);
  };
  const compile = (path: string) => async () => {
    const compiled = await compileFile(path, {});
    if (!compiled.ok) throw new Error(`${compiled.diagnostics.length} problems`);
  };
  const odd: number[] = [];
  for (const piece of ODD_PIECES) odd.push(await timed(async () => void compileBytes(repeated(piece, 300_000), 'Sluicefile', {})));
  return [
    atMost('sluice validate of 1,000 sites, with the start of the process', await timed(validate), 'ms', 400),
    atMost('1,000 sites compiled', await timed(compile(thousand)), 'ms', 200),
    atMost('300 KB of one odd piece compiled (the slowest piece)', Math.max(...odd) / 1_000, 's', 5),
    atMost('50,000 sites compiled', (await timed(compile(fiftyThousand))) / 1_000, 's', 5),
  ];
}

/** Typical sites: a snippet, a redirect, a block. */
function sites(count: number): string {
  const common = '(common) {\n  header X-Served-By {args[0]}\n  rate_limit 50/s\n}\n';
  const site = (n: number) =>
    `site-${n}.example, www.site-${n}.example {\n  import common ${n}\n  redir /old/* /new/{remainder} 308\n  handle /api/* {\n    reverse_proxy 10.0.0.2:8080\n  }\n  reverse_proxy 10.0.0.1:8080 10.0.0.3:8080\n}\n`;
  return common + Array.from({ length: count }, (_, n) => site(n)).join('\n');
}

/** The median of several rounds, in milliseconds. */
async function timed(work: () => Promise<void>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    await work();
    times.push(performance.now() - start);
  }
  return median(times);
}
