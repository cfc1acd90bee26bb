import { LABEL_PREFIX } from '../../../../shared/name.ts';
import type { Domain } from '../../../../shared/values/host.ts';
import type { InvalidSite, ReadLabels, SiteLabels } from '../../labels/read-labels.ts';
import type { Container } from '../engine/container.ts';

/** The last valid versions of sites, by owner: labels never change, but a container can be recreated with different ones. */
export type LastGood = ReadonlyMap<string, Remembered>;

type Remembered = {
  /** By name; null for the site without one. */
  readonly sites: ReadonlyMap<string | null, SiteLabels>;
  /** Since when no such container has existed (ms since 1970); null while one exists. */
  readonly goneSince: number | null;
};

export type ReadContainer = { readonly container: Container; readonly labels: ReadLabels };

/** Sites that no container has requested for this long are forgotten (ms). */
export const FORGOTTEN_MS = 600_000;

/** The identity that survives recreating a container: its service, or without one its name. */
const placeOf = ({ composeProject, composeService, name }: Container): string =>
  JSON.stringify(composeProject !== null && composeService !== null ? [composeProject, composeService] : [name]);

/**
 * `containers` has the oldest first. Remembers the valid version of the youngest existing container, else the last one. A site that no
 * existing container requests any more is forgotten at once.
 */
export function remember(before: LastGood, containers: readonly ReadContainer[], now: number): LastGood {
  const known = stillKnown(before, now);
  const present = new Map<string, Map<string | null, SiteLabels>>();
  for (const { container, labels } of containers) {
    const place = placeOf(container);
    const sites = present.get(place) ?? new Map<string | null, SiteLabels>();
    present.set(place, sites);
    for (const { site } of labels.bad) {
      const last = known.get(place)?.sites.get(site);
      if (last && !sites.has(site)) sites.set(site, last);
    }
    for (const site of labels.sites) sites.set(site.site, site);
  }
  const after = new Map([...known].filter(([place]) => !present.has(place)));
  for (const [place, sites] of present) if (sites.size > 0) after.set(place, { sites, goneSince: null });
  return after;
}

function stillKnown(before: LastGood, now: number): Map<string, Remembered> {
  const known = new Map<string, Remembered>();
  for (const [place, { sites, goneSince }] of before) {
    const since = goneSince ?? now;
    if (now - since < FORGOTTEN_MS) known.set(place, { sites, goneSince: since });
  }
  return known;
}

/** @returns the last good version of a site with invalid labels; undefined if there is none to keep. */
export type Recall = (container: Container, bad: InvalidSite) => SiteLabels | undefined;

/** `running` are the containers whose valid labels take precedence. */
export function recall(lastGood: LastGood, running: readonly ReadContainer[]): Recall {
  const claimedBy = claimantsOf(running);
  return (container, bad) => {
    const last = lastGood.get(placeOf(container))?.sites.get(bad.site);
    // Removing the domain from the labels means removing the site.
    if (!last || !isSaid(container, bad.site, 'domain')) return undefined;
    const own = siteKey(container, bad.site);
    const isFree = (domain: Domain) => [...(claimedBy.get(domain) ?? [])].every((claimant) => claimant === own);
    const domains = last.domains.filter((domain) => bad.domains.includes(domain) || isFree(domain));
    if (domains.length === 0) return undefined;
    // The container's own address settings are used as far as they are valid.
    const port = bad.port ?? (isSaid(container, bad.site, 'port') ? last.port : null);
    const network = bad.network ?? (isSaid(container, bad.site, 'network') ? last.network : null);
    return { ...last, domains, port, network };
  };
}

/** By domain, the sites whose valid labels contain it. */
function claimantsOf(containers: readonly ReadContainer[]): Map<Domain, Set<string>> {
  const claimants = new Map<Domain, Set<string>>();
  for (const { container, labels } of containers)
    for (const { site, domains } of labels.sites)
      for (const domain of domains) claimants.set(domain, (claimants.get(domain) ?? new Set()).add(siteKey(container, site)));
  return claimants;
}

const siteKey = (container: Container, site: string | null): string => `${placeOf(container)} ${site ?? ''}`;

const isSaid = ({ labels }: Container, site: string | null, word: string): boolean =>
  Object.hasOwn(labels, `${LABEL_PREFIX}${site === null ? '' : `${site}.`}${word}`);
