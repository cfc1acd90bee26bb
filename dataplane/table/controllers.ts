import { z } from 'zod';
import { revisionSchema } from '../../shared/wire/apply.ts';

/** What the table knows of a controller, over restarts of both sides. */
export const controllerSchema = z.object({
  id: z.string(),
  epoch: z.int().min(0),
  revision: revisionSchema,
  sources: z.array(z.string()),
  /** false: the table no longer holds its revision, because somebody changed a route of its by hand or one was lost. */
  settled: z.boolean(),
  /** Milliseconds since 1970. */
  lastApplied: z.number(),
});

export type ControllerRecord = Readonly<z.output<typeof controllerSchema>>;

/** Whatever it said last does not hold any more: only the whole truth is taken from it next. */
export const unsettled = (controller: ControllerRecord): ControllerRecord => ({ ...controller, settled: false });

/** The controller that applies routes with this tag, if there is one. */
export function controllerOf(tag: string | null, controllers: Iterable<ControllerRecord>): ControllerRecord | undefined {
  if (tag === null) return undefined;
  for (const controller of controllers) if (controller.sources.includes(tag)) return controller;
  return undefined;
}
