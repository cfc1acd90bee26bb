import assert from 'node:assert/strict';
import { Agent, get, request } from 'node:http';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { Dataplane, Folder, TOKEN } from '../testing/dataplane.ts';
import { Upstream } from '../testing/upstream.ts';

const SWAPS = 1_000;
const VISITORS = 8;

test('1,000 table swaps under load fail no request', async () => {
  using folder = new Folder();
  await using blue = await Upstream.start('blue', (_, response) => response.end('blue'));
  await using green = await Upstream.start('green', (_, response) => response.end('green'));
  await using dataplane = await Dataplane.start({ stateDir: folder.path, workers: 2 });
  await dataplane.route('steady.test', blue.address);

  const seen = new Map<string, number>();
  let swapping = true;
  const visitors = Array.from({ length: VISITORS }, async (_, index) => {
    // Half of them keep their connection, and half open one per request.
    const agent = index % 2 === 0 ? new Agent({ keepAlive: true, maxSockets: 1 }) : false;
    while (swapping) {
      for (const host of ['steady.test', 'moving.test']) {
        const answer = await outcome(dataplane.httpPort, host, agent);
        seen.set(`${host} ${answer}`, (seen.get(`${host} ${answer}`) ?? 0) + 1);
      }
    }
    if (agent !== false) agent.destroy();
  });

  const stream = await openStream(dataplane);
  try {
    for (let revision = 1; revision <= SWAPS; revision++) {
      const upstream = revision % 2 === 0 ? blue.address : green.address;
      const others = Array.from({ length: revision % 7 }, (_, other) => ({ domain: `other-${other}.test`, upstream }));
      const routes = [{ domain: 'moving.test', upstream }, ...others].map((route) => ({ route: { tls: false, source: 'file', ...route } }));
      const apply = { controller: 'tests', epoch: 1, revision, based_on: null, sources: ['file'] };
      await stream.apply([{ apply }, ...routes, { end: { revision } }], revision);
    }
  } finally {
    swapping = false;
    stream.end();
    await Promise.all(visitors);
  }
  // Before the first frame the route did not exist.
  seen.delete('moving.test 404');
  assert.deepEqual([...seen.keys()].sort(), ['moving.test blue', 'moving.test green', 'steady.test blue']);
  assert.ok([...seen.values()].reduce((sum, count) => sum + count, 0) > 1_000, 'there was load during the swaps');
});

function outcome(port: number, host: string, agent: Agent | false): Promise<string> {
  return new Promise((resolve) => {
    const visit = get({ host: '127.0.0.1', port, headers: { host }, agent }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.on('end', () => resolve(response.statusCode === 200 ? text : String(response.statusCode)));
      response.on('error', (error) => resolve(error.message));
    });
    visit.on('error', (error) => resolve(error.message));
  });
}

/** One apply stream for all frames, which counts as one request. */
async function openStream(dataplane: Dataplane) {
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/x-ndjson' };
  const call = request({ host: '127.0.0.1', port: dataplane.adminPort, path: '/routes', method: 'POST', headers });
  let waiting: { readonly revision: number; readonly resolve: () => void; readonly reject: (error: Error) => void } | undefined;
  call.on('response', (response) => {
    const lines = createInterface({ input: response });
    lines.on('line', (line) => {
      if (line.includes('"refused"')) waiting?.reject(new Error(line));
      else if (line.includes(`"revision":${waiting?.revision},`)) waiting?.resolve();
    });
    lines.on('close', () => waiting?.reject(new Error('the stream ended')));
  });
  return {
    /** Not with `until`: while it waits for its next look, the visitors only cost CPU time. */
    apply: (lines: readonly object[], revision: number) =>
      new Promise<void>((resolve, reject) => {
        waiting = { revision, resolve, reject };
        call.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
      }),
    end: () => call.end(),
  };
}
