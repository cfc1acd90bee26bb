import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsageError } from '../shared/runtime/flags.ts';
import { listenOnPorts } from './listen-error.ts';
import { ListenError } from './workers/worker-handle.ts';

/** Not a port, so that nothing uses it. */
const NEVER_USED = 70_000;
const PORTS = [
  { port: 80, flag: '--http-port' },
  { port: 443, flag: '--https-port' },
  { port: NEVER_USED, flag: '--https-port' },
];
const failing = (error: Error) => listenOnPorts(PORTS, () => Promise.reject(error));

test('a port that a worker can’t open is named with its flag; if it is not known which, the main one is', async () => {
  await assert.rejects(
    failing(new ListenError('EADDRINUSE', 'listen EADDRINUSE', NEVER_USED)),
    new UsageError("sluice dataplane: can't listen on 70000: the address is already in use; name another with --https-port"),
  );
  await assert.rejects(
    failing(new ListenError('', 'no worker came up')),
    new UsageError("sluice dataplane: can't listen on 80: no worker came up; name another with --http-port"),
  );
  await listenOnPorts(PORTS, () => Promise.resolve());
});

test('if no descriptor is left, another port is not suggested', async () => {
  await assert.rejects(
    failing(new ListenError('EMFILE', 'listen EMFILE: too many open files :::80', 80)),
    new UsageError("sluice dataplane: can't listen on 80: the file descriptors are used up; raise the limit of open files (ulimit -n)"),
  );
});
