/** A condition of an object (meta/v1). */
export type StatusCondition = {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  /** CamelCase. */
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
  /** RFC 3339: since when the status has been the same. */
  readonly lastTransitionTime: string;
};

/** A condition as it should be. */
export type WantedCondition = Pick<StatusCondition, 'type' | 'status' | 'reason' | 'message'>;

/** Longer messages are refused by the API server (characters). */
const MAX_MESSAGE = 32_768;

/** The types that only the controller of an object writes, and that are there only while they are wanted. */
const OCCASIONAL: ReadonlySet<string> = new Set([
  'Conflicted',
  'PartiallyInvalid',
  'InsecureFrontendValidationMode',
  'OverlappingTLSConfig',
]);

/**
 * The conditions of an object: the wanted ones, with the time since when each has had its status, and those of other types that other
 * controllers wrote. In the order of `wanted`, so that equal arguments give equal bytes.
 */
export function conditionsOf(
  current: readonly StatusCondition[] | undefined,
  wanted: readonly WantedCondition[],
  { generation, now }: { readonly generation: number; readonly now: string },
): StatusCondition[] {
  const before = new Map((current ?? []).map((condition) => [condition.type, condition]));
  const types = new Set(wanted.map(({ type }) => type));
  const ours = wanted.map(({ type, status, reason, message }) => {
    const known = before.get(type);
    const since = known?.status === status ? known.lastTransitionTime : now;
    return { type, status, reason, message: message.slice(0, MAX_MESSAGE), observedGeneration: generation, lastTransitionTime: since };
  });
  return [...ours, ...(current ?? []).filter(({ type }) => !types.has(type) && !OCCASIONAL.has(type))];
}

/** An entry of `status.parents` of a route (gateway.networking.k8s.io). */
export type ParentStatus = {
  readonly parentRef: Readonly<Record<string, unknown>>;
  readonly controllerName: string;
  readonly conditions: readonly StatusCondition[];
};

/** Equal for equal references, regardless of the order of their members. */
const keyOf = (ref: ParentStatus['parentRef']): string => JSON.stringify(Object.entries(ref).sort(([a], [b]) => (a < b ? -1 : 1)));

/**
 * `status.parents`: the entries of other controllers as they are, and ours replaced by those wanted.
 */
export function parentsOf(
  current: readonly ParentStatus[] | undefined,
  controllerName: string,
  wanted: readonly { readonly parentRef: ParentStatus['parentRef']; readonly conditions: readonly WantedCondition[] }[],
  at: { readonly generation: number; readonly now: string },
): ParentStatus[] {
  const all = current ?? [];
  const before = new Map(all.filter((one) => one.controllerName === controllerName).map((one) => [keyOf(one.parentRef), one]));
  const ours = wanted.map(({ parentRef, conditions }) => ({
    parentRef,
    controllerName,
    conditions: conditionsOf(before.get(keyOf(parentRef))?.conditions, conditions, at),
  }));
  return [...all.filter((one) => one.controllerName !== controllerName), ...ours];
}
