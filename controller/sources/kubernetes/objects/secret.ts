import type { Resource } from '../api/resource.ts';
import { type Meta, type RawMeta, readMeta } from './meta.ts';

/** A Secret of the type `kubernetes.io/tls`: PEM texts. */
export type TlsSecret = { readonly meta: Meta; readonly certificate: string; readonly privateKey: string };

type RawSecret = { readonly metadata: RawMeta; readonly data?: Readonly<Record<string, string>> };

const decoded = (text = ''): string => Buffer.from(text, 'base64').toString('utf8');

/** Only Secrets of this type are requested; others do not concern the proxy, and need no memory. */
export const TLS_SECRETS: Resource<TlsSecret> = {
  name: 'secrets',
  kind: 'Secret',
  api: '/api/v1',
  namespaced: true,
  fieldSelector: 'type=kubernetes.io/tls',
  read: ({ metadata, data }: RawSecret) => ({
    meta: readMeta(metadata),
    certificate: decoded(data?.['tls.crt']),
    privateKey: decoded(data?.['tls.key']),
  }),
};
