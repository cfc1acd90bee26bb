import { z } from 'zod';
import { revisionSchema } from '../../../shared/wire/apply.ts';
import type { Doubt } from '../unconfirmed/unconfirmed.ts';
import { confirmationSchema } from './confirmations.ts';

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
  /** By source. */
  confirmed: z.record(z.string(), confirmationSchema).default({}),
  /** Sources whose targets the process that let go of the table did not believe either. */
  doubted: z.array(z.string()).default([]),
});

export type ControllerRecord = Readonly<z.output<typeof controllerSchema>>;

/** The controllers whose `doubted` is not what it should be, as they should be. */
export function withDoubts(controllers: ReadonlyMap<string, ControllerRecord>, doubts: readonly Doubt[]): ControllerRecord[] {
  const all = [...controllers.values()].map((record) => ({
    ...record,
    doubted: doubts.filter(({ controller }) => controller === record.id).map(({ source }) => source),
  }));
  return all.filter(({ id, doubted }) => doubted.join('\n') !== controllers.get(id)?.doubted.join('\n'));
}

/** Whatever it said last does not hold any more: only the whole truth is taken from it next. */
export const unsettled = (controller: ControllerRecord): ControllerRecord => ({ ...controller, settled: false });

/**
 * Whose route a post with this tag rewrites. `holder` is the controller that has applied the domain, null where none has: it is
 * the holder's if the tag is one of its own, and by hand if not, as no controller takes a domain from another. Where nobody
 * holds it, it is that of whoever applies the tag, the first by name.
 */
export function rewritten(
  tag: string | null,
  holder: string | null,
  controllers: ReadonlyMap<string, ControllerRecord>,
): ControllerRecord | undefined {
  if (tag === null) return undefined;
  const candidates = holder === null ? [...controllers.keys()].sort() : [holder];
  return candidates.map((id) => controllers.get(id)).find((controller) => controller?.sources.includes(tag));
}
