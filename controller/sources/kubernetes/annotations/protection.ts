import type { RouteDraft } from '../../../../shared/route.ts';
import type { Backends } from '../backends/backends.ts';
import type { HtpasswdSecret } from '../objects/htpasswd-secret.ts';
import type { Meta } from '../objects/meta.ts';
import type { Service } from '../objects/service.ts';
import { authServerOf } from './auth-service.ts';
import { usersOf } from './basic-auth.ts';
import type { IngressAnnotations } from './ingress-annotations.ts';

/** The members of an Ingress, completed with what its protections need from other objects. */
export type Protected = {
  readonly members: RouteDraft;
  /** Why access can't be decided at the moment, so that its paths must answer 503; null if it can. */
  readonly closed: string | null;
};

/** By `NAMESPACE/NAME`. */
type Objects = { readonly services: ReadonlyMap<string, Service>; readonly users: ReadonlyMap<string, HtpasswdSecret> };

/** Resolves the Secret of `basic_auth` and the Service of `forward_auth`. Without them its paths are closed, never open. */
export function protectionOf({ members, users }: IngressAnnotations, { namespace }: Meta, objects: Objects, backends: Backends): Protected {
  const { forward_auth: auth, ...rest } = members;
  // The same object, so that claims cached for an earlier snapshot are found.
  if (auth === undefined && users === null) return { members, closed: null };
  const server = auth ? authServerOf(auth, namespace, objects.services, backends) : null;
  const allowed = users === null ? null : usersOf(users, namespace, objects.users);
  const closed = [server, allowed].flatMap((one) => (one === null || one.ok ? [] : [one.reason])).join('; ');
  return {
    members: { ...rest, ...(server?.ok && { forward_auth: server.value }), ...(allowed?.ok && { basic_auth: allowed.value }) },
    closed: closed === '' ? null : closed,
  };
}
