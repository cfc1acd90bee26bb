import { runningBuild } from '../../shared/runtime/process/build.ts';
import { pidNamespace } from '../../shared/runtime/process/namespaces.ts';
import { PARENT_VARIABLE } from '../../shared/runtime/process/supervised.ts';
import type { InstanceDescription } from '../../shared/wire/takeover.ts';

/** Describes this process to programs that want to replace or stop it. `startedAt` in ms since 1970. */
export function describeProcess({ env, pid }: Pick<NodeJS.Process, 'env' | 'pid'>, startedAt: number): InstanceDescription {
  const parent = Number(env[PARENT_VARIABLE]);
  return {
    version: runningBuild.version,
    pid: parent > 0 ? parent : pid,
    since: new Date(startedAt).toISOString(),
    processes: pidNamespace(),
  };
}
