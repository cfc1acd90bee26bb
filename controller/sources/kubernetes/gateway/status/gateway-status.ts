import { isIP } from 'node:net';
import { GATEWAY_CONTROLLER } from '../../../../../shared/name.ts';
import { BACKEND_TLS_POLICIES } from '../../objects/backend-tls-policy.ts';
import { GATEWAY_CLASSES, GATEWAYS, type Gateway, type GatewayClass, LISTENER_SETS, type ListenerSet } from '../../objects/gateway.ts';
import { GATEWAY_GROUP } from '../../objects/object-ref.ts';
import { conditionsOf, type StatusCondition, type WantedCondition } from '../../status/conditions.ts';
import type { DesiredStatus, PublishedAddress } from '../../status/desired-status.ts';
import type { JudgedPolicy } from '../backend-policies.ts';
import type { OwnAddress } from '../gateway-addresses.ts';
import { type SharedHosts, withConflict } from '../hosts/lost-hosts.ts';
import type { BoundListener } from '../listeners.ts';
import { SUPPORTED_FEATURES } from './supported-features.ts';
import { conditionOf, fails, holds, type Verdict } from './verdict.ts';

/** The API server refuses a status with more of them. */
const [MAX_ADDRESSES, MAX_ANCESTORS] = [16, 16];

type Conditions = readonly StatusCondition[] | undefined;
type At = { readonly generation: number; readonly now: string };

export function classStatus({ meta, hasParameters }: GatewayClass): DesiredStatus {
  const accepted = hasParameters
    ? fails('InvalidParameters', 'parametersRef is not supported; the Gateways of this class are served without it')
    : holds('Accepted');
  return {
    resource: GATEWAY_CLASSES,
    meta,
    build: ({ current, now }) => ({
      conditions: conditionsOf(current.conditions as Conditions, [conditionOf('Accepted', accepted)], {
        generation: meta.generation,
        now,
      }),
      supportedFeatures: SUPPORTED_FEATURES.map((name) => ({ name })),
    }),
  };
}

/** The number of routes of each listener. */
export type AttachedCounts = ReadonlyMap<BoundListener, number>;

/** The types of addresses that a Gateway may request. */
const USABLE_TYPES = ['IPAddress', 'Hostname'];

export function gatewayStatus(
  gateway: Gateway,
  address: OwnAddress,
  listeners: readonly BoundListener[],
  attached: AttachedCounts,
  sets: number,
  shared: SharedHosts,
): DesiredStatus {
  const { meta } = gateway;
  const bound = listeners.filter(({ owner }) => owner.kind === 'Gateway');
  const own = bound.map((one) => withConflict(one, shared.conflicts));
  return {
    resource: GATEWAYS,
    meta,
    build: ({ current, addresses, now }) => {
      const at = { generation: meta.generation, now };
      const given = addressesOf(gateway, publishedFor(address, addresses ?? []));
      const accepted = gatewayAccepted(gateway, own);
      const conditions = [conditionOf('Accepted', accepted), conditionOf('Programmed', programmed(accepted, given)), ...insecure(gateway)];
      return {
        conditions: conditionsOf(current.conditions as Conditions, conditions, at),
        addresses: 'fault' in given ? [] : given.addresses.slice(0, MAX_ADDRESSES),
        listeners: listenerStatuses(bound, attached, current.listeners, at, false, shared),
        attachedListenerSets: sets,
      };
    },
  };
}

function gatewayAccepted({ addresses, hasParameters }: Gateway, listeners: readonly BoundListener[]): Verdict {
  const type = addresses.find((one) => !USABLE_TYPES.includes(one.type))?.type;
  if (type !== undefined)
    return fails('UnsupportedAddress', `addresses of the type ${type} are not supported: ${USABLE_TYPES.join(' and ')} are`);
  if (hasParameters) return fails('InvalidParameters', 'infrastructure.parametersRef is not supported');
  const bad = listeners.filter(({ accepted }) => !accepted.holds).map(({ listener }) => listener.name);
  if (bad.length === 0) return holds('Accepted');
  const message = `these listeners are not accepted: ${bad.join(', ')}`;
  return bad.length < listeners.length ? holds('ListenersNotValid', message) : fails('ListenersNotValid', message);
}

function programmed(accepted: Verdict, given: GivenAddresses): Verdict {
  if (!accepted.holds) return fails('Invalid', accepted.message);
  if ('fault' in given) return given.fault;
  return holds('Programmed');
}

/** What the API requires as a warning while client certificates are optional, at whichever port. */
function insecure({ clientValidation, clientValidationByPort }: Gateway): WantedCondition[] {
  const optional = [...clientValidationByPort].filter(([, one]) => one?.isOptional).map(([port]) => `port ${port}`);
  const where = clientValidation?.isOptional ? ['tls.frontend.default', ...optional] : optional;
  if (where.length === 0) return [];
  const message = `AllowInsecureFallback (${where.join(', ')}): connections without a client certificate are accepted, and none is requested`;
  return [conditionOf('InsecureFrontendValidationMode', holds('ConfigurationChanged', message))];
}

type GivenAddresses = { readonly addresses: readonly { readonly type: string; readonly value: string }[] } | { readonly fault: Verdict };

/** The published addresses that a Gateway gets: the ones that it requests, or all. */
function addressesOf(gateway: Gateway, published: readonly PublishedAddress[]): GivenAddresses {
  const all = published.map(({ kind, value }) => ({ type: kind === 'ip' ? 'IPAddress' : 'Hostname', value }));
  if (gateway.addresses.length === 0) {
    if (all.length > 0) return { addresses: all };
    return { fault: fails('AddressNotAssigned', 'no address is known where it is served: set --publish-address or --publish-service') };
  }
  const found = gateway.addresses.flatMap(({ type, value }) => {
    const match = all.find((one) => one.type === type && (value === '' || sameAddress(one.value, value)));
    return match ? [match] : [];
  });
  if (found.length === gateway.addresses.length) return { addresses: found };
  const missing = gateway.addresses.map(({ value }) => value).filter((value) => !all.some((one) => sameAddress(one.value, value)));
  return {
    fault: fails(
      'AddressNotUsable',
      `not an address of this proxy: ${missing.join(', ')}; it has ${all.map(({ value }) => value).join(', ') || 'none'}`,
    ),
  };
}

/** The published addresses that a Gateway may have. */
function publishedFor(address: OwnAddress, published: readonly PublishedAddress[]): readonly PublishedAddress[] {
  return address.kind === 'one' ? published.filter(({ value }) => value === address.address) : published;
}

const sameAddress = (a: string, b: string): boolean => (isIP(a) === 0 ? a.toLowerCase() === b.toLowerCase() : a === b);

export function listenerSetStatus(
  set: ListenerSet,
  listeners: readonly BoundListener[],
  attached: AttachedCounts,
  isAllowed: boolean,
  shared: SharedHosts,
): DesiredStatus {
  const { meta } = set;
  return {
    resource: LISTENER_SETS,
    meta,
    build: ({ current, now }) => {
      const at = { generation: meta.generation, now };
      const verdict = setVerdict(
        listeners.map((one) => withConflict(one, shared.conflicts)),
        isAllowed,
      );
      const shown = verdict.holds ? holds('Programmed') : verdict;
      return {
        conditions: conditionsOf(
          current.conditions as Conditions,
          [conditionOf('Accepted', verdict), conditionOf('Programmed', shown)],
          at,
        ),
        listeners: listenerStatuses(listeners, attached, current.listeners, at, true, shared),
      };
    },
  };
}

function setVerdict(listeners: readonly BoundListener[], isAllowed: boolean): Verdict {
  if (!isAllowed) return fails('NotAllowed', 'the Gateway does not allow listeners of this namespace: see its allowedListeners');
  if (!listeners.some(({ isServed }) => isServed)) return fails('ListenersNotValid', 'none of its listeners can be served');
  return holds('Accepted');
}

function listenerStatuses(
  listeners: readonly BoundListener[],
  attached: AttachedCounts,
  current: unknown,
  at: At,
  tellsConflicts: boolean,
  shared: SharedHosts,
): object[] {
  const before = new Map(
    ((current as readonly { readonly name: string; readonly conditions?: Conditions }[] | undefined) ?? []).map((one) => [
      one.name,
      one.conditions,
    ]),
  );
  return listeners.map((bound) => ({
    name: bound.listener.name,
    supportedKinds: bound.kinds.map((kind) => ({ group: GATEWAY_GROUP, kind })),
    attachedRoutes: attached.get(bound) ?? 0,
    conditions: conditionsOf(
      before.get(bound.listener.name),
      [...listenerConditions(withConflict(bound, shared.conflicts), tellsConflicts), ...overlap(shared.overlaps.get(bound))],
      at,
    ),
  }));
}

function listenerConditions({ accepted, resolved, conflict, isServed }: BoundListener, tellsConflicts: boolean): WantedCondition[] {
  const served = isServed ? holds('Programmed') : (conflict ?? fails('Invalid', accepted.holds ? resolved.message : accepted.message));
  const conflicted: WantedCondition[] = conflict
    ? [{ type: 'Conflicted', status: 'True', reason: conflict.reason, message: conflict.message }]
    : tellsConflicts
      ? [{ type: 'Conflicted', status: 'False', reason: 'NoConflicts', message: '' }]
      : [];
  return [conditionOf('Accepted', accepted), conditionOf('Programmed', served), conditionOf('ResolvedRefs', resolved), ...conflicted];
}

const overlap = (why: string | undefined): WantedCondition[] =>
  why === undefined ? [] : [conditionOf('OverlappingTLSConfig', holds('OverlappingHostnames', why))];

type AncestorStatus = { readonly ancestorRef: object; readonly controllerName: string; readonly conditions: readonly StatusCondition[] };

/** The status of a policy for each Gateway whose routes use its Services. */
export function policyStatus({ policy, accepted, resolved }: JudgedPolicy, gateways: readonly Gateway[]): DesiredStatus {
  const { meta } = policy;
  const refs = gateways.map(({ meta: { namespace, name } }) => ({ group: GATEWAY_GROUP, kind: 'Gateway', namespace, name }));
  return {
    resource: BACKEND_TLS_POLICIES,
    meta,
    build: ({ current, now }) => {
      const before = (current.ancestors as readonly AncestorStatus[] | undefined) ?? [];
      const ours = new Map(
        before.filter(({ controllerName }) => controllerName === GATEWAY_CONTROLLER).map((one) => [JSON.stringify(one.ancestorRef), one]),
      );
      if (refs.length === 0 && ours.size === 0) return undefined;
      const conditions = [conditionOf('Accepted', accepted), conditionOf('ResolvedRefs', resolved)];
      const others = before.filter(({ controllerName }) => controllerName !== GATEWAY_CONTROLLER);
      return {
        ancestors: [
          ...others,
          ...refs.slice(0, Math.max(0, MAX_ANCESTORS - others.length)).map((ancestorRef) => ({
            ancestorRef,
            controllerName: GATEWAY_CONTROLLER,
            conditions: conditionsOf(ours.get(JSON.stringify(ancestorRef))?.conditions, conditions, { generation: meta.generation, now }),
          })),
        ],
      };
    },
  };
}
