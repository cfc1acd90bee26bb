import { type Fact, MAX_CONDITION_DOMAINS, type RouteCondition } from '../../shared/wire/apply.ts';

/** What the controller knows about the route of a domain, apart from what data planes know themselves. */
export type KnownConditions = {
  readonly domain: string;
  readonly source: string;
  readonly accepted: Fact;
  readonly resolved: Fact;
};

/** Where the conditions come from. A condition that changes is another object, and increases the version. */
export type ConditionsSource = { readonly version: number; list(): Iterable<KnownConditions> };

/** What has been sent to a data plane. */
export type SentConditions = {
  readonly version: number;
  readonly byDomain: ReadonlyMap<string, Pick<KnownConditions, 'accepted' | 'resolved'>>;
};

export const NO_CONDITIONS_SENT: SentConditions = { version: -1, byDomain: new Map() };

/** `lines` is empty if nothing has changed. `becomes` is what the data plane knows once it has acknowledged them. */
export type ConditionLines = { readonly lines: readonly string[]; readonly becomes: SentConditions };

/**
 * The conditions that the data plane does not have yet, and those of the domains in `again`. Domains with equal conditions share a line.
 */
export function conditionLines(source: ConditionsSource, sent: SentConditions, again: ReadonlySet<string> = new Set()): ConditionLines {
  const { version } = source;
  if (version === sent.version && again.size === 0) return { lines: [], becomes: sent };
  const byDomain = new Map<string, Pick<KnownConditions, 'accepted' | 'resolved'>>();
  const groups = new Map<string, RouteCondition>();
  for (const { domain, source: name, accepted, resolved } of source.list()) {
    const before = sent.byDomain.get(domain);
    const isKnown = before !== undefined && before.accepted === accepted && before.resolved === resolved;
    byDomain.set(domain, isKnown ? before : { accepted, resolved });
    if (isKnown && !again.has(domain)) continue;
    const key = JSON.stringify([name, factOf(accepted), factOf(resolved)]);
    const group: RouteCondition = groups.get(key) ?? { source: name, domains: [], accepted: factOf(accepted), resolved: factOf(resolved) };
    groups.set(key, group);
    group.domains.push(domain);
  }
  return { lines: [...groups.values()].flatMap((group) => [...inLines(group)]), becomes: { version, byDomain } };
}

/** Longer reasons are malformed (characters). */
const MAX_REASON = 1_000;

const factOf = ({ holds, reason, since }: Fact): Fact => ({ holds, reason: reason.slice(0, MAX_REASON), since });

function* inLines(condition: RouteCondition): Generator<string> {
  for (let at = 0; at < condition.domains.length; at += MAX_CONDITION_DOMAINS)
    yield `${JSON.stringify({ condition: { ...condition, domains: condition.domains.slice(at, at + MAX_CONDITION_DOMAINS) } })}\n`;
}
