import { NAME } from '../../shared/name.ts';
import type { RouteSpec } from '../../shared/route.ts';
import type { LiveTable } from '../table/live-table.ts';

/** How many sites the warning names. */
const MOST_NAMED = 3;

const caches = (route: RouteSpec): boolean => route.cache != null || route.handles.some(({ cache }) => cache != null);

/** The sites that use the cache, kept up to date as the table changes, to say so if there is no cache. */
export class CachingSites {
  private readonly domains = new Set<string>();

  constructor(table: Pick<LiveTable, 'list' | 'find' | 'onChange'>) {
    for (const { route } of table.list()) if (caches(route)) this.domains.add(route.domain);
    table.onChange(({ added, changed, removed }) => {
      for (const domain of removed) this.domains.delete(domain);
      for (const domain of [...added, ...changed]) {
        const owned = table.find(domain);
        if (owned !== undefined && caches(owned.route)) this.domains.add(domain);
        else this.domains.delete(domain);
      }
    });
  }

  /** What is wrong if the cache has this size in bytes. */
  warnings(cacheSize: number): string[] {
    const { size } = this.domains;
    if (cacheSize > 0 || size === 0) return [];
    const named = [...this.domains].slice(0, MOST_NAMED).join(', ');
    const sites = size === 1 ? `the site ${named} uses` : `${size} sites (${named}${size > MOST_NAMED ? ', …' : ''}) use`;
    return [`${sites} the directive cache, but the cache has no size, so ${NAME} stores nothing`];
  }
}
