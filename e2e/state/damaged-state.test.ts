import assert from 'node:assert/strict';
import {
  closeSync,
  cpSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { Dataplane, Folder, frame, NDJSON } from '../testing/dataplane.ts';
import { freePort } from '../testing/ports.ts';
import { run } from '../testing/process.ts';
import { Upstream } from '../testing/upstream.ts';

const DOMAINS = 200;

/** Overwrites a range in the middle of a file. */
function scribble(path: string, at: number, bytes: number): void {
  const file = openSync(path, 'r+');
  try {
    writeSync(file, Buffer.alloc(bytes, 0xa5), 0, bytes, at);
  } finally {
    closeSync(file);
  }
}

const DAMAGES: Readonly<Record<string, (path: string) => void>> = {
  'its header overwritten': (path) => scribble(path, 0, 100),
  'its middle overwritten': (path) => scribble(path, Math.floor(statSync(path).size / 2), 6_000),
  'its second half cut off': (path) => truncateSync(path, Math.floor(statSync(path).size / 2)),
  'nothing in it': (path) => truncateSync(path, 0),
};

/** What a damaged key ring contains. */
const KEY_RINGS = { 'no JSON': '{"visitors":"SECRET', 'other JSON': '{"visitors":"SECRET"}', 'nothing in it': '' };

describe('in the state of a data plane that served many routes', () => {
  const left = new Folder();
  let upstream: Upstream;
  before(async () => {
    upstream = await Upstream.start('one');
    await using dataplane = await Dataplane.start({ stateDir: left.path, workers: 1 });
    const routes = Array.from({ length: DOMAINS }, (_, index) => ({ domain: `site-${index}.test`, upstream: upstream.address }));
    assert.equal((await dataplane.admin('POST', '/routes', frame(1, routes), NDJSON)).status, 200);
    assert.equal((await dataplane.program.kill('SIGTERM')).code, 0);
  });
  after(async () => {
    await upstream?.[Symbol.asyncDispose]();
    left[Symbol.dispose]();
  });

  /** A copy of it. */
  function stateOf(): Folder {
    const folder = new Folder();
    cpSync(left.path, folder.path, { recursive: true });
    return folder;
  }

  for (const [what, damage] of Object.entries(DAMAGES))
    test(`a saved table with ${what} never prevents startup, and routes can be saved again`, async () => {
      using folder = stateOf();
      damage(folder.file('routes.db'));
      {
        await using dataplane = await Dataplane.start({ stateDir: folder.path, workers: 1 });
        const aside = readdirSync(folder.path).find((name) => name.startsWith('routes.db.corrupt-'));
        // An empty file is an empty database, so it is not renamed.
        if (what !== 'nothing in it') {
          assert.ok(aside !== undefined, 'the damaged file is kept');
          await dataplane.program.said(aside);
        }
        // What could be read is served unchanged, and nothing else.
        const kept = JSON.parse((await dataplane.admin('GET', '/routes')).text) as { domain: string; upstream: string }[];
        for (const route of kept) assert.deepEqual([/^site-\d+\.test$/.test(route.domain), route.upstream], [true, upstream.address]);
        await dataplane.route('after.test', upstream.address);
        await dataplane.program.kill('SIGKILL');
      }
      await using again = await Dataplane.start({ stateDir: folder.path, workers: 1 });
      assert.equal((await again.visit('after.test')).status, 200);
    });

  for (const [what, text] of Object.entries(KEY_RINGS))
    test(`a key ring with ${what} is renamed, logged without its content, and never prevents startup`, async () => {
      using folder = stateOf();
      writeFileSync(folder.file('keyring.json'), text);
      await using dataplane = await Dataplane.start({ stateDir: folder.path, workers: 1 });
      const aside = readdirSync(folder.path).find((name) => name.startsWith('keyring.json.bad-'));
      assert.ok(aside !== undefined, 'the damaged file is kept');
      assert.equal(readFileSync(folder.file(aside), 'utf8'), text);
      await dataplane.program.said(aside);
      assert.match(
        readFileSync(folder.file('keyring.json'), 'utf8'),
        /^\{"visitors":"[0-9a-f]{32}","tickets":\{"keys":"[0-9a-f]{96}","since":\d+\}\}\n$/,
      );
      assert.ok(!dataplane.program.output.includes('SECRET'));
    });

  test('a key ring that can’t be read prevents startup, because it would be overwritten, with one line', async () => {
    using folder = stateOf();
    rmSync(folder.file('keyring.json'));
    mkdirSync(folder.file('keyring.json'));
    const { code, stderr } = await run(['dataplane', '--http-port', `${await freePort()}`, '--state-dir', folder.path]);
    assert.equal(code, 2);
    assert.match(stderr, /^sluice dataplane: can't use the key ring in \S+: EISDIR: .*\n$/);
  });
});
