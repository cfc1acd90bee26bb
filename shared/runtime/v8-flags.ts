import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * V8 compiles Node's own modules from a cache in Node's program, but only as long as its flags are those that Node was built with: with others,
 * such as a limit of the optimizing compiler, each module is compiled anew. Flags are therefore set here, when a thread has loaded its code,
 * instead of in the command line. Flags of the garbage collector make no difference to the cache, so the launcher sets those.
 *
 * They apply to all threads of the process, from now on.
 */
export function setV8Flags(flags: readonly string[]): void {
  for (const flag of flags) setFlagsFromString(flag);
}

/** V8's function that collects garbage, which only contexts have that are made with the flag for it. */
export function garbageCollector(): NonNullable<typeof globalThis.gc> {
  setV8Flags(['--expose-gc']);
  return runInNewContext('gc');
}
