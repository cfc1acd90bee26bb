import type { Resource } from '../api/resource.ts';
import { type Meta, type RawMeta, readMeta } from './meta.ts';
import { GATEWAY_API, type ObjectRef, type RawRef, readRef } from './object-ref.ts';

/** How connections to the targets of Services use TLS. */
export type BackendTlsPolicy = {
  readonly meta: Meta;
  /** `section` is the name of a port; null is every port. */
  readonly targets: readonly { readonly ref: ObjectRef; readonly section: string | null }[];
  readonly authorities: readonly ObjectRef[];
  /** `System`: the authorities that the system of the data plane trusts. */
  readonly wellKnown: string | null;
  readonly hostname: string;
  readonly alternativeNames: readonly { readonly type: string; readonly value: string }[];
};

type RawPolicy = {
  readonly metadata: RawMeta;
  readonly spec: {
    readonly targetRefs: readonly (RawRef & { readonly sectionName?: string })[];
    readonly validation: {
      readonly caCertificateRefs?: readonly RawRef[];
      readonly wellKnownCACertificates?: string;
      readonly hostname: string;
      readonly subjectAltNames?: readonly { readonly type: string; readonly hostname?: string; readonly uri?: string }[];
    };
  };
};

export const BACKEND_TLS_POLICIES: Resource<BackendTlsPolicy> = {
  name: 'backendtlspolicies',
  kind: 'BackendTLSPolicy',
  hasStatus: true,
  api: GATEWAY_API,
  namespaced: true,
  optional: true,
  read: ({ metadata, spec: { targetRefs, validation } }: RawPolicy) => ({
    meta: readMeta(metadata),
    targets: targetRefs.map(({ sectionName = '', ...ref }) => ({
      ref: readRef(ref, 'Service'),
      section: sectionName === '' ? null : sectionName,
    })),
    authorities: (validation.caCertificateRefs ?? []).map((ref) => readRef(ref, 'ConfigMap')),
    wellKnown: validation.wellKnownCACertificates ?? null,
    hostname: validation.hostname,
    alternativeNames: (validation.subjectAltNames ?? []).map(({ type, hostname, uri }) => ({ type, value: hostname ?? uri ?? '' })),
  }),
};
