import { NAME } from '../../shared/name.ts';
import type { RouteSpec } from '../../shared/route.ts';
import type { LiveTable } from '../table/live-table.ts';
import type { OwnedRoute } from '../table/table.ts';
import { named } from './named-sites.ts';

/** How many ports a warning names. */
const MAX_NAMED = 3;

const caches = (route: RouteSpec): boolean => route.cache != null || route.handles.some(({ cache }) => cache != null);

/** The sites that depend on a setting, kept up to date as the table changes, so that a setting that does not fit is reported. */
export class WatchedSites {
  private readonly caching = new Set<string>();
  /** Those that are served on some ports only. */
  private readonly ports = new Map<string, readonly number[]>();

  constructor(table: Pick<LiveTable, 'list' | 'find' | 'onChange'>) {
    for (const owned of table.list()) this.note(owned);
    table.onChange(({ added, changed, removed }) => {
      for (const domain of removed) this.forget(domain);
      for (const domain of [...added, ...changed]) {
        this.forget(domain);
        const owned = table.find(domain);
        if (owned !== undefined) this.note(owned);
      }
    });
  }

  private note(owned: OwnedRoute): void {
    if (!owned.needsSetup) return;
    const { route } = owned;
    if (caches(route)) this.caching.add(route.domain);
    if (route.ports !== undefined) this.ports.set(route.domain, route.ports);
  }

  private forget(domain: string): void {
    this.caching.delete(domain);
    this.ports.delete(domain);
  }

  /** The problems if the cache has this size in bytes. */
  cacheWarnings(cacheSize: number): string[] {
    if (cacheSize > 0 || this.caching.size === 0) return [];
    return [`${named([...this.caching], ['uses', 'use'])} the directive cache, but the cache has no size, so ${NAME} stores nothing`];
  }

  /** The problems if the data plane listens on these ports. */
  portWarnings(listened: readonly number[]): string[] {
    const isOpen = (port: number): boolean => listened.includes(port);
    const lacking = [...this.ports].filter(([, ports]) => !ports.every(isOpen));
    const [lost, others] = [lacking.filter(([, ports]) => !ports.some(isOpen)), lacking.filter(([, ports]) => ports.some(isOpen))];
    const about = (sites: typeof lost, what: string): string[] => {
      if (sites.length === 0) return [];
      const closed = [...new Set(sites.flatMap(([, ports]) => ports.filter((port) => !isOpen(port))))].slice(0, MAX_NAMED).join(', ');
      const domains = sites.map(([domain]) => domain);
      const given = `the ports given for ${sites.length === 1 ? 'it' : 'them'}: ${closed}`;
      return [`${named(domains, ['is', 'are'])} ${what} ${given}`];
    };
    return [
      ...about(lost, 'not served, because nothing listens on'),
      ...about(others, 'served on other ports only, because nothing listens on some of'),
    ];
  }
}
