import { LABEL_PREFIX } from '../../../../shared/name.ts';
import type { InvalidSite, SiteLabels } from '../../labels/read-labels.ts';
import type { UndatedCondition } from '../../transition-times.ts';
import type { Container } from '../engine/container.ts';
import type { AddressChoice } from '../network/choose-address.ts';
import { DOCKER_SOURCE, type SiteReading } from './engine-snapshot.ts';

/** The display name: `container shop-web-1 (3f2a9c0d1e2f)`. */
export const originOf = ({ name, id }: Pick<Container, 'name' | 'id'>): string => `container ${name.slice(0, 900)} (${id.slice(0, 12)})`;

const about = (container: Container, section: string | null) => ({
  source: DOCKER_SOURCE,
  kind: 'container',
  id: container.id,
  name: container.name,
  origin: originOf(container),
  section,
});

/** A site with valid labels. */
export function validReading(container: Container, site: SiteLabels, choice: AddressChoice, isDraining: boolean): SiteReading {
  const { resolved, change } = resolve(container, choice, isDraining);
  return {
    ...about(container, site.site),
    domains: site.domains,
    accepted: { holds: true, reason: 'its labels are valid' },
    resolved,
    address: choice.address,
    change,
  };
}

export const STAYS = 'the site keeps its last good version';

/** A site with invalid labels that is routed by its last good version. */
export function keptReading(reading: SiteReading, { site, reasons }: InvalidSite): SiteReading {
  return { ...reading, accepted: { holds: false, reason: `${listOf(reasons)}; ${STAYS}` }, change: correction(site) };
}

/** A site with invalid labels that is not routed. */
export function invalidReading(
  container: Container,
  { site, domains, reasons }: Pick<InvalidSite, 'site' | 'domains' | 'reasons'>,
): SiteReading {
  return {
    ...about(container, site),
    domains,
    accepted: { holds: false, reason: listOf(reasons) },
    resolved: { holds: false, reason: 'its labels are not valid' },
    address: null,
    change: correction(site),
  };
}

/** A container may have thousands of sites, each with many mistakes (characters). */
const MAX_LIST = 2_000;

function listOf(reasons: readonly string[]): string {
  let list = '';
  for (const reason of reasons) {
    if (list !== '') list += '; ';
    list += reason;
    if (list.length > MAX_LIST) return `${list.slice(0, MAX_LIST)}…`;
  }
  return list;
}

const correction = (site: string | null): string =>
  `correct the labels ${LABEL_PREFIX}${site === null ? '' : `${site}.`}* and create the container again`;

type Resolution = { readonly resolved: UndatedCondition; readonly change: string | null };

const no = (reason: string, change: string): Resolution => ({ resolved: { holds: false, reason }, change });

function resolve(container: Container, choice: AddressChoice, isDraining: boolean): Resolution {
  const { status, health } = container;
  if (status === 'paused') return no('it is paused', 'unpause it');
  if (status === 'restarting')
    return no(
      'it has ended, and the engine starts it again',
      `if it keeps ending, correct what its log says: docker logs ${container.name}`,
    );
  if (status !== 'running') return no(status === 'created' ? 'it was never started' : `it is not running (${status})`, 'start it');
  if (choice.address === null) return no(choice.reason, choice.change);
  if (isDraining)
    return no(
      'it was sent a stop signal and is draining',
      'nothing if it should end; if it still runs after a minute, or after its stop timeout if that is longer, it gets requests again',
    );
  if (health === 'starting') return no('its HEALTHCHECK has not passed yet', 'wait until its HEALTHCHECK passes');
  if (health === 'unhealthy') return no('its HEALTHCHECK fails', 'make its HEALTHCHECK pass again');
  return { resolved: { holds: true, reason: choice.reason }, change: null };
}
