import assert from 'node:assert/strict';
import { test } from 'node:test';
import { admin, sluice } from '../testing/run-command.ts';

/** Sets the title of the terminal, clears it, and begins a sequence with a single character. */
const CONTROLS = '\u001b]0;title\u0007\u001b[2J\u009b31m\r\n';
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/;

/** Any program of the machine may have opened the port while no data plane runs. */
for (const [what, exit, body] of [
  ['an error', 1, { error: `no ${CONTROLS}` }],
  ['text', 5, `no ${CONTROLS}`],
  ['JSON of another kind', 5, JSON.stringify({ error: [`no \u007f\u009b31m`] })],
] as const)
  test(`${what} of the server that a command queries does not control the terminal`, async (t) => {
    const address = await admin(t, { 'GET /routes?view=full': [500, body], 'POST /reload?wait=true': [503, body] });
    for (const command of ['routes', 'reload']) {
      const { code, out, err } = await sluice([command, '--admin', address]);
      assert.deepEqual([code, out], [exit, '']);
      assert.match(
        err,
        exit === 1 ? /^sluice \w+: the data plane responded with 50[03]: .*no/ : /another program answers.* with 50[03] .*no/,
      );
      assert.doesNotMatch(err, CONTROL);
    }
  });

test('errors of a reload do not control the terminal either, and each has a line', async (t) => {
  const address = await admin(t, { 'POST /reload?wait=true': [422, { error: 'no', errors: [`a${CONTROLS}b`, '&lt;c&gt;'] }] });
  const { code, err } = await sluice(['reload', '--admin', address]);
  assert.equal(code, 1);
  assert.doesNotMatch(err, CONTROL);
  assert.deepEqual([err.split('\n').length, err.split('\n')[1]], [3, '<c>']);
});

for (const [what, args, asked, answer] of [
  ['the message of a reload', ['reload'], 'POST /reload?wait=true', [200, { message: `done ${CONTROLS}` }]],
  [
    'the counts of a reload',
    ['reload'],
    'POST /reload?wait=true',
    [200, { applied: { added: CONTROLS, changed: 0, removed: 0, unchanged: 0 } }],
  ],
  ['a cooldown', ['reload'], 'POST /reload?wait=true', [429, { error: 'reload too soon', retry_after: CONTROLS }]],
  ['a root', ['certificates', '--root'], 'GET /certificates/root', [200, CONTROLS]],
  ['an order', ['certificates', '--retry', 'a.test', '--json'], 'POST /certificates/a.test', [202, CONTROLS]],
  ['a list that is no JSON', ['routes'], 'GET /routes?view=full', [200, CONTROLS]],
] as const)
  test(`the terminal is not controlled by ${what}`, async (t) => {
    const address = await admin(t, { [asked]: [...answer] });
    const { out, err } = await sluice([...args, '--admin', address]);
    assert.doesNotMatch(out + err, CONTROL);
  });
