import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { accepted, refused } from '../values/parsed.ts';
import { type Flag, helpOf, readFlags, UsageError, variableOf } from './flags.ts';

const TABLE: readonly Flag[] = [
  {
    name: 'http-port',
    placeholder: 'PORT',
    help: 'HTTP port',
    default: '80',
    parse: (text) => (/^\d+$/.test(text) ? accepted(Number(text)) : refused('not a port number')),
  },
  { name: 'config', help: 'config file' },
  { name: 'verbose', kind: 'switch', help: 'says more' },
  { name: 'socket', kind: 'optional', placeholder: 'PATH', help: 'Unix socket' },
  {
    name: 'allow',
    kind: 'list',
    placeholder: 'N,...',
    help: 'numbers',
    parse: (text) => (text === 'x' ? refused('x is not a number') : accepted(text)),
  },
  { name: 'key', help: 'a key', secret: true, parse: () => refused('not a key') },
  { name: 'soon', help: 'not built', unavailable: true },
];

const read = (argv: string[], env: Record<string, string | undefined> = {}) => readFlags('serve', TABLE, argv, env);
const given = (argv: string[], env: Record<string, string | undefined> = {}) =>
  Object.fromEntries([...read(argv, env).given].map(([name, flag]) => [name, [flag.value, flag.origin]]));
const error = (argv: string[], env: Record<string, string | undefined> = {}): string => {
  try {
    read(argv, env);
  } catch (thrown) {
    assert.ok(thrown instanceof UsageError);
    assert.equal(thrown.exitCode, 2);
    return thrown.message;
  }
  return 'accepted';
};

describe('flags', () => {
  it('take their value from the next argument or after an equals sign', () => {
    assert.deepEqual(given(['--http-port', '8080', '--config=a=b']), { 'http-port': [8080, 'flag'], config: ['a=b', 'flag'] });
  });

  it('take a value that starts with one dash, but not another flag', () => {
    assert.deepEqual(given(['--config', '-']), { config: ['-', 'flag'] });
    assert.equal(error(['--config', '--verbose']), 'sluice serve: --config needs a value (VALUE)');
  });

  it('may be repeated: the last value wins, and a list collects all', () => {
    assert.deepEqual(given(['--http-port', '1', '--http-port', '2']), { 'http-port': [2, 'flag'] });
    assert.deepEqual(given(['--allow', '1, 2', '--allow=3']), { allow: [['1', '2', '3'], 'flag'] });
  });

  it('that are switches need no value and accept true, false, 1 and 0', () => {
    assert.deepEqual(given(['--verbose', 'word']), { verbose: [true, 'flag'] });
    for (const [text, value] of [
      ['true', true],
      ['1', true],
      ['false', false],
      ['0', false],
    ] as const)
      assert.deepEqual(given([`--verbose=${text}`]), { verbose: [value, 'flag'] });
  });

  it('with an optional value are true without one', () => {
    assert.deepEqual(given(['--socket']), { socket: [true, 'flag'] });
    assert.deepEqual(given(['--socket', '--verbose']), { socket: [true, 'flag'], verbose: [true, 'flag'] });
    assert.deepEqual(given(['--socket', '/s']), { socket: ['/s', 'flag'] });
  });

  it('leave other arguments, and everything after two dashes, as positionals', () => {
    assert.deepEqual(read(['a', '--verbose', '-', '--', '--config', '-h']).positionals, ['a', '-', '--config', '-h']);
  });

  it('that are secret are not quoted in errors', () => {
    assert.equal(error(['--key', 'xyzzy']), 'sluice serve: --key: not a key');
    assert.equal(error([], { SLUICE_KEY: 'xyzzy' }), 'sluice serve: SLUICE_KEY: not a key');
  });

  it('stop at --help and -h, regardless of the environment', () => {
    for (const word of ['--help', '-h']) assert.equal(read(['--verbose', word, '--nonsense'], { SLUICE_HTTP_PORT: 'x' }).help, true);
    assert.equal(read([]).help, false);
  });
});

describe('environment variables of flags', () => {
  it('have the flag’s name in capitals', () => assert.equal(variableOf('http-port'), 'SLUICE_HTTP_PORT'));

  it('apply if the flag is absent', () => {
    const env = { SLUICE_HTTP_PORT: '1', SLUICE_CONFIG: 'e', SLUICE_ALLOW: '1,2', SLUICE_VERBOSE: '0', SLUICE_SOCKET: '/e', OTHER: 'x' };
    assert.deepEqual(given(['--http-port', '2', '--allow', '3'], env), {
      'http-port': [2, 'flag'],
      allow: [['3'], 'flag'],
      config: ['e', 'environment'],
      verbose: [false, 'environment'],
      socket: ['/e', 'environment'],
    });
  });

  it('switch an optional flag on and off', () => {
    assert.deepEqual(given([], { SLUICE_SOCKET: 'true' }), { socket: [true, 'environment'] });
    assert.deepEqual(given([], { SLUICE_SOCKET: '0' }), { socket: [false, 'environment'] });
  });

  it('are ignored if empty', () => assert.deepEqual(given([], { SLUICE_CONFIG: '', SLUICE_SOON: '', SLUICE_VERBOSE: undefined }), {}));
});

describe('a usage error is one line that names the flag:', () => {
  const LINES: [argv: string[], env: Record<string, string>, line: string][] = [
    [['--nonsense'], {}, 'sluice serve: unknown flag --nonsense'],
    [['--htp-port', '1'], {}, 'sluice serve: unknown flag --htp-port (did you mean --http-port?)'],
    [['--verbos=1'], {}, 'sluice serve: unknown flag --verbos (did you mean --verbose?)'],
    [['-config'], {}, 'sluice serve: unknown flag -config (did you mean --config?)'],
    [['-v'], {}, 'sluice serve: unknown flag -v'],
    [['--http-port'], {}, 'sluice serve: --http-port needs a value (PORT)'],
    [['--http-port='], {}, 'sluice serve: --http-port needs a value (PORT)'],
    [['--socket='], {}, 'sluice serve: --socket needs a value (PATH)'],
    [['--config', ''], {}, 'sluice serve: --config needs a value (VALUE)'],
    [['--http-port', 'x'], {}, 'sluice serve: --http-port "x": not a port number'],
    [['--allow', '1,x'], {}, 'sluice serve: --allow "x": x is not a number'],
    [['--verbose=yes'], {}, 'sluice serve: --verbose takes true or false, not "yes"'],
    [['--verbose='], {}, 'sluice serve: --verbose takes true or false, not ""'],
    [['--verbose=constructor'], {}, 'sluice serve: --verbose takes true or false, not "constructor"'],
    [['--soon', '1'], {}, 'sluice serve: --soon is not available yet'],
    [[], { SLUICE_HTTP_PORT: 'x' }, 'sluice serve: SLUICE_HTTP_PORT "x": not a port number'],
    [['--http-port', '1'], { SLUICE_HTTP_PORT: 'x' }, 'sluice serve: SLUICE_HTTP_PORT "x": not a port number'],
    [[], { SLUICE_VERBOSE: 'yes' }, 'sluice serve: SLUICE_VERBOSE takes 1, true, 0 or false, not "yes"'],
    [[], { SLUICE_SOON: '1' }, 'sluice serve: SLUICE_SOON is set, but --soon is not available yet'],
  ];
  for (const [argv, env, line] of LINES) it(line, () => assert.equal(error(argv, env), line));
});

describe('--help', () => {
  it('has one line per flag: form, help, default and environment variable', () => {
    assert.deepEqual(helpOf(TABLE).split('\n'), [
      '  --http-port PORT  HTTP port (default 80; SLUICE_HTTP_PORT)',
      '  --config VALUE    config file (SLUICE_CONFIG)',
      '  --verbose         says more (SLUICE_VERBOSE)',
      '  --socket [PATH]   Unix socket (SLUICE_SOCKET)',
      '  --allow N,...     numbers (SLUICE_ALLOW)',
      '  --key VALUE       a key (SLUICE_KEY)',
    ]);
  });
  it('is empty without flags', () => assert.equal(helpOf([]), ''));
});
