import type { Resource } from '../api/resource.ts';
import { type Meta, type RawMeta, readMeta } from './meta.ts';
import { GATEWAY_API, GATEWAY_GROUP, type ObjectRef, type RawRef, readRef } from './object-ref.ts';

/** Which listeners a route attaches to. `raw` is as written, for the route's status. */
export type ParentRef = {
  readonly ref: ObjectRef;
  readonly section: string | null;
  readonly port: number | null;
  readonly raw: Readonly<Record<string, unknown>>;
};

/** A service that requests go to. */
export type RouteBackend = {
  readonly ref: ObjectRef;
  readonly port: number | null;
  readonly weight: number;
  readonly filters: readonly RouteFilter[];
};

export type TextMatch = { readonly type: 'Exact' | 'RegularExpression'; readonly name: string; readonly value: string };

type HeaderChange = { readonly name: string; readonly value: string };
export type HeaderModifier = {
  readonly set?: readonly HeaderChange[];
  readonly add?: readonly HeaderChange[];
  readonly remove?: readonly string[];
};
export type PathModifier = {
  readonly type: 'ReplaceFullPath' | 'ReplacePrefixMatch';
  readonly replaceFullPath?: string;
  readonly replacePrefixMatch?: string;
};
export type RedirectFilter = {
  readonly scheme?: string;
  readonly hostname?: string;
  readonly port?: number;
  readonly path?: PathModifier;
  readonly statusCode?: number;
};
export type CorsFilter = {
  readonly allowOrigins?: readonly string[];
  readonly allowCredentials?: boolean;
  readonly allowMethods?: readonly string[];
  readonly allowHeaders?: readonly string[];
  readonly exposeHeaders?: readonly string[];
  readonly maxAge?: number;
};
/** In the API's form: the member that belongs to the type is set. */
export type RouteFilter = {
  readonly type: string;
  readonly requestHeaderModifier?: HeaderModifier;
  readonly responseHeaderModifier?: HeaderModifier;
  readonly requestRedirect?: RedirectFilter;
  readonly urlRewrite?: { readonly hostname?: string; readonly path?: PathModifier };
  readonly requestMirror?: {
    readonly backendRef: RawRef & { readonly port?: number };
    readonly percent?: number;
    readonly fraction?: { readonly numerator: number; readonly denominator?: number };
  };
  readonly cors?: CorsFilter;
};

export type PathMatcher = {
  readonly type: 'Exact' | 'PathPrefix' | 'RegularExpression';
  readonly value: string;
  /** Whether it comes after every prefix that names a segment, although it is no prefix. */
  readonly isLate?: boolean;
};

/** Which requests a rule is for: those that meet all conditions of the match. */
export type HttpMatch = {
  readonly path: PathMatcher;
  readonly method: string | null;
  readonly headers: readonly TextMatch[];
  readonly query: readonly TextMatch[];
};

export type HttpRule = {
  /** At least one, any of which may match. */
  readonly matches: readonly HttpMatch[];
  readonly filters: readonly RouteFilter[];
  readonly backends: readonly RouteBackend[];
  readonly timeouts: { readonly request?: string; readonly backendRequest?: string };
};

/** The parts that all kinds of routes have in common. */
export type AnyRoute = {
  readonly kind: 'HTTPRoute' | 'GRPCRoute' | 'TLSRoute';
  readonly meta: Meta;
  readonly parents: readonly ParentRef[];
  /** In lower case; empty is every host of the listeners. */
  readonly hostnames: readonly string[];
};

/** An HTTPRoute or a GRPCRoute, whose methods are paths. */
export type HttpRoute = AnyRoute & { readonly kind: 'HTTPRoute' | 'GRPCRoute'; readonly rules: readonly HttpRule[] };

export type RawRoute<Rule> = {
  readonly metadata: RawMeta;
  readonly spec: {
    readonly parentRefs?: readonly (RawRef & { readonly sectionName?: string; readonly port?: number })[];
    readonly hostnames?: readonly string[];
    readonly rules?: readonly Rule[];
  };
};
export type RawBackendRef = RawRef & { readonly port?: number; readonly weight?: number; readonly filters?: readonly RouteFilter[] };
export type RawTextMatch = { readonly type?: TextMatch['type']; readonly name: string; readonly value: string };
type RawHttpRule = {
  readonly matches?: readonly {
    readonly path?: { readonly type?: PathMatcher['type']; readonly value?: string };
    readonly method?: string;
    readonly headers?: readonly RawTextMatch[];
    readonly queryParams?: readonly RawTextMatch[];
  }[];
  readonly filters?: readonly RouteFilter[];
  readonly backendRefs?: readonly RawBackendRef[];
  readonly timeouts?: HttpRule['timeouts'];
};

export const readRoute = <Kind extends AnyRoute['kind']>(kind: Kind, { metadata, spec }: RawRoute<unknown>) => ({
  kind,
  meta: readMeta(metadata),
  parents: (spec.parentRefs ?? []).map((raw): ParentRef => {
    const { sectionName, port, ...ref } = raw;
    return { ref: readRef({ group: GATEWAY_GROUP, ...ref }, 'Gateway'), section: sectionName ?? null, port: port ?? null, raw };
  }),
  hostnames: (spec.hostnames ?? []).map((name) => name.toLowerCase()),
});

export const readBackendRef = ({ port, weight = 1, filters = [], ...ref }: RawBackendRef): RouteBackend => ({
  ref: readRef(ref, 'Service'),
  port: port ?? null,
  weight,
  filters,
});

export const readTextMatch = ({ type = 'Exact', name, value }: RawTextMatch): TextMatch => ({ type, name, value });

const readHttpMatch = ({ path, method, headers = [], queryParams = [] }: NonNullable<RawHttpRule['matches']>[number]): HttpMatch => ({
  path: { type: path?.type ?? 'PathPrefix', value: path?.value ?? '/' },
  method: method ?? null,
  headers: headers.map(readTextMatch),
  query: queryParams.map(readTextMatch),
});

export const HTTP_ROUTES: Resource<HttpRoute> = {
  name: 'httproutes',
  kind: 'HTTPRoute',
  hasStatus: true,
  api: GATEWAY_API,
  namespaced: true,
  optional: true,
  read: (raw: RawRoute<RawHttpRule>) => ({
    ...readRoute('HTTPRoute', raw),
    rules: (raw.spec.rules ?? [{}]).map(({ matches = [], filters = [], backendRefs = [], timeouts = {} }) => ({
      matches: (matches.length === 0 ? [{}] : matches).map(readHttpMatch),
      filters,
      backends: backendRefs.map(readBackendRef),
      timeouts,
    })),
  }),
};
