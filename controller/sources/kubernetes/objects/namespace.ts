import type { Resource } from '../api/resource.ts';
import { type Meta, type RawMeta, readMeta } from './meta.ts';

/** A Namespace, whose labels decide which routes a listener accepts. */
export type Namespace = { readonly meta: Meta; readonly labels: Readonly<Record<string, string>> };

export const NAMESPACES: Resource<Namespace> = {
  name: 'namespaces',
  kind: 'Namespace',
  api: '/api/v1',
  namespaced: false,
  read: ({ metadata }: { readonly metadata: RawMeta }) => ({ meta: readMeta(metadata), labels: metadata.labels ?? {} }),
};
