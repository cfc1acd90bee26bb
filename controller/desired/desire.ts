import { createHash } from 'node:crypto';
import type { RouteSpec } from '../../shared/route.ts';
import type { Globals } from '../../shared/settings.ts';
import { MAX_LINE_BYTES } from '../../shared/wire/apply.ts';
import { SOURCE_FAILED } from '../../shared/wire/errors.ts';
import type { Snapshot, SourceCertificate, UndatedProblem } from '../sources/source.ts';
import { canonical, canonicalRoute } from './canonical.ts';

/** A snapshot of everything that a source wants. */
export type Listing = Extract<Snapshot, { kind: 'listed' }>;

/** A source's last good listing, and why the latest one failed, if it did. */
export type SourceView = { readonly listing: Listing | null; readonly errors: readonly string[] };

/** `text` is the line's value as JSON, including the key. */
export type DesiredCertificate = { readonly domains: readonly string[]; readonly source: string; readonly text: string };

export type DesiredRoute = { readonly route: RouteSpec; readonly source: string; readonly text: string };

/** One routing table built from all sources, and what could not be included. */
export type Desired = {
  /** Sorted by domain. `text` is canonical JSON. */
  readonly routes: ReadonlyMap<string, DesiredRoute>;
  /** Sorted by domains. */
  readonly certificates: ReadonlyMap<string, DesiredCertificate>;
  /** The config file's globals, and what others need besides; null until a source with globals has listed. */
  readonly settings: Globals | null;
  /** Sources that have listed: the table is complete for these. Sorted. */
  readonly listed: readonly string[];
  /** All sources that have reported anything, sorted. */
  readonly sources: readonly string[];
  readonly problems: readonly UndatedProblem[];
  /** Hash of all of the above: equal views give equal fingerprints. */
  readonly fingerprint: string;
};

/** A problem of a route that another source's route has precedence over. */
export const DOMAIN_TAKEN = 'domain_taken';
/** A problem of a route that does not fit into a line. */
export const ROUTE_TOO_LARGE = 'route_too_large';

/** Precedence for a domain wanted by several sources; unlisted sources come last. */
const PRECEDENCE = ['file', 'kubernetes', 'docker'];
/** Room for the other members of a route's line. */
const MAX_ROUTE_BYTES = MAX_LINE_BYTES - 1_024;

/** Pure: the same views give the same bytes, regardless of their order. */
export function desire(views: ReadonlyMap<string, SourceView>): Desired {
  const sources = [...views.keys()].sort(byPrecedence);
  const winners = new Map<string, DesiredRoute>();
  const problems: UndatedProblem[] = [];
  const presented = new Map<string, DesiredCertificate>();
  let settings: Globals | null = null;
  for (const source of sources) {
    const { listing, errors } = views.get(source) as SourceView;
    for (const error of errors) problems.push(failure(source, error));
    if (!listing) continue;
    settings = joined(settings, listing.settings);
    for (const problem of listing.problems) problems.push(problem);
    for (const certificate of listing.certificates ?? []) addCertificate(presented, source, certificate);
    for (const route of listing.routes) {
      const problem = claim(winners, source, route);
      if (problem) problems.push(problem);
    }
  }
  const routes = sorted(winners);
  const certificates = sorted(presented);
  const listed = sources.filter((source) => views.get(source)?.listing).sort();
  const known = [...sources].sort();
  const content = { routes, certificates, settings, listed, sources: known, problems };
  const texts = [...certificates.values()].map(({ text }) => text);
  return { ...content, fingerprint: fingerprint(routes, settings, listed, known, problems, texts) };
}

const sorted = <T>(entries: ReadonlyMap<string, T>): Map<string, T> => new Map([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));

/** If several sources have globals, those of the first one apply. */
const joined = (first: Globals | null, second: Globals | undefined): Globals | null =>
  second === undefined ? first : { ...second, ...(first ?? {}) };

/** Within a source the first one listed wins: sources list their oldest first. */
function claim(winners: Map<string, DesiredRoute>, source: string, route: RouteSpec): UndatedProblem | undefined {
  const origin = route.origin ?? source;
  const about = { source, origin, domain: route.domain };
  const owner = winners.get(route.domain);
  if (owner)
    return {
      ...about,
      code: DOMAIN_TAKEN,
      message: `${route.domain} belongs to ${owner.route.origin ?? owner.source}, which takes precedence`,
    };
  const text = canonicalRoute(route);
  if (text.length * 3 > MAX_ROUTE_BYTES && Buffer.byteLength(text) > MAX_ROUTE_BYTES)
    return {
      ...about,
      code: ROUTE_TOO_LARGE,
      message: `${route.domain} is larger than ${MAX_LINE_BYTES / 1_048_576} MB as JSON; split it`,
    };
  winners.set(route.domain, { route, source, text });
  return undefined;
}

/** Certificates for the same domains replace each other. */
export const certificateKey = (domains: readonly string[]): string => [...domains].sort().join();

/** One certificate per set of domains, from the source with precedence. */
function addCertificate(certificates: Map<string, DesiredCertificate>, source: string, certificate: SourceCertificate): void {
  const domains = [...certificate.domains].sort();
  const key = certificateKey(domains);
  if (!certificates.has(key)) certificates.set(key, { domains, source, text: canonical({ ...certificate, domains, source }) });
}

/** The origin of a failure: the source, or the line of the error: `Sluicefile:12:3: why`. */
function failure(source: string, error: string): UndatedProblem {
  const place = /^(.+?:\d+)(?::\d+)?: /.exec(error);
  return { source, origin: place?.[1] ?? source, domain: null, code: SOURCE_FAILED, message: error };
}

function byPrecedence(a: string, b: string): number {
  const rank = (name: string) => (PRECEDENCE.includes(name) ? PRECEDENCE.indexOf(name) : PRECEDENCE.length);
  return rank(a) - rank(b) || (a < b ? -1 : 1);
}

function fingerprint(routes: ReadonlyMap<string, DesiredRoute>, ...rest: unknown[]): string {
  const hash = createHash('sha256');
  for (const { text } of routes.values()) hash.update(text).update('\n');
  return hash.update(canonical(rest)).digest('hex').slice(0, 32);
}
