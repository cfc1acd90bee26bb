import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Folder } from '../testing/dataplane.ts';
import { Pair } from '../testing/pair.ts';
import { Upstream } from '../testing/upstream.ts';

const DEPLOYS = 5;
const VISITORS = 8;

/** Nothing else listens there, so the address of a target that is gone refuses connections. */
const HOST = '127.0.0.77';

/** Its responses are cached, except those of /api/checked, which are validated each time. */
function start(name: string): Promise<Upstream> {
  const answer: RequestListener = ({ url }, response) => {
    response.setHeader('cache-control', url === '/api/checked' ? 'max-age=0, must-revalidate' : 'max-age=600');
    response.setHeader('etag', `"${name}"`);
    response.end(`${name} ${url}`);
  };
  return Upstream.start(name, answer, 0, HOST);
}

const sitesWith = (main: Upstream, api: Upstream): string => `shop.test {
  cache
  hold 60s
  handle /api/* {
    reverse_proxy ${api.address}
  }
  reverse_proxy ${main.address}
}
`;

test('a cached site loses no request while the target of a path is recreated at other addresses', { timeout: 110_000 }, async () => {
  using folder = new Folder();
  await using main = await start('main');
  let api = await start('api-0');
  await using pair = await Pair.start(folder, sitesWith(main, api), { flags: ['--cache-size', '10mb'] });
  const servedBy: string[] = [];
  /** Each of them, since a request that several targets drop one after another is not held any longer. */
  const everyoneIsServedBy = ({ name }: Upstream) =>
    until(`${name} to serve every visitor`, () => servedBy.filter((text) => text.startsWith(name)).length === VISITORS);
  let over = false;
  const wrong: string[] = [];
  const visitors = Array.from({ length: VISITORS }, async (_, visitor) => {
    for (let nth = 0; !over; nth++) {
      const path = nth % 2 === 0 ? `/api/${visitor}/${nth}` : '/api/checked';
      const { status, text } = await pair.visit('shop.test', path);
      if (status !== 200 || !/^api-\d /.test(text) || !text.endsWith(path)) wrong.push(`${path}: ${status} ${text}`);
      servedBy[visitor] = text;
    }
  });
  try {
    for (let deploy = 1; deploy <= DEPLOYS; deploy++) {
      await everyoneIsServedBy(api);
      await api[Symbol.asyncDispose]();
      await until('all visitors to wait', async () =>
        (await pair.admin('/metrics')).text.includes(`sluice_requests_in_flight ${VISITORS}\n`),
      );
      api = await start(`api-${deploy}`);
      pair.write(sitesWith(main, api));
    }
    await everyoneIsServedBy(api);
  } finally {
    over = true;
    await Promise.all(visitors);
    await api[Symbol.asyncDispose]();
  }
  assert.deepEqual(wrong, []);
  assert.equal(main.requests, 0);
});
