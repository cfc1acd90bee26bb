import type { Resource } from '../api/resource.ts';
import { type Meta, type RawMeta, readMeta } from './meta.ts';
import { faultOfSecret, type SecretPair } from './secret-certificate.ts';

/** A Secret of the type `kubernetes.io/tls`: PEM texts. */
export type TlsSecret = SecretPair & { readonly meta: Meta };

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
  changed: withLastGood,
};

/** A key that is written after its certificate, or a wrong one, must not turn HTTPS off: the last valid version stays until then. */
function withLastGood(before: TlsSecret, now: TlsSecret): TlsSecret {
  if (before.meta.uid !== now.meta.uid) return now;
  const isSame = before.certificate === now.certificate && before.privateKey === now.privateKey;
  if (!isSame && faultOfSecret(now) === null) return now;
  const lastGood = !isSame && faultOfSecret(before) === null ? before : before.lastGood;
  return lastGood === undefined ? now : { ...now, lastGood };
}
