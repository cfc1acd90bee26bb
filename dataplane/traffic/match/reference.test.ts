import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { field } from '../testing/wire.ts';

const reference = readFileSync(new URL('../../../docs/reference/forwarding.md', import.meta.url), 'utf8');
const [open = '', guarded = ''] = reference.split('\n### Guarded paths\n');
const rowsOf = (columns: number, text = open): string[][] =>
  text
    .split('\n')
    .map((line) => line.split('|').slice(1, -1))
    .filter((cells) => cells.length === columns && cells[0]?.includes('`'))
    .map((cells) => cells.map((cell) => cell.trim()));
const code = (cell = ''): string => /`([^`]+)`/.exec(cell)?.[1] ?? cell;

test('the paths in the reference match and are forwarded as documented', async () => {
  using upstream = await UpstreamFixture.serving((request) => ok(request.line.split(' ')[1] ?? ''));
  const api = { path: '/api/*', strip_prefix: true, upstreams: [{ address: upstream.address }], headers: [{ name: 'X-Api', value: '1' }] };
  using proxy = await ProxyFixture.start([{ ...site('a.test', upstream), handles: [api] }]);
  const rows = rowsOf(3);
  assert.ok(rows.length > 10);
  for (const [sent, matches, forwarded] of rows) {
    const { head, body } = await proxy.request(get(Buffer.from(code(sent)).toString('latin1')));
    assert.deepEqual([field(head, 'X-Api') === '1' ? 'yes' : 'no', body], [matches, code(forwarded)], code(sent));
  }
});

test('the guarded paths in the reference are refused or forwarded as documented', async () => {
  using upstream = await UpstreamFixture.serving(ok('on'));
  const handles = [{ path: '/admin/*', rate_limit_rps: 100_000 }];
  using proxy = await ProxyFixture.start([{ ...site('a.test', upstream), handles }]);
  const rows = rowsOf(3, guarded);
  assert.ok(rows.length > 8);
  for (const [paths = '', , verdict] of rows)
    for (const [, path = ''] of paths.matchAll(/`([^`]+)`/g))
      assert.match((await proxy.request(get(path))).line, verdict === '400' ? / 400 / : / 200 /, path);
});

test("the fields that the reference lists as dropped are dropped, and those we set can't be set by the client", async () => {
  using upstream = await UpstreamFixture.serving((request) => ok(request.head));
  using proxy = await ProxyFixture.before(upstream);
  const rows = rowsOf(2);
  const names = (row: string[]) => [...(row[0] ?? '').matchAll(/`([A-Za-z][\w-]*)`/g)].map(([, name = '']) => name);
  const isGone = ([, says]: string[]): boolean => says?.startsWith('removed') === true;
  const gone = rows.filter(isGone).flatMap(names);
  const ours = rows.filter((row) => !isGone(row)).flatMap(names);
  assert.ok(gone.length >= 12 && ours.length >= 5);
  const kept = ['Host', 'Cookie', 'Authorization'];
  for (const name of gone.filter((one) => !kept.includes(one) && one !== 'Connection')) {
    const { body } = await proxy.request(get('/', `${name}: claimed\r\n${name.replaceAll('-', '_')}: claimed\r\n`));
    assert.equal(field(body, name), null, name);
  }
  for (const name of ours.filter((one) => one.startsWith('X-'))) {
    const { body } = await proxy.request(get('/', `${name}: claimed\r\nConnection: ${name}\r\n${name.replaceAll('-', '_')}: claimed\r\n`));
    assert.notEqual(field(body, name), null, name);
    assert.doesNotMatch(body, /claimed/, name);
  }
});
