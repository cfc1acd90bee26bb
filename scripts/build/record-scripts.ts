import v8 from 'node:v8';
import vm from 'node:vm';
import { parentPort } from 'node:worker_threads';
import { writeCodeCache } from './code-cache.ts';

/**
 * Imported into each process and thread of a trial run, before anything else. When one of them ends, it writes the code cache of each bundle that
 * it has loaded, with all functions that were called, and those that were in the cache before.
 */
const loaded = new Map<string, { readonly text: string; readonly script: vm.Script }>();

vm.Script = class extends vm.Script {
  constructor(text: string, options: vm.ScriptOptions & { filename: string }) {
    super(text, options);
    loaded.set(options.filename, { text, script: this });
  }
};
// The cache is for the flags that processes are started with, not for those that are set later (shared/runtime/v8-flags.ts).
const setFlag = v8.setFlagsFromString;
v8.setFlagsFromString = (flag) => void (flag === '--expose-gc' && setFlag(flag));

function writeAll(): void {
  setFlag('--no-expose-gc');
  for (const [path, { text, script }] of loaded) writeCodeCache(path, text, script);
}

process.on('exit', writeAll);
// A traffic worker does not end by itself: it is terminated when it has told the main thread that it has drained.
if (parentPort !== null) {
  const post = parentPort.postMessage.bind(parentPort);
  parentPort.postMessage = (message: { readonly kind?: string }) => {
    if (message.kind === 'drained') writeAll();
    post(message);
  };
}
