import type { Revision } from '../../shared/wire/apply.ts';

/** What the table knows of a controller, over restarts of both sides. */
export type ControllerRecord = {
  readonly id: string;
  readonly epoch: number;
  readonly revision: Revision;
  readonly sources: readonly string[];
  /** false: somebody changed a route of its by hand since, so the table no longer holds its revision. */
  readonly settled: boolean;
  /** Milliseconds since 1970. */
  readonly lastApplied: number;
};

/** The controller that applies routes with this tag, if there is one. */
export function controllerOf(tag: string | null, controllers: Iterable<ControllerRecord>): ControllerRecord | undefined {
  if (tag === null) return undefined;
  for (const controller of controllers) if (controller.sources.includes(tag)) return controller;
  return undefined;
}
