import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { Folder } from '../testing/dataplane.ts';
import { freePort } from '../testing/ports.ts';
import { Program, SLUICE } from '../testing/process.ts';

const skip = process.env.TESTED_BUILD === undefined && 'the sources are loaded by Node, before any of them can handle a signal';

/** Runs in each process before its own code: sends it both signals when it begins to load that. */
const SENDER = `
const fs = require('node:fs');
const { readFileSync } = fs;
fs.readFileSync = (path, ...rest) => {
  if (String(path).endsWith('/main.bundle.js')) {
    for (const signal of ['SIGHUP', 'SIGUSR2']) process.kill(process.pid, signal);
    fs.appendFileSync(process.env.SENT, process.argv[1] + '\\n');
  }
  return readFileSync(path, ...rest);
};
`;

test('a signal that comes while the code of a process is loaded does not end it', { skip }, async () => {
  using folder = new Folder();
  const [sent, config, sender] = [folder.file('sent'), folder.file('Sluicefile'), folder.file('sender.cjs')];
  writeFileSync(sender, SENDER);
  writeFileSync(config, `{\n  http_port ${await freePort()}\n}\na.localhost {\n  respond hello\n}\n`);
  const addresses = ['--admin-listen', `127.0.0.1:${await freePort()}`, '--https-port', `${await freePort()}`, '--listen', '127.0.0.1:0'];
  await using run = new Program(SLUICE, ['run', '--config', config, '--state-dir', folder.file('state'), ...addresses], {
    NODE_OPTIONS: `--require ${sender}`,
    SENT: sent,
  });
  await run.said('data plane started');
  await run.said('routes applied');
  assert.doesNotMatch(run.output, /being restarted/);
});
