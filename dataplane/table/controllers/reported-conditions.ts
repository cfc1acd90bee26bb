import type { RouteCondition, RouteOutcome } from '../../../shared/wire/apply.ts';
import { inSteps } from '../steps.ts';
import type { Frame } from '../table.ts';

/** A route that is not served in the version that its controller sent last. `since` in ms since 1970. */
export type RefusedRoute = {
  readonly controller: string;
  readonly domain: string;
  readonly result: 'rejected' | 'conflicted';
  readonly reason: string;
  readonly since: number;
};

type Reported = Pick<RouteCondition, 'source' | 'accepted' | 'resolved'>;

/**
 * The conditions that controllers reported about their routes, and which routes were rejected. Not saved: conditions describe the present,
 * and a controller reports them again as soon as it is connected. The domains of a line share one object.
 */
export class ReportedConditions {
  private readonly reported = new Map<string, Map<string, Reported>>();
  private readonly refused = new Map<string, Map<string, RefusedRoute>>();

  of(controller: string, domain: string): Reported | undefined {
    return this.reported.get(controller)?.get(domain);
  }

  refusal(controller: string, domain: string): RefusedRoute | undefined {
    return this.refused.get(controller)?.get(domain);
  }

  *refusals(): Generator<RefusedRoute> {
    for (const routes of this.refused.values()) yield* routes.values();
  }

  /** `removed`: routes that the frame removed. Only conditions of routes that the controller owns are kept. */
  async replace({ header, conditions = [] }: Frame, removed: readonly string[], owns: (domain: string) => boolean): Promise<void> {
    const before = this.reported.get(header.controller) ?? new Map<string, Reported>();
    const known = header.based_on === null ? ofOtherSources(before, header.sources) : before;
    for (const domain of removed) known.delete(domain);
    for (const { domains, source, accepted, resolved } of conditions) {
      if (!header.sources.includes(source)) continue;
      const reported = { source, ...(accepted && { accepted }), ...(resolved && { resolved }) };
      await inSteps(domains, (domain) => {
        if (owns(domain)) known.set(domain, reported);
      });
    }
    this.reported.set(header.controller, known);
  }

  /** `now` in ms since 1970. */
  noteResults({ header: { controller, based_on }, removes }: Frame, results: readonly RouteOutcome[], now: number): void {
    const before = this.refused.get(controller) ?? new Map<string, RefusedRoute>();
    const refused = based_on === null ? new Map<string, RefusedRoute>() : before;
    for (const { domain } of removes) refused.delete(domain);
    for (const { domain, result, reason = '' } of results) {
      if (result !== 'rejected' && result !== 'conflicted') {
        refused.delete(domain);
        continue;
      }
      const earlier = before.get(domain);
      const since = earlier?.result === result && earlier.reason === reason ? earlier.since : now;
      refused.set(domain, { controller, domain, result, reason, since });
    }
    this.refused.set(controller, refused);
  }
}

function ofOtherSources(known: ReadonlyMap<string, Reported>, sources: readonly string[]): Map<string, Reported> {
  return new Map([...known].filter(([, { source }]) => !sources.includes(source)));
}
