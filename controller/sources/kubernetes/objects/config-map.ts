import type { Resource } from '../api/resource.ts';
import { type Meta, type RawMeta, readMeta } from './meta.ts';

/** A ConfigMap with the PEM text of authorities. */
export type AuthorityConfig = { readonly meta: Meta; readonly authorities: string | null };

type RawConfigMap = { readonly metadata: RawMeta; readonly data?: Readonly<Record<string, string>> };

/** Only the key `ca.crt` of ConfigMaps is kept. */
export const AUTHORITIES: Resource<AuthorityConfig> = {
  name: 'configmaps',
  kind: 'ConfigMap',
  api: '/api/v1',
  namespaced: true,
  read: ({ metadata, data }: RawConfigMap) => ({ meta: readMeta(metadata), authorities: data?.['ca.crt'] ?? null }),
};
