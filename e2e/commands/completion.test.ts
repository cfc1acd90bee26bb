import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { COMMANDS } from '../../controller/cli/commands.ts';
import { sluice, temporary } from '../../controller/cli/testing/run-command.ts';
import { CONTROLLER_FLAGS } from '../../controller/flags.ts';

const scripts: Record<string, string> = {};
before(async () => {
  await Promise.all(
    ['bash', 'zsh', 'fish'].map(async (shell) => {
      const { code, out, err } = await sluice(['completion', shell]);
      assert.deepEqual([code, err], [0, ''], shell);
      scripts[shell] = out;
    }),
  );
});

const available = Object.entries(COMMANDS);

test('every script contains every available command with its flags', () => {
  for (const [shell, script] of Object.entries(scripts)) {
    for (const [name] of available) assert.match(script, new RegExp(`\\b${name}\\b`), `${shell}: ${name}`);
    for (const flag of ['config', 'http-port', 'json', 'state-dir', 'drain-timeout', 'listen'])
      assert.match(script, new RegExp(shell === 'fish' ? `-l ${flag} ` : `--${flag}\\b`), `${shell}: ${flag}`);
    assert.doesNotMatch(script, /geoip/, `${shell} offers a flag of the data plane that is not available yet`);
    for (const { name, unavailable = false } of CONTROLLER_FLAGS)
      assert.equal(new RegExp(shell === 'fish' ? `-l ${name} ` : `--${name}\\b`).test(script), !unavailable, `${shell}: ${name}`);
  }
});

test('bash completes commands, flags and values, and leaves paths to the shell', (t) => {
  const path = join(temporary(t), 'completion');
  const ask = `COMPREPLY=(); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sluice; echo "\${COMPREPLY[*]}"`;
  writeFileSync(path, `${scripts.bash}\n${ask}\n`);
  const completed = (...words: string[]) => execFileSync('bash', [path, 'sluice', ...words], { encoding: 'utf8' }).trim();
  assert.equal(completed('rou'), 'routes');
  assert.equal(completed('routes', '--j'), '--json');
  assert.equal(completed('run', '--htt'), '--http-port --https-port');
  assert.equal(completed('run', '--log-level', 'w'), 'warn');
  assert.equal(completed('dataplane', '--admin-socket', '--w'), '--workers');
  assert.equal(completed('completion', 'z'), 'zsh');
  assert.equal(completed('validate', '--config', '/'), '');
  assert.equal(completed('nonsense', '--j'), '');
});

test('a quote or bracket in a help text does not break the script', () => {
  const unbalanced = (line: string) => line.replaceAll("'\\''", '').replaceAll("\\'", '').split("'").length % 2 === 0;
  for (const shell of ['zsh', 'fish'])
    assert.deepEqual(
      scripts[shell]?.split('\n').filter((line) => !line.startsWith('#') && unbalanced(line)),
      [],
      shell,
    );
});

test('an unknown shell is exit 2 and one line', async () => {
  assert.deepEqual(await sluice(['completion', 'fsih']), {
    code: 2,
    out: '',
    err: 'sluice completion: unknown shell fsih (did you mean fish?); use one of bash, zsh, fish\n',
  });
  assert.equal((await sluice(['completion'])).code, 2);
});
