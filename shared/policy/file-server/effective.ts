/** The settings of a site or block for files. */
export type FilesPart = {
  readonly root?: string | null | undefined;
  readonly file_server?: FileServerSpec | null | undefined;
  readonly try_files?: readonly string[] | undefined;
};

export type FileServerSpec = {
  readonly root?: string | undefined;
  readonly index?: readonly string[] | undefined;
  readonly hide?: readonly string[] | undefined;
  readonly browse?: boolean | undefined;
  readonly precompressed?: readonly ('zstd' | 'br' | 'gzip')[] | undefined;
  readonly status?: number | undefined;
  readonly dot_files?: boolean | undefined;
};

type Answering = FilesPart & { readonly respond?: unknown; readonly upstreams?: readonly unknown[] | undefined };

/**
 * The file server of a site (`handle` null) or block: its own, or the site's if the block responds with nothing else. A fixed response
 * comes first. null for none.
 */
export function fileServerIn(
  route: Answering,
  handle: Answering | null,
): { readonly spec: FileServerSpec; readonly root: string | null; readonly tryFiles: readonly string[] } | null {
  if (handle?.respond != null) return null;
  const inherits = route.respond == null && (handle === null || (handle.upstreams ?? []).length === 0);
  const spec = handle?.file_server ?? (inherits ? route.file_server : null);
  if (spec == null) return null;
  const tryFiles = handle?.try_files ?? route.try_files ?? [];
  return { spec, root: spec.root ?? handle?.root ?? route.root ?? null, tryFiles };
}
