import type { Resource } from '../api/resource.ts';
import { type Meta, type RawMeta, readMeta } from './meta.ts';

/** A service and one of its ports, as a backend names them. */
export type BackendRef = { readonly service: string; readonly port: string | number };

export type PathType = 'Exact' | 'Prefix' | 'ImplementationSpecific';

export type IngressPath = {
  /** Absent with `ImplementationSpecific`: every path. */
  readonly path: string;
  readonly type: PathType;
  /** null: an object of another kind, which is not supported. */
  readonly backend: BackendRef | null;
};

/** The parts of an Ingress (networking.k8s.io/v1) that are used. */
export type Ingress = {
  readonly meta: Meta;
  readonly annotations: Readonly<Record<string, string>>;
  readonly className: string | null;
  /** undefined: none. null: an object of another kind. */
  readonly defaultBackend: BackendRef | null | undefined;
  /** An absent host is every host. */
  readonly rules: readonly { readonly host: string | null; readonly paths: readonly IngressPath[] }[];
  readonly tls: readonly { readonly hosts: readonly string[]; readonly secret: string | null }[];
};

type RawBackend = { readonly service?: { readonly name: string; readonly port?: { readonly name?: string; readonly number?: number } } };
type RawIngress = {
  readonly metadata: RawMeta;
  readonly spec?: {
    readonly ingressClassName?: string;
    readonly defaultBackend?: RawBackend;
    readonly rules?: readonly {
      readonly host?: string;
      readonly http?: { readonly paths: readonly { readonly path?: string; readonly pathType: PathType; readonly backend: RawBackend }[] };
    }[];
    readonly tls?: readonly { readonly hosts?: readonly string[]; readonly secretName?: string }[];
  };
};

const readBackend = ({ service }: RawBackend): BackendRef | null =>
  service === undefined ? null : { service: service.name, port: service.port?.name ?? service.port?.number ?? 0 };

export const INGRESSES: Resource<Ingress> = {
  name: 'ingresses',
  kind: 'Ingress',
  hasStatus: true,
  api: '/apis/networking.k8s.io/v1',
  namespaced: true,
  read: ({ metadata, spec = {} }: RawIngress) => ({
    meta: readMeta(metadata),
    annotations: metadata.annotations ?? {},
    className: spec.ingressClassName ?? null,
    defaultBackend: spec.defaultBackend && readBackend(spec.defaultBackend),
    rules: (spec.rules ?? []).map(({ host = '', http }) => ({
      host: host === '' ? null : host,
      paths: (http?.paths ?? []).map(({ path = '', pathType, backend }) => ({
        path: path === '' ? '/' : path,
        type: pathType,
        backend: readBackend(backend),
      })),
    })),
    tls: (spec.tls ?? []).map(({ hosts = [], secretName = '' }) => ({ hosts, secret: secretName === '' ? null : secretName })),
  }),
};

/** An IngressClass: which controller serves the Ingresses that name it. */
export type IngressClass = { readonly meta: Meta; readonly controller: string; readonly isDefault: boolean };

type RawClass = { readonly metadata: RawMeta; readonly spec?: { readonly controller?: string } };

export const INGRESS_CLASSES: Resource<IngressClass> = {
  name: 'ingressclasses',
  kind: 'IngressClass',
  api: '/apis/networking.k8s.io/v1',
  namespaced: false,
  read: ({ metadata, spec }: RawClass) => ({
    meta: readMeta(metadata),
    controller: spec?.controller ?? '',
    isDefault: metadata.annotations?.['ingressclass.kubernetes.io/is-default-class'] === 'true',
  }),
};
