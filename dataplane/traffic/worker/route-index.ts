import type { Faults } from '../exchange/faults.ts';
import { HostIndex } from '../match/host-index.ts';
import type { PackedEntry } from '../match/packed.ts';
import type { RouteCompiler } from '../route/compile.ts';
import type { CompiledRoute } from '../route/compiled-route.ts';
import { LargeRoutes } from '../route/large-route.ts';

/** The routes of a worker. A large one that can't be prepared fails when it is used, like any other. */
export function routeIndex(compiler: RouteCompiler, faults: Faults): HostIndex<CompiledRoute> {
  const largeRoutes = new LargeRoutes(compiler);
  return new HostIndex<CompiledRoute>(
    (_, json) => compiler.compile(json),
    matchesSeveralLabels,
    (entry, before, nextTurn) =>
      largeRoutes.prepare(entry, before, nextTurn).catch((error: unknown) => {
        faults.note('nothing', error);
        return null;
      }),
  );
}

/** As a route is serialized; a text inside it would have its quotes escaped. */
const matchesSeveralLabels = (entry: PackedEntry): boolean => entry.contains('"wildcard":"many"');
