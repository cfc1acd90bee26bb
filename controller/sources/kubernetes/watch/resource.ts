/** A kind of object that is listed and watched. */
export type Resource<T> = {
  /** In the API server's words: `ingresses`. */
  readonly name: string;
  /** `/api/v1` or `/apis/GROUP/VERSION`. */
  readonly api: string;
  readonly namespaced: boolean;
  readonly fieldSelector?: string;
  /** Whether the cluster may not know it, because its definition is not installed: then there are none. */
  readonly optional?: boolean;
  /** Keeps what is used of an object. */
  read(object: never): T;
};

/** The path of its list, of one namespace or of all. */
export function pathOf({ api, name, namespaced }: Resource<unknown>, namespace: string | null): string {
  return namespaced && namespace !== null ? `${api}/namespaces/${namespace}/${name}` : `${api}/${name}`;
}
