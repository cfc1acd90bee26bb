import { GATEWAY_CONTROLLER } from '../../../../shared/name.ts';
import type { Resource, SeenStatus } from '../api/resource.ts';
import { BACKEND_TLS_POLICIES } from '../objects/backend-tls-policy.ts';
import { AUTHORITIES } from '../objects/config-map.ts';
import { GATEWAY_CLASSES, GATEWAYS, LISTENER_SETS } from '../objects/gateway.ts';
import { GRPC_ROUTES } from '../objects/grpc-route.ts';
import { HTPASSWD_SECRETS } from '../objects/htpasswd-secret.ts';
import { HTTP_ROUTES } from '../objects/http-route.ts';
import { INGRESS_CLASSES, INGRESSES } from '../objects/ingress.ts';
import { NAMESPACES } from '../objects/namespace.ts';
import { REFERENCE_GRANTS } from '../objects/reference-grant.ts';
import { TLS_SECRETS } from '../objects/secret.ts';
import { ENDPOINT_SLICES, SERVICES } from '../objects/service.ts';
import { TLS_ROUTES } from '../objects/tls-route.ts';
import type { ResourceStore } from './resource-store.ts';

type StoreOf = <T>(resource: Resource<T>) => ResourceStore<T>;

/** Copies of all objects that routes are built from. */
export class ClusterStores {
  private readonly always;
  /** Only Gateways need these, so they are only read if there may be some. */
  private readonly ofGateways;
  private readonly gatewaysFound = Promise.withResolvers<void>();

  constructor(storeOf: StoreOf) {
    this.always = {
      ingresses: storeOf(INGRESSES),
      classes: storeOf(INGRESS_CLASSES),
      services: storeOf(SERVICES),
      slices: storeOf(ENDPOINT_SLICES),
      secrets: storeOf(TLS_SECRETS),
      users: storeOf(HTPASSWD_SECRETS),
      gatewayClasses: storeOf(GATEWAY_CLASSES),
      gateways: storeOf(GATEWAYS),
      listenerSets: storeOf(LISTENER_SETS),
      httpRoutes: storeOf(HTTP_ROUTES),
      grpcRoutes: storeOf(GRPC_ROUTES),
      tlsRoutes: storeOf(TLS_ROUTES),
      grants: storeOf(REFERENCE_GRANTS),
      backendTlsPolicies: storeOf(BACKEND_TLS_POLICIES),
    };
    this.ofGateways = { namespaces: storeOf(NAMESPACES), authorities: storeOf(AUTHORITIES) };
  }

  /** Whether everything that is needed has been listed. */
  get synced(): boolean {
    if (!Object.values(this.always).every(({ synced }) => synced)) return false;
    if (!this.hasGateways) return true;
    this.gatewaysFound.resolve();
    return Object.values(this.ofGateways).every(({ synced }) => synced);
  }

  private get hasGateways(): boolean {
    const classes = this.always.gatewayClasses.objects();
    return [...classes.values()].some(({ controller }) => controller === GATEWAY_CONTROLLER);
  }

  /** Why some kinds of objects of Gateways are ignored, although there may be some; null if none are. */
  get unknownKinds(): string | null {
    if (!this.hasGateways) return null;
    const kinds = Object.values(this.always).flatMap(({ isUnknown, resource }) => (isUnknown ? [resource.kind] : []));
    if (kinds.length === 0) return null;
    return `the cluster does not define ${kinds.join(', ')} of gateway.networking.k8s.io/v1, so there are none; install the definitions of the Gateway API 1.6`;
  }

  /** The objects of each kind, by `NAMESPACE/NAME`. */
  objects() {
    const { always, ofGateways } = this;
    return {
      ingresses: always.ingresses.objects(),
      classes: always.classes.objects(),
      services: always.services.objects(),
      slices: always.slices.objects(),
      secrets: always.secrets.objects(),
      users: always.users.objects(),
      gatewayClasses: always.gatewayClasses.objects(),
      gateways: always.gateways.objects(),
      listenerSets: always.listenerSets.objects(),
      httpRoutes: always.httpRoutes.objects(),
      grpcRoutes: always.grpcRoutes.objects(),
      tlsRoutes: always.tlsRoutes.objects(),
      grants: always.grants.objects(),
      backendTlsPolicies: always.backendTlsPolicies.objects(),
      namespaces: ofGateways.namespaces.objects(),
      authorities: ofGateways.authorities.objects(),
    };
  }

  /** The status of an object; undefined if there is no such object. */
  status(resource: Resource<unknown>, key: string): SeenStatus | undefined {
    return Object.values(this.always)
      .find((store) => store.resource === resource)
      ?.status(key);
  }

  relist(): void {
    for (const store of [...Object.values(this.always), ...Object.values(this.ofGateways)]) store.relist();
  }

  /** Runs until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = () => this.gatewaysFound.resolve();
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    const runLater = async (store: ResourceStore<unknown>) => {
      await this.gatewaysFound.promise;
      await store.run(signal);
    };
    await Promise.all([
      ...Object.values(this.always).map((store) => store.run(signal)),
      ...Object.values(this.ofGateways).map((store) => runLater(store)),
    ]);
  }
}
