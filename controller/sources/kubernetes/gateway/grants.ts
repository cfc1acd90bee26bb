import type { ObjectRef } from '../objects/object-ref.ts';
import type { ReferenceGrant } from '../objects/reference-grant.ts';

/** The object that a reference is in. */
export type Referrer = { readonly group: string; readonly kind: string; readonly namespace: string };

/** Which objects may refer to objects of other namespaces. */
export class Grants {
  private readonly byNamespace: ReadonlyMap<string, readonly ReferenceGrant[]>;

  constructor(grants: ReadonlyMap<string, ReferenceGrant>) {
    this.byNamespace = Map.groupBy(grants.values(), ({ meta }) => meta.namespace);
  }

  /** Whether a reference is allowed: always within a namespace, and otherwise if the object's namespace allows it. */
  allows(from: Referrer, to: ObjectRef): boolean {
    const namespace = to.namespace ?? from.namespace;
    if (namespace === from.namespace) return true;
    return (this.byNamespace.get(namespace) ?? []).some(
      (grant) =>
        grant.from.some(({ group, kind, namespace: other }) => group === from.group && kind === from.kind && other === from.namespace) &&
        grant.to.some(({ group, kind, name = '' }) => group === to.group && kind === to.kind && (name === '' || name === to.name)),
    );
  }
}
