import type { Resource } from '../api/resource.ts';
import { type Meta, type RawMeta, readMeta } from './meta.ts';
import { GATEWAY_API } from './object-ref.ts';

/** Allows objects of other namespaces to refer to objects of its own. */
export type ReferenceGrant = {
  readonly meta: Meta;
  readonly from: readonly { readonly group: string; readonly kind: string; readonly namespace: string }[];
  /** Without a name: all of the kind. */
  readonly to: readonly { readonly group: string; readonly kind: string; readonly name?: string }[];
};

export const REFERENCE_GRANTS: Resource<ReferenceGrant> = {
  name: 'referencegrants',
  kind: 'ReferenceGrant',
  api: GATEWAY_API,
  namespaced: true,
  optional: true,
  read: ({ metadata, spec }: { metadata: RawMeta; spec: Pick<ReferenceGrant, 'from' | 'to'> }) => ({
    meta: readMeta(metadata),
    from: spec.from,
    to: spec.to,
  }),
};
