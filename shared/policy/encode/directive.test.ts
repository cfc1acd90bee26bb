import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Directive } from '../../config-file/directive.ts';
import { blockOf, directiveContext, line } from '../testing/directive-context.ts';
import { encodeDirective } from './directive.ts';

function read(directive: Directive) {
  const { context, mistakes } = directiveContext();
  const part: Parameters<typeof encodeDirective.read>[1] = {};
  encodeDirective.read(directive, part, context, null);
  return { encode: part.encode, mistakes };
}

const ALL = [{ name: 'zstd' }, { name: 'br' }, { name: 'gzip' }];

test('formats are arguments or lines, with their levels, and all three are offered without any', () => {
  assert.deepEqual(read(line('encode')), { encode: { formats: ALL }, mistakes: [] });
  assert.deepEqual(read(line('encode off')), { encode: { formats: [] }, mistakes: [] });
  assert.deepEqual(read(line('encode gzip br')).encode, { formats: [{ name: 'gzip' }, { name: 'br' }] });
  const levels = read(line('encode gzip', blockOf('gzip 9', 'zstd best', 'br 6')));
  assert.deepEqual(levels.mistakes, []);
  assert.deepEqual(levels.encode?.formats, [
    { name: 'gzip', level: 9 },
    { name: 'zstd', level: 9 },
    { name: 'br', level: 6 },
  ]);
});

test('a block sets the minimum length, the types, the statuses and whether responses with cookies are encoded', () => {
  const match = line('match', blockOf('status 2xx 404', 'header Content-Type TEXT/*', 'header content-type *+json'));
  assert.deepEqual(read(line('encode', blockOf('minimum_length 2kb', match, 'with_cookies'))), {
    encode: { formats: ALL, minimum_length: 2_048, statuses: ['2xx', 404], types: ['text/*', '*+json'], with_cookies: true },
    mistakes: [],
  });
  assert.equal(read(line('encode', blockOf('minimum_length 256'))).encode?.minimum_length, 256);
});

for (const [directive, mistake] of [
  [line('encode gzipp'), 'encode "gzipp" (did you mean "gzip"?)'],
  [line('encode deflate'), 'encode "deflate": write zstd, br or gzip'],
  [line('encode gzip gzip'), 'encode names gzip twice'],
  [line('encode off gzip'), 'encode off takes no other argument'],
  [line('encode off', blockOf('gzip')), 'encode off takes no block'],
  [line('encode', blockOf('gzip 10')), 'gzip "10": a level of gzip is a number from 1 to 9'],
  [line('encode', blockOf('br 11')), 'br "11": a level of br is a number from 1 to 6'],
  [line('encode', blockOf('zstd slow')), 'zstd "slow": a level of zstd is a number from 1 to 9, or fastest, default, better, best'],
  [line('encode', blockOf('gzip 5', 'gzip 6')), 'gzip has two levels'],
  [line('encode', blockOf('gzip 5 6')), '"6" is one argument too many for gzip: write gzip [<level>]'],
  [line('encode', blockOf('minimum_length')), 'minimum_length is missing an argument: write minimum_length <bytes>'],
  [line('encode', blockOf('minimum_length few')), 'minimum_length "few": write bytes, such as 512, or a size of up to 1gb, such as 2kb'],
  [line('encode', blockOf('minimum_lenght 5')), 'encode "minimum_lenght" (did you mean "minimum_length"?)'],
  [line('encode', blockOf('match')), 'match is missing its block: write status <status> [<status> …] or header Content-Type <type>'],
  [
    line('encode', blockOf(line('match', blockOf('status all')))),
    'status "all": write a status from 200 to 599, such as 404, or a class, such as 5xx',
  ],
  [line('encode', blockOf(line('match', blockOf('header X-A b')))), 'header "X-A": only Content-Type decides what is encoded'],
  [
    line('encode', blockOf(line('match', blockOf('header Content-Type text/x;a')))),
    'header Content-Type "text/x;a": write a media type such as application/json, which may begin or end with *',
  ],
  [line('encode', blockOf(line('gzip', blockOf()))), 'gzip takes no block: write gzip [<level>]'],
] as const)
  test(`reports a mistake and what to write: ${mistake}`, () => assert.deepEqual(read(directive).mistakes, [mistake]));
