import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { Pair } from '../testing/pair.ts';
import { REPOSITORY, run } from '../testing/process.ts';

const SITE = 'shop.example {\n  respond "open"\n}\n';
const folder = new Folder();
after(() => folder[Symbol.dispose]());
writeFileSync(folder.file('bad'), 'shop.example {\n  respnd\n}\n');
writeFileSync(folder.file('other'), SITE.replaceAll('shop', 'other'));

/** Commands for each exit code, run against a pair that serves SITE; `away` is an Admin API that does not exist. */
const CASES: Readonly<Record<number, readonly string[]>> = {
  0: ['validate --config Sluicefile', 'diff --config Sluicefile ADMIN', 'status ADMIN --json', 'explain shop.example ADMIN'],
  1: ['validate --config bad', 'diff --config bad ADMIN', 'explain shpo.example ADMIN --json'],
  2: ['rotues', 'routes --jsn', 'status --admin nowhere', 'validate --config none'],
  3: ['diff --config other ADMIN --json', 'status AILING --json'],
  4: ['reload ADMIN'],
  5: ['routes --admin AWAY', 'explain shop.example --admin AWAY', 'reload --admin AWAY'],
};

test('the commands exit with the codes in the table, and the table lists all of them', async () => {
  const page = readFileSync(join(REPOSITORY, 'docs/reference/command-line.md'), 'utf8');
  const table = page.slice(page.indexOf('## Exit codes'), page.indexOf('What went wrong is one line'));
  assert.deepEqual(
    [...table.matchAll(/^\| (\d) \|/gm)].map(([, code]) => code),
    Object.keys(CASES),
  );
  await using pair = await Pair.start(folder, SITE);
  // Nothing has been applied to it, so it is not ready.
  const ailing = folder.file('ailing.sock');
  await using _ = await Dataplane.start({ stateDir: folder.file('ailing'), flags: ['--admin-socket', ailing] });
  for (const [code, lines] of Object.entries(CASES)) {
    // The cooldown starts with the last reload, which is the one right before.
    if (code === '4') assert.equal((await pair.admin('/reload?wait=true', { method: 'POST' })).status, 200);
    await Promise.all(lines.map((line) => endsWith(line, Number(code), pair.socket, ailing)));
  }
});

async function endsWith(line: string, code: number, socket: string, ailing: string): Promise<void> {
  const words = line
    .replace('ADMIN', `--admin unix:${socket}`)
    .replace('AILING', `--admin unix:${ailing}`)
    .replace('AWAY', 'unix:./none.sock')
    .split(' ');
  const { stdout, stderr, ...exit } = await run(words, {}, folder.path);
  assert.equal(exit.code, code, `${line}\n${stdout}${stderr}`);
  const complains = [2, 4, 5].includes(code);
  assert.equal(stderr.split('\n').length - 1, complains || line.includes(' bad') ? 1 : 0, `${line}: the error is one line\n${stderr}`);
  if (words.includes('--json') && !complains) JSON.parse(stdout);
}
