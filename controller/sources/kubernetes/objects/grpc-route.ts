import type { Resource } from '../api/resource.ts';
import {
  type HttpMatch,
  type HttpRoute,
  type PathMatcher,
  type RawBackendRef,
  type RawRoute,
  type RawTextMatch,
  type RouteFilter,
  readBackendRef,
  readRoute,
  readTextMatch,
} from './http-route.ts';
import { GATEWAY_API } from './object-ref.ts';

type RawGrpcMethod = { readonly type?: 'Exact' | 'RegularExpression'; readonly service?: string; readonly method?: string };
type RawGrpcRule = {
  readonly matches?: readonly { readonly method?: RawGrpcMethod; readonly headers?: readonly RawTextMatch[] }[];
  readonly filters?: readonly RouteFilter[];
  readonly backendRefs?: readonly RawBackendRef[];
};

/** The path of a call is `/SERVICE/METHOD`. */
function pathOf({ type = 'Exact', service = '', method = '' }: RawGrpcMethod): PathMatcher {
  if (service === '' && method === '') return { type: 'PathPrefix', value: '/' };
  if (type === 'RegularExpression') return { type, value: `/${service || '[^/]+'}/${method || '[^/]+'}` };
  // The names of services decide first, however short they are.
  if (service === '')
    return { type: 'RegularExpression', value: `/[^/]+/${method.replaceAll(/[.+*?^$()[\]{}|\\]/g, '\\$&')}`, isLate: true };
  return method === '' ? { type: 'PathPrefix', value: `/${service}` } : { type: 'Exact', value: `/${service}/${method}` };
}

export const GRPC_ROUTES: Resource<HttpRoute> = {
  name: 'grpcroutes',
  kind: 'GRPCRoute',
  hasStatus: true,
  api: GATEWAY_API,
  namespaced: true,
  optional: true,
  read: (raw: RawRoute<RawGrpcRule>) => ({
    ...readRoute('GRPCRoute', raw),
    rules: (raw.spec.rules ?? [{}]).map(({ matches = [], filters = [], backendRefs = [] }) => ({
      matches: (matches.length === 0 ? [{}] : matches).map(
        ({ method = {}, headers = [] }): HttpMatch => ({
          path: pathOf(method),
          method: null,
          headers: headers.map(readTextMatch),
          query: [],
        }),
      ),
      filters,
      backends: backendRefs.map(readBackendRef),
      timeouts: {},
    })),
  }),
};
