import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSingleDirective } from './single-directive.ts';

const membersOf = (name: string, text: string) => {
  const reading = readSingleDirective(name, text);
  assert.ok('members' in reading, JSON.stringify(reading));
  return reading.members;
};
const reasonsOf = (name: string, text: string): string => {
  const reading = readSingleDirective(name, text);
  assert.ok('reasons' in reading, JSON.stringify(reading));
  return reading.reasons.join('\n');
};

test('the text is what follows the name of a directive, with or without a block', () => {
  assert.deepEqual(membersOf('ip_filter', ' allow 10.0.0.0/8 ').ip_filter?.allow, ['10.0.0.0/8']);
  const cors = membersOf('cors', 'https://a.test {\n  credentials\n  max_age 1h\n}').cors;
  assert.deepEqual([cors?.credentials, cors?.max_age_secs], [true, 3_600]);
});

test('with several lines, each is the directive once more', () => {
  const { redirects } = membersOf('redir', '/a /b 301\n\n/c/* https://d.test/{remainder} 308\n');
  assert.deepEqual(
    redirects?.map(({ from, to }) => [from, to]),
    [
      ['/a', '/b'],
      ['/c/*', 'https://d.test/{remainder}'],
    ],
  );
});

test('mistakes have their reason, and their line if there are several', () => {
  assert.match(reasonsOf('rate_limit', 'many'), /^rate_limit "many"/);
  assert.match(reasonsOf('redir', '/a /b 301\n/c'), /^line 2: redir is missing an argument/);
});

test('neither the environment, nor files, nor other directives can be used', () => {
  process.env.SINGLE_DIRECTIVE_SECRET = 'a-secret';
  try {
    const reasons = reasonsOf('header', 'X-A {$SINGLE_DIRECTIVE_SECRET}');
    assert.match(reasons, /SINGLE_DIRECTIVE_SECRET/);
    assert.doesNotMatch(reasons, /a-secret/);
  } finally {
    delete process.env.SINGLE_DIRECTIVE_SECRET;
  }
  assert.match(reasonsOf('cors', 'https://a.test {\n  import /etc/passwd\n}'), /import/);
  assert.match(reasonsOf('jwt', '{\n  keys /etc/keys.json\n}'), /can’t be named here/);
  assert.match(reasonsOf('redir', '/a /b {\n}\nroot /etc'), /another directive|takes no block/);
  assert.match(reasonsOf('header', 'X-A b\n}\nother.test {\n  respond 200\n}'), /./);
  assert.match(reasonsOf('rate_limit', '@bots 1/s'), /can have no matcher here/);
});
