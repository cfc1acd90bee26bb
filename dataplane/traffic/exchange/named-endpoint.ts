/** A target as named in logs. */
export type NamedEndpoint = { readonly address: string };
