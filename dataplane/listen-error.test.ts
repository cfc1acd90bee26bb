import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsageError } from '../shared/runtime/flags.ts';
import { listenOnPorts } from './listen-error.ts';
import { ListenError } from './workers/worker-handle.ts';

const PORTS = [
  { port: 80, flag: '--http-port' },
  { port: 443, flag: '--https-port' },
  { port: 8443, flag: '--https-port' },
];
const failing = (error: Error) => listenOnPorts(PORTS, () => Promise.reject(error));

test('a port that a worker can’t open is named with its flag; if it is not known which, the main one is', async () => {
  await assert.rejects(
    failing(new ListenError('EADDRINUSE', 'listen EADDRINUSE', 8443)),
    new UsageError("sluice dataplane: can't listen on 8443: the address is already in use; name another with --https-port"),
  );
  await assert.rejects(
    failing(new ListenError('', 'no worker came up')),
    new UsageError("sluice dataplane: can't listen on 80: no worker came up; name another with --http-port"),
  );
  await listenOnPorts(PORTS, () => Promise.resolve());
});
