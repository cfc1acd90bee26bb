import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Directive } from '../../config-file/directive.ts';
import { parseRoute } from '../../route.ts';
import { blockOf, directiveContext, line } from '../testing/directive-context.ts';
import { ipFilterDirective } from './directive.ts';

const block = (...lines: string[]): Directive => line('ip_filter', blockOf(...lines));

/** The result of a directive, and its mistakes without the marks around quoted text. */
function read(directive: Directive) {
  const { context, mistakes } = directiveContext();
  const part: Parameters<typeof ipFilterDirective.read>[1] = {};
  ipFilterDirective.read(directive, part, context, null);
  return { filter: part.ip_filter, mistakes };
}

test('one list is written after the directive’s name, several in a block', () => {
  assert.deepEqual(read(line('ip_filter allow 10.0.0.0/8 ::1')), { filter: { allow: ['10.0.0.0/8', '::1'] }, mistakes: [] });
  assert.deepEqual(read(block('deny 10.9.0.0/16', 'allow private_ranges', 'deny ::/0')), {
    filter: {
      allow: ['127.0.0.0/8', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '::1', 'fc00::/7'],
      deny: ['10.9.0.0/16', '::/0'],
    },
    mistakes: [],
  });
});

for (const [directive, mistake] of [
  [line('ip_filter alow 10.0.0.1'), 'ip_filter "alow" (did you mean "allow"?)'],
  [
    line('ip_filter 10.0.0.1 10.0.0.2'),
    'ip_filter "10.0.0.1": write allow|deny <ip-or-range> [<ip-or-range> …] or allow_countries|deny_countries <code> [<code> …]',
  ],
  [line('ip_filter allow localhost'), 'allow "localhost": it is not an IP address or range (expected 10.0.0.0/8 or ::1)'],
  [line('ip_filter deny 10.0.0.0/33'), 'deny "10.0.0.0/33": the prefix length must be a number from 0 to 32'],
  [
    block('allow'),
    'allow is missing an argument: write allow|deny <ip-or-range> [<ip-or-range> …] or allow_countries|deny_countries <code> [<code> …]',
  ],
  [
    block(),
    'ip_filter is empty and lets everyone in: write allow|deny <ip-or-range> [<ip-or-range> …] or allow_countries|deny_countries <code> [<code> …], one per line',
  ],
  [line('ip_filter deny_countries de UK'), 'deny_countries "UK": no country has this code: write GB'],
  [line('ip_filter allow_country DE'), 'ip_filter "allow_country" (did you mean "allow_countries"?)'],
  [block('allow_countries Germany'), 'allow_countries "Germany": write the two-letter code of a country, for example DE'],
  [line(`ip_filter deny${' ::1'.repeat(1_001)}`), 'ip_filter has at most 1000 ranges to deny'],
] as const)
  test(`reports a mistake and what to write: ${mistake}`, () => {
    const { filter, mistakes } = read(directive);
    assert.deepEqual(mistakes, [mistake]);
    assert.ok(filter, 'a mistake must not remove the filter');
  });

test('countries are codes in either case, each once', () => {
  assert.deepEqual(read(block('allow_countries DE at', 'deny 10.0.0.0/8', 'allow_countries de CH')), {
    filter: { allow_countries: ['DE', 'AT', 'CH'], deny: ['10.0.0.0/8'] },
    mistakes: [],
  });
});

test('a route accepts it for the site and for its blocks', () => {
  const filtered = (filter: object) => ({ domain: 'a.example', upstream: '10.0.0.1:80', tls: false, ip_filter: filter });
  const good = parseRoute({ ...filtered({ allow: ['10.0.0.0/8'] }), handles: [{ path: '/x', ip_filter: { deny: ['::1'] } }] });
  assert.ok(good.ok);
  assert.deepEqual([good.value.ip_filter, good.value.handles[0]?.ip_filter], [{ allow: ['10.0.0.0/8'] }, { deny: ['::1'] }]);
  for (const filter of [
    {},
    { deny_countries: [] },
    { allow_countries: ['XX'] },
    { allow: [] },
    { allow: ['nowhere'] },
    { deny: Array(1_001).fill('::1') },
  ])
    assert.equal(parseRoute(filtered(filter)).ok, false, JSON.stringify(filter).slice(0, 40));
});
