import type { Faults } from '../exchange/faults.ts';
import { HostIndex } from '../match/host-index.ts';
import type { RouteCompiler } from '../route/compile.ts';
import type { CompiledRoute } from '../route/compiled-route.ts';
import { LargeRoutes } from '../route/large-route.ts';

/** The routes of a worker. A large one that can't be prepared fails when it is used, like any other. */
export function routeIndex(compiler: RouteCompiler, faults: Faults): HostIndex<CompiledRoute> {
  const largeRoutes = new LargeRoutes(compiler);
  return new HostIndex<CompiledRoute>(
    (_, json) => compiler.compile(json),
    (entry, before, nextTurn) =>
      largeRoutes.prepare(entry, before, nextTurn).catch((error: unknown) => {
        faults.note('nothing', error);
        return null;
      }),
  );
}
