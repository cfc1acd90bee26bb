import { CLUSTER_PREFIX } from '../../../../shared/name.ts';
import type { Resource } from '../api/resource.ts';
import { type Meta, type RawMeta, readMeta } from './meta.ts';

/** The type of Secrets with users: only those of this type are requested, and no others need memory. */
export const HTPASSWD_TYPE = `${CLUSTER_PREFIX}htpasswd`;

/** A Secret with users, one per line: `name:hash`, in its key `auth`. */
export type HtpasswdSecret = { readonly meta: Meta; readonly text: string };

type RawSecret = { readonly metadata: RawMeta; readonly data?: Readonly<Record<string, string>> };

export const HTPASSWD_SECRETS: Resource<HtpasswdSecret> = {
  name: 'secrets',
  kind: 'Secret',
  api: '/api/v1',
  namespaced: true,
  fieldSelector: `type=${HTPASSWD_TYPE}`,
  read: ({ metadata, data }: RawSecret) => ({
    meta: readMeta(metadata),
    text: Buffer.from(data?.auth ?? '', 'base64').toString('utf8'),
  }),
};
