/** A change that may be for the upstream of its site or block alone. */
type ScopedChange = { readonly upstream_only?: true | undefined };
type SiteOrBlock = { readonly upstreams: readonly unknown[] };

/**
 * The changes of a site (`handle` null) or block, in order: `always`, and those `ofUpstream`, which concern only what its own upstreams
 * get and send. A block with upstreams of its own takes none of the latter from its site.
 */
export function changesIn<C extends ScopedChange>(
  site: readonly C[],
  handle: SiteOrBlock | null,
  block: readonly C[],
): { readonly always: readonly C[]; readonly ofUpstream: readonly C[] } {
  const isOfUpstream = ({ upstream_only }: C): boolean => upstream_only === true;
  const isAlways = (change: C): boolean => !isOfUpstream(change);
  const inherited = handle === null || handle.upstreams.length === 0 ? site.filter(isOfUpstream) : [];
  return { always: [...site.filter(isAlways), ...block.filter(isAlways)], ofUpstream: [...inherited, ...block.filter(isOfUpstream)] };
}
