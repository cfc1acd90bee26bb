/** Which stored responses a purge removes. */
export type Purge =
  | { readonly kind: 'target'; readonly host: string; readonly target: string }
  | { readonly kind: 'prefix'; readonly host: string; readonly prefix: string }
  | { readonly kind: 'tag'; readonly tag: string };
