import { NAME } from '../../../../shared/name.ts';

/** A kind of object that is listed and watched. */
export type Resource<T> = {
  /** The API's plural name: `ingresses`. */
  readonly name: string;
  /** The `kind` of its objects: `Ingress`. */
  readonly kind: string;
  /** `/api/v1` or `/apis/GROUP/VERSION`. */
  readonly api: string;
  readonly namespaced: boolean;
  readonly fieldSelector?: string;
  /** Whether the cluster may not know it because its definition is not installed, in which case there are no objects. */
  readonly optional?: boolean;
  /** Whether its status is written, and therefore kept unchanged. */
  readonly hasStatus?: boolean;
  /** Extracts the parts of an object that are used. A change that leaves them deeply equal is ignored. */
  read(object: never): T;
  /** What is kept of an object that was known before; `now` if absent. Must return what is equal to `before` if `now` is unchanged. */
  changed?(before: T, now: T): T;
};

/** `networking.k8s.io/v1`. */
export const apiVersionOf = ({ api }: Pick<Resource<unknown>, 'api'>): string => api.replace(/^\/apis?\//, '');

/** The path of its list, of one namespace or of all. */
export function pathOf({ api, name, namespaced }: Resource<unknown>, namespace: string | null): string {
  return namespaced && namespace !== null ? `${api}/namespaces/${namespace}/${name}` : `${api}/${name}`;
}

/** The status of an object on the API server. */
export type SeenStatus = {
  readonly uid: string;
  /** The version of the object that has it. */
  readonly version: string;
  readonly status: Readonly<Record<string, unknown>>;
  /** Whether this controller wrote some of it. */
  readonly isWritten: boolean;
};

/** The name under which the API server records which members this controller wrote. */
export const FIELD_MANAGER = NAME;

/** The part of every object that identifies it and its status. */
export type RawObject = {
  readonly metadata: {
    readonly namespace?: string;
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly managedFields?: readonly { readonly manager?: string; readonly subresource?: string }[];
  };
  readonly status?: Readonly<Record<string, unknown>>;
};

export const seenStatusOf = ({ metadata, status = {} }: RawObject): SeenStatus => ({
  uid: metadata.uid,
  version: metadata.resourceVersion,
  status,
  isWritten: (metadata.managedFields ?? []).some(({ manager, subresource }) => manager === FIELD_MANAGER && subresource === 'status'),
});
