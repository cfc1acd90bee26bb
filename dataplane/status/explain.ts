import { redacted } from '../../shared/redacted.ts';
import { wildcardOf } from '../../shared/values/host.ts';
import { type RequestUrl, textOf } from '../../shared/values/request-url.ts';
import type { Problem } from '../../shared/wire/apply.ts';
import { SOURCE_FAILED } from '../../shared/wire/errors.ts';
import type { Explanation, FullRoute, UpstreamStatus } from '../../shared/wire/status.ts';
import type { LiveTable } from '../table/live-table.ts';
import type { OwnedRoute } from '../table/table.ts';
import type { BeaconOutcome, DryRun, DryRunResult } from '../traffic/protocol.ts';
import { describeMeasuring } from './measured-pages.ts';
import { conditionsOf } from './route-conditions.ts';
import { suggestDomain } from './suggest-domain.ts';
import type { Upstreams } from './upstreams.ts';

type ExplainTools = {
  readonly table: LiveTable;
  readonly upstreams: Upstreams;
  certificateOf(host: string): string;
  /** The same for plain HTTP. */
  plainHttpCertificateOf(host: string): string;
  dryRun(request: DryRun): Promise<DryRunResult | null>;
  /** Pages of a host, by what became of the script that measures them. */
  pages(host: string): ReadonlyMap<BeaconOutcome, number>;
};

/** Explains what would happen to a request for this URL, exactly as it is written, and why: a dry run in a worker, plus what the main thread knows. */
export async function explain(
  { table, upstreams, certificateOf, plainHttpCertificateOf: plainOf, dryRun, pages }: ExplainTools,
  asked: RequestUrl,
): Promise<Explanation> {
  const { origin, target } = asked;
  const host = origin.hostname.replace(/\.$/, '');
  const result = await dryRun({ origin: origin.href, target });
  const owned = result?.matched == null ? undefined : table.find(result.matched);
  const certificate = origin.protocol === 'https:' ? (uncovered(host, certificateOf, owned) ?? certificateOf(host)) : plainOf(host);
  const problems = problemsOf(table, host, owned);
  const base = { url: textOf(asked), certificate, problems, near: null };
  if (result === null)
    return { ...base, verdict: 'no worker is serving', routed: false, route: null, matched: null, block: null, policies: [], targets: [] };
  const measuring = owned?.route.analytics == null ? [] : [{ name: 'analytics', verdict: describeMeasuring(pages(host)) }];
  const targets = result.targets.flatMap(({ address, tls, id, transport }) => upstreams.find(address, tls, id, transport) ?? []);
  return {
    ...base,
    near: result.routed
      ? null
      : suggestDomain(
          host,
          table.list().map(({ route }) => route.domain),
        ),
    verdict: withReasons(result.verdict, targets),
    routed: result.routed,
    route: owned === undefined ? null : fullRoute(owned, table),
    matched: result.matched,
    port: result.port,
    block: result.block,
    policies: [...result.policies, ...measuring],
    targets,
  };
}

/** For a host that only a wildcard for several labels matches. null if a certificate for the route's domain would cover it. */
function uncovered(host: string, certificateOf: (host: string) => string, owned: OwnedRoute | undefined): string | null {
  if (owned?.route.wildcard !== 'many' || wildcardOf(host) === owned.route.domain) return null;
  const words = certificateOf(host);
  return words.startsWith('none') ? `none: a certificate for ${owned.route.domain} is for exactly one label, not for ${host}` : words;
}

/** Adds to a 503 why its targets are out of rotation. */
function withReasons(verdict: string, targets: readonly UpstreamStatus[]): string {
  if (!verdict.startsWith('503')) return verdict;
  const reasons = targets.flatMap(({ address, reason }) => (reason === null ? [] : [`${address}: ${reason}`]));
  return [verdict, ...reasons.slice(0, MAX_FAILURES)].join('; ');
}

/** A file may have a thousand errors; ten are enough. */
const MAX_FAILURES = 10;

/** Problems of the host itself, and failures of the sources that its route came from or could come from. */
function problemsOf(table: LiveTable, host: string, owned: OwnedRoute | undefined): Problem[] {
  const problems = table.problems();
  const from = [owned?.route.source, owned?.overrides?.source];
  const failures = problems.filter(({ code, source }) => code === SOURCE_FAILED && (owned === undefined || from.includes(source)));
  return [...problems.filter((problem) => concerns(problem, host, owned)), ...failures.slice(0, MAX_FAILURES)];
}

const concerns = ({ domain }: Problem, host: string, owned: OwnedRoute | undefined): boolean =>
  domain !== null && (domain === host || domain === wildcardOf(host) || domain === owned?.route.domain);

/** A route with its origin and what it overrides, without its secrets. */
export function fullRoute(owned: OwnedRoute, table: LiveTable): FullRoute {
  const overrides = owned.overrides && redacted(owned.overrides);
  const route = redacted(owned.route);
  const conditions = conditionsOf(owned, route.domain, table);
  return { ...route, controller: owned.controller, overrides, since: new Date(owned.since).toISOString(), conditions };
}
