import type { RouteSpec } from '../../../../shared/route.ts';
import type { Globals } from '../../../../shared/settings.ts';
import type { DirectiveReader } from '../../directive-reader.ts';
import type { SourceCertificate, UndatedProblem } from '../../source.ts';
import type { UndatedReading } from '../../transition-times.ts';
import type { Refusal } from '../events/refusal.ts';
import type { GatewaySnapshot } from '../gateway/gateway-snapshot.ts';
import type { PortMap } from '../gateway/port-map.ts';
import type { HtpasswdSecret } from '../objects/htpasswd-secret.ts';
import type { Ingress, IngressClass } from '../objects/ingress.ts';
import type { EndpointSlice, Service } from '../objects/service.ts';
import type { DesiredStatus } from '../status/desired-status.ts';

/** Everything that the routes of a cluster are built from: the same snapshot gives the same routes. By `NAMESPACE/NAME`. */
export type ClusterSnapshot = GatewaySnapshot & {
  /** The name of the class whose Ingresses are served. */
  readonly ingressClass: string;
  readonly ingresses: ReadonlyMap<string, Ingress>;
  readonly classes: ReadonlyMap<string, IngressClass>;
  readonly services: ReadonlyMap<string, Service>;
  readonly slices: ReadonlyMap<string, EndpointSlice>;
  /** Secrets with users, for basic authentication. */
  readonly users: ReadonlyMap<string, HtpasswdSecret>;
  /** For annotations that hold directives. */
  readonly readDirective: DirectiveReader;
  /** Which ports of the data plane belong to the ports of listeners. */
  readonly portMap: PortMap;
  /** Ingresses as they were when their annotations were last valid, by uid. */
  readonly lastGood: ReadonlyMap<string, Ingress>;
};

export type ClusterTranslation = {
  /** Sorted by domain, each with source and origin. */
  readonly routes: readonly RouteSpec[];
  readonly certificates: readonly SourceCertificate[];
  readonly settings: Globals | null;
  readonly problems: readonly UndatedProblem[];
  readonly readings: readonly UndatedReading[];
  /** The statuses that the leader writes once the data planes serve the routes, one for each object that may need one. */
  readonly statuses: readonly DesiredStatus[];
  /** Reported as Events of the objects concerned, once the data planes serve the routes. */
  readonly refusals: readonly Refusal[];
  readonly lastGood: ReadonlyMap<string, Ingress>;
};
