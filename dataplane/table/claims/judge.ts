import type { RouteSpec } from '../../../shared/route.ts';
import type { Apply, RefusedFrame, RouteOutcome } from '../../../shared/wire/apply.ts';
import type { ControllerRecord } from '../controllers/controllers.ts';
import { inSteps } from '../steps.ts';
import type { Frame } from '../table.ts';
import { awaitsController, type Claim, type Claims, claimOf, confirmed, NO_CLAIMS } from './claims.ts';

/** The effect of a frame, before anything is changed. */
export type Judgement = {
  readonly results: RouteOutcome[];
  readonly removed: string[];
  /** By domain. */
  readonly changes: Map<string, Claims>;
};

/** An epoch may be this much later than now (ms): the clocks of machines differ, and are corrected, by less. */
const AHEAD_MS = 60_000;

/**
 * Why a frame cannot be applied at all, or null (the rules of `epoch`, `revision` and `based_on`). `now` is in ms since 1970. After the clock
 * was set back, a controller that starts has a lower epoch than its predecessor, so one that is in the future does not count.
 */
export function refusal(header: Apply, known: ControllerRecord | undefined, now: number): RefusedFrame | null {
  const current = known?.revision ?? null;
  if (known !== undefined && header.epoch < known.epoch && known.epoch <= now + AHEAD_MS)
    return { error: `stale: controller "${header.controller}" has been restarted since epoch ${header.epoch}`, current };
  const sameRun = known !== undefined && header.epoch === known.epoch;
  if (sameRun && typeof header.revision === 'number' && typeof current === 'number' && header.revision < current)
    return { error: `stale: revision ${header.revision} is older than the applied one`, current };
  if (header.based_on === null || repeats(header, known)) return null;
  if (header.based_on !== current) return { error: 'stale: the frame is based on a revision other than the applied one', current };
  return known?.settled === false ? { error: 'stale: routes have been changed manually since; send a full frame', current } : null;
}

/** Whether the frame repeats the applied revision of the same run of the controller. */
export const repeats = (header: Apply, known: ControllerRecord | undefined): boolean =>
  known?.settled === true && known.epoch === header.epoch && known.revision === header.revision;

/**
 * Judges each line of a frame separately against the current claims, in steps that leave the event loop free. The
 * claims must not change meanwhile. `now` is in ms since 1970.
 */
export async function judge(frame: Frame, claims: ReadonlyMap<string, Claims>, now: number): Promise<Judgement> {
  const { header } = frame;
  const results: RouteOutcome[] = [];
  const changes = new Map<string, Claims>();
  // A domain that any line names, even a rejected one, stays. The first accepted line for it is used.
  const named = new Set<string>();
  const accepted = new Set<string>();
  await inSteps(frame.routes, (route) => {
    const reason =
      misplaced(route, header) ?? (accepted.has(route.domain) ? 'the frame has this domain twice; the first one is used' : null);
    named.add(route.domain);
    if (reason === null) accepted.add(route.domain);
    results.push(
      reason === null
        ? judgeRoute(route, header, claims.get(route.domain) ?? NO_CLAIMS, changes, now)
        : { domain: route.domain, result: 'rejected', reason },
    );
  });
  for (const { domain, reason } of frame.rejected) {
    named.add(domain);
    results.push({ domain, result: 'rejected', reason });
  }
  const removed = header.based_on === null ? await noLongerNamed(header, claims, named) : removedByLine(frame, claims, named);
  await inSteps(removed, (domain) => changes.set(domain, { hand: claims.get(domain)?.hand ?? null, applied: null }));
  return { results, removed, changes };
}

/** The judgement of a frame that repeats the applied revision. */
export const unchanged = ({ routes }: Frame): Judgement => ({
  results: routes.map(({ domain }) => ({ domain, result: 'unchanged' })),
  removed: [],
  changes: new Map(),
});

function misplaced(route: RouteSpec, header: Apply): string | null {
  if (route.source === null) return 'it has no source';
  return header.sources.includes(route.source) ? null : `its source "${route.source}" is not one of the frame's`;
}

function judgeRoute(route: RouteSpec, header: Apply, current: Claims, changes: Map<string, Claims>, now: number): RouteOutcome {
  const { domain } = route;
  const { applied } = current;
  if (applied !== null && applied.controller !== header.controller)
    return { domain, result: 'conflicted', reason: `it belongs to controller "${applied.controller}"` };
  const fresh = claimOf(route, header.controller, now);
  if (applied === null) {
    changes.set(domain, { hand: current.hand, applied: fresh });
    return outcome(domain, 'added', current);
  }
  if (applied.json === fresh.json) {
    // The route has moved within its file, or is now confirmed; visitors see no change.
    if (applied.origin !== fresh.origin || awaitsController(applied))
      changes.set(domain, { hand: current.hand, applied: { ...confirmed(applied), origin: fresh.origin } });
    return outcome(domain, 'unchanged', current);
  }
  changes.set(domain, { hand: current.hand, applied: fresh });
  return outcome(domain, 'changed', current);
}

function outcome(domain: string, result: RouteOutcome['result'], current: Claims): RouteOutcome {
  return current.hand === null ? { domain, result } : { domain, result, reason: 'a manually posted route is served instead' };
}

/** Domains that the controller had from these sources and no longer names. */
async function noLongerNamed(header: Apply, claims: ReadonlyMap<string, Claims>, named: ReadonlySet<string>): Promise<string[]> {
  const removed: string[] = [];
  await inSteps(claims, ([domain, { applied }]) => {
    if (!named.has(domain) && owns(applied, header, header.sources)) removed.push(domain);
  });
  return removed;
}

/** Domains that the frame's `remove` lines remove, each once. */
function removedByLine({ header, removes }: Frame, claims: ReadonlyMap<string, Claims>, named: ReadonlySet<string>): string[] {
  const theirs = removes.filter(({ domain, source }) => !named.has(domain) && owns(claims.get(domain)?.applied, header, [source]));
  return [...new Set(theirs.map(({ domain }) => domain))];
}

const owns = (claim: Claim | null | undefined, header: Apply, sources: readonly string[]): boolean =>
  claim != null && claim.controller === header.controller && claim.source !== null && sources.includes(claim.source);
