/** What identifies an object, and how old it is. */
export type Meta = {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** RFC 3339. */
  readonly createdAt: string;
  /** Grows with each change of the object's spec; 0 for kinds without one. */
  readonly generation: number;
};

export type RawMeta = {
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
  readonly creationTimestamp: string;
  readonly generation?: number;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
};

export const readMeta = ({ namespace = '', name, uid, creationTimestamp, generation = 0 }: RawMeta): Meta => ({
  namespace,
  name,
  uid,
  createdAt: creationTimestamp,
  generation,
});

/** As written in messages and as the key of an object: `shop/web`. */
export const nameOf = ({ namespace, name }: Pick<Meta, 'namespace' | 'name'>): string => `${namespace}/${name}`;

export type WithMeta = { readonly meta: Meta };

/** The oldest first, then by name, as conflicts are decided. */
export const byAge = ({ meta: a }: WithMeta, { meta: b }: WithMeta): number =>
  compare(a.createdAt, b.createdAt) || compare(a.namespace, b.namespace) || compare(a.name, b.name);

export const isOlder = (one: WithMeta, other: WithMeta): boolean => byAge(one, other) < 0;

/** Whether an object is older than one of another namespace, which can take nothing from it. */
export const isOlderForeign = (one: WithMeta, other: WithMeta): boolean =>
  one.meta.namespace !== other.meta.namespace && isOlder(one, other);

export const oldestOf = <T extends WithMeta>(all: readonly T[]): T | undefined =>
  all.reduce<T | undefined>((oldest, one) => (oldest === undefined || isOlder(one, oldest) ? one : oldest), undefined);

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
