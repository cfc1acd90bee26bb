import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { ask } from '../testing/http.ts';
import { run } from '../testing/process.ts';
import { Upstream } from '../testing/upstream.ts';

const mount = (...args: string[]) => spawnSync('mount', args).status === 0;

test('what is saved on a disk that has become read-only is served, and changes are saved and sockets opened once it can be written', async (context) => {
  using folder = new Folder();
  const [state, view] = [folder.file('state'), folder.file('view')];
  mkdirSync(state);
  mkdirSync(view);
  if (!mount('--bind', state, view)) {
    if (process.env.CI === 'true') assert.fail('a directory could not be mounted');
    return context.skip('needs permission to mount a directory');
  }
  try {
    await using upstream = await Upstream.start('one');
    {
      await using first = await Dataplane.start({ stateDir: view });
      await first.route('before.test', upstream.address);
      // Its log is not part of the file yet.
      await first.program.kill('SIGKILL');
    }
    // Its keys for tickets are due, and neither the mode nor what a killed process left can be corrected.
    const keyring = `${view}/keyring.json`;
    const saved = JSON.parse(readFileSync(keyring, 'utf8')) as { tickets: object };
    writeFileSync(keyring, JSON.stringify({ ...saved, tickets: { ...saved.tickets, since: 0 } }));
    writeFileSync(`${keyring}.new`, '');
    chmodSync(keyring, 0o644);
    assert.ok(mount('-o', 'remount,bind,ro', view));
    {
      await using dataplane = await Dataplane.start({ stateDir: view, flags: ['--admin-socket', `${view}/admin.sock`] });
      assert.equal((await dataplane.visit('before.test')).status, 200);
      const refused = await dataplane.admin('POST', '/routes', { domain: 'after.test', upstream: upstream.address, tls: false });
      assert.deepEqual([refused.status, /^\{"error":"not saved: .*read-only file system/.test(refused.text)], [503, true], refused.text);
      const { warnings } = JSON.parse((await dataplane.admin('GET', '/status')).text) as { warnings: string[] };
      assert.match(warnings.join(), /changes can't be saved in .*routes\.db \(.*read-only/);
      assert.match(dataplane.program.output, /the Admin API can't be reached through its socket/);

      assert.ok(mount('-o', 'remount,bind,rw', view));
      await dataplane.route('after.test', upstream.address);
      assert.equal((await dataplane.visit('after.test')).status, 200);
      await dataplane.program.said('the Admin API can be reached through its socket now');
      assert.match((await ask({ socketPath: `${view}/admin.sock` }, '/routes')).text, /after\.test/);
      await dataplane.program.said('the takeover socket is open now');
      assert.match((await run(['upgrade', '--state-dir', view])).stderr, /no parent process to start a successor/);
    }
    await using last = await Dataplane.start({ stateDir: view });
    for (const domain of ['before.test', 'after.test']) assert.equal((await last.visit(domain)).status, 200);
  } finally {
    spawnSync('umount', [view]);
  }
});
