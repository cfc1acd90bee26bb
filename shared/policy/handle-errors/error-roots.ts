type SiteOrBlock = {
  readonly root?: string | null | undefined;
  readonly handle_errors?: readonly { readonly files?: { readonly root?: string | undefined } | undefined }[] | undefined;
};

/** The directories that a site (`handle` null) or block reads error pages from; null for one that nothing names. */
export function errorRootsIn(route: SiteOrBlock, handle: SiteOrBlock | null): readonly (string | null)[] {
  const pages = (handle ?? route).handle_errors ?? [];
  return pages.flatMap(({ files }) => (files === undefined ? [] : [files.root ?? handle?.root ?? route.root ?? null]));
}
