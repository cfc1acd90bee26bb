import type { AnalyticsSnapshot } from '../../../../../shared/wire/analytics.ts';
import type { FullRoute, UpstreamStatus } from '../../../../../shared/wire/status.ts';
import { linkTo } from './place.ts';

/** One thing that the search finds. */
export type Entry = { readonly kind: string; readonly name: string; readonly about: string; readonly link: string; readonly text: string };

const MOST = 30;

const entry = (kind: string, name: string, about: string, link: string): Entry => ({
  kind,
  name,
  about,
  link,
  text: `${name} ${about}`.toLowerCase(),
});

/** Hosts first, then containers and other origins, paths, targets. */
export function indexOf(
  routes: readonly FullRoute[],
  upstreams: readonly UpstreamStatus[],
  analytics: readonly Pick<AnalyticsSnapshot, 'domain' | 'top_pages'>[],
): Entry[] {
  const host = (domain: string): string => linkTo('hosts', domain);
  const paths = new Map<string, Entry>();
  for (const { domain, handles } of routes)
    for (const { path } of handles) if (path !== null) paths.set(`${domain} ${path}`, entry('path', path, domain, host(domain)));
  for (const { domain, top_pages } of analytics)
    for (const { path } of top_pages) paths.set(`${domain} ${path}`, entry('path', path, domain, host(domain)));
  return [
    ...routes.map(({ domain, origin }) => entry('host', domain, origin ?? '', host(domain))),
    ...routes.flatMap(({ domain, origin }) =>
      origin?.startsWith('container ') ? [entry('container', origin.slice('container '.length), domain, host(domain))] : [],
    ),
    ...paths.values(),
    ...upstreams.map(({ address, id, domains }) =>
      entry('target', address, [id, ...domains].filter(Boolean).join(' '), linkTo('upstreams', null, new Map([['filter', address]]))),
    ),
  ];
}

/** The entries that contain every word, those whose name begins with the text first. */
export function find(index: readonly Entry[], text: string): Entry[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return [];
  const words = wanted.split(/\s+/);
  const rank = ({ name }: Entry): number => (name.toLowerCase().startsWith(wanted) ? 0 : name.toLowerCase().includes(wanted) ? 1 : 2);
  return index
    .filter((one) => words.every((word) => one.text.includes(word)))
    .map((one) => ({ one, rank: rank(one) }))
    .sort((a, b) => a.rank - b.rank)
    .slice(0, MOST)
    .map(({ one }) => one);
}
