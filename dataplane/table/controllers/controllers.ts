import * as z from 'zod';
import { revisionSchema } from '../../../shared/wire/apply.ts';
import type { Frame } from '../table.ts';
import { confirmationSchema } from './confirmation.ts';
import type { Confirmations } from './confirmations.ts';

/** What the table knows about a controller, kept across restarts of both. The member names are part of the format on disk. */
export const controllerSchema = z.object({
  id: z.string(),
  epoch: z.int().min(0),
  revision: revisionSchema,
  sources: z.array(z.string()),
  /** false if the table no longer matches the revision, because one of its routes was changed manually or lost. */
  settled: z.boolean(),
  /** Milliseconds since 1970. */
  lastApplied: z.number(),
  /** By source. */
  confirmed: z.record(z.string(), confirmationSchema).default({}),
  /** Sources whose targets were unconfirmed in the process that released the table. */
  doubted: z.array(z.string()).default([]),
  /** By `lostName`: its targets that were lost in the process that released the table. */
  lost: z.array(z.string()).default([]),
  /** Whether its streams stayed open in the process that released the table. */
  stays: z.boolean().default(false),
});

export type ControllerRecord = Readonly<z.output<typeof controllerSchema>>;

/** The record once a frame has been applied. `now` in ms since 1970. */
export function recordAfter(
  header: Frame['header'],
  known: ControllerRecord | undefined,
  confirmations: Pick<Confirmations, 'renewed'>,
  now: number,
): ControllerRecord {
  const { controller: id, epoch, revision } = header;
  const sources = [...new Set([...(known?.sources ?? []), ...header.sources])];
  const confirmed = confirmations.renewed(id, known?.confirmed ?? {}, header);
  const { stays = false } = known ?? {};
  return { id, epoch, revision, sources, settled: true, lastApplied: now, confirmed, doubted: [], lost: [], stays };
}

/** Marks the revision as no longer valid, so that the controller's next frame must be a full one. */
export const unsettled = (controller: ControllerRecord): ControllerRecord => ({ ...controller, settled: false });

/**
 * The controller whose route a post with this tag replaces; undefined if the post is manual. `holder` is the controller
 * that applied the domain, or null. Its route is replaced if the tag is one of its own, and other controllers never take
 * the domain from it. If no controller holds the domain, the first one by name that uses the tag gets it.
 */
export function rewrittenController(
  tag: string | null,
  holder: string | null,
  controllers: ReadonlyMap<string, ControllerRecord>,
): ControllerRecord | undefined {
  if (tag === null) return undefined;
  const candidates = holder === null ? [...controllers.keys()].sort() : [holder];
  return candidates.map((id) => controllers.get(id)).find((controller) => controller?.sources.includes(tag));
}

/** A full frame without anything, as from a later run of the controller. */
export const lastFrame = ({ id, epoch, revision, sources }: ControllerRecord): Frame => ({
  header: { controller: id, epoch: epoch + 1, revision, based_on: null, sources: [...sources], reload: false },
  ...{ routes: [], rejected: [], removes: [], problems: [] },
});
