/** A Role or ClusterRole. */
export type Role = {
  readonly rules?: readonly {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
  }[];
};

/** The requests that roles allow, as `Cluster.requestsOfAccounts` writes them. */
export function allowedBy(roles: readonly Role[]): ReadonlySet<string> {
  const rules = roles.flatMap((role) => role.rules ?? []);
  const all = rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${group}/${resource}`))),
  );
  return new Set(all);
}
