import { readablePath } from './format.ts';
import { linkTo } from './page-location.ts';
import { readableHost } from './readable-host.ts';

/** The parts of routes, targets and snapshots that the search needs. */
type Route = {
  readonly domain: string;
  readonly origin?: string | undefined;
  readonly handles: readonly { readonly path: string | null }[];
};
type Target = { readonly address: string; readonly id?: string | null | undefined; readonly domains: readonly string[] };
type Visited = { readonly domain: string };
type CountedDomain = Visited & { readonly top_pages: readonly { readonly path: string }[] };

/** One thing that the search finds. */
export type SearchEntry = {
  readonly kind: string;
  readonly name: string;
  readonly about: string;
  readonly link: string;
  /** In lower case, with each spelling of a host. */
  readonly text: string;
};

const MAX = 30;

const entry = (kind: string, name: string, about: string, link: string, also = ''): SearchEntry => ({
  kind,
  name,
  about,
  link,
  text: `${name} ${about} ${also}`.toLowerCase(),
});

const hostEntry = (domain: string, about: string): SearchEntry =>
  entry('host', readableHost(domain), about, linkTo('hosts', domain), domain);

/** Hosts first, then containers and other origins, paths, targets. */
export function indexOf(
  routes: readonly Route[],
  upstreams: readonly Target[],
  analytics: readonly CountedDomain[],
  visited: readonly Visited[] = [],
): SearchEntry[] {
  const host = (domain: string): string => linkTo('hosts', domain);
  const paths = new Map<string, SearchEntry>();
  const addPath = (domain: string, path: string) => paths.set(`${domain} ${path}`, entry('path', readablePath(path), domain, host(domain)));
  for (const { domain, handles } of routes) for (const { path } of handles) if (path !== null) addPath(domain, path);
  for (const { domain, top_pages } of analytics) for (const { path } of top_pages) addPath(domain, path);
  const routed = new Set(routes.map(({ domain }) => domain));
  return [
    ...routes.map(({ domain, origin }) => hostEntry(domain, origin ?? '')),
    // The hosts of wildcards, and those that are no longer routed.
    ...[...new Set([...analytics, ...visited].map(({ domain }) => domain))]
      .filter((domain) => !routed.has(domain))
      .map((domain) => hostEntry(domain, '')),
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
export function find(index: readonly SearchEntry[], text: string): SearchEntry[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return [];
  const words = wanted.split(/\s+/);
  const rank = ({ name }: SearchEntry): number => (name.toLowerCase().startsWith(wanted) ? 0 : name.toLowerCase().includes(wanted) ? 1 : 2);
  return index
    .filter((one) => words.every((word) => one.text.includes(word)))
    .map((one) => ({ one, rank: rank(one) }))
    .sort((a, b) => a.rank - b.rank)
    .slice(0, MAX)
    .map(({ one }) => one);
}
