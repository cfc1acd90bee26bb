import type { Resource } from '../api/resource.ts';
import { type AnyRoute, type RawBackendRef, type RawRoute, type RouteBackend, readBackendRef, readRoute } from './http-route.ts';
import { GATEWAY_API } from './object-ref.ts';

/** Connections that are passed on by the name that their clients request. */
export type TlsRoute = AnyRoute & { readonly kind: 'TLSRoute'; readonly backends: readonly RouteBackend[] };

export const TLS_ROUTES: Resource<TlsRoute> = {
  name: 'tlsroutes',
  kind: 'TLSRoute',
  hasStatus: true,
  api: GATEWAY_API,
  namespaced: true,
  optional: true,
  read: (raw: RawRoute<{ readonly backendRefs?: readonly RawBackendRef[] }>) => ({
    ...readRoute('TLSRoute', raw),
    backends: (raw.spec.rules?.[0]?.backendRefs ?? []).map(readBackendRef),
  }),
};
