import { MAX_PORTS } from '../../../../shared/limits.ts';
import { DEFAULT_HTTP_PORT, DEFAULT_HTTPS_PORT, type Globals } from '../../../../shared/settings.ts';
import { byAge } from '../objects/meta.ts';
import type { BoundListener } from './listeners.ts';
import { mapPort, type PortMap } from './port-map.ts';
import { fails } from './status/verdict.ts';

/**
 * The ports that the data plane has to open for listeners besides its usual ones. They are opened unless flags of the data plane specify
 * its ports. There is room for some only: those of Gateways come first, then those of ListenerSets, the oldest first.
 */
export function portSettings(listeners: readonly BoundListener[], map: PortMap): Globals {
  const [http, https] = [httpPorts(listeners, map), httpsPorts(listeners, map)];
  return { ...(http.length > 1 && { http_port: http }), ...(https.length > 1 && { https_port: https }) };
}

/**
 * Refuses the listeners whose port can't be opened for them: a port is for HTTP or for TLS, whichever the first of its listeners needs, and a
 * route for more ports than there may be would be no valid route.
 */
export function withRoomForPorts<Part extends { readonly listeners: readonly BoundListener[] }>(
  parts: readonly Part[],
  map: PortMap,
): Part[] {
  const one = withOneProtocol(
    parts.flatMap(({ listeners }) => listeners),
    map,
  );
  const listeners = [...one.values()];
  const [http, https] = [new Set(httpPorts(listeners, map)), new Set(httpsPorts(listeners, map))];
  const limited = (bound: BoundListener): BoundListener => {
    const { isServed, listener } = bound;
    if (!isServed || (isHttp(bound) ? http : https).has(mapPort(map, listener.port))) return bound;
    const message = `the port ${listener.port} can't be opened: there may be ${MAX_PORTS}, which other listeners have`;
    return { ...bound, isServed: false, accepted: fails('PortUnavailable', message) };
  };
  return parts.map((part) => ({ ...part, listeners: part.listeners.map((bound) => limited(one.get(bound) ?? bound)) }));
}

/** The usual ports are always open for what they are for. */
function withOneProtocol(listeners: readonly BoundListener[], map: PortMap): Map<BoundListener, BoundListener> {
  const taken = new Map([
    [mapPort(map, DEFAULT_HTTP_PORT), true],
    [mapPort(map, DEFAULT_HTTPS_PORT), false],
  ]);
  const refused = new Set<BoundListener>();
  for (const bound of listeners.filter(({ isServed }) => isServed).sort(byPrecedence)) {
    const port = mapPort(map, bound.listener.port);
    if (!taken.has(port)) taken.set(port, isHttp(bound));
    if (taken.get(port) !== isHttp(bound)) refused.add(bound);
  }
  return new Map(
    listeners.map((bound) => {
      if (!refused.has(bound)) return [bound, bound];
      const { port, protocol } = bound.listener;
      const verdict = fails(
        'ProtocolConflict',
        `the port ${port} is open for ${protocol === 'HTTP' ? 'TLS' : 'HTTP'}, and not for ${protocol}`,
      );
      return [bound, { ...bound, isServed: false, accepted: verdict, conflict: verdict }];
    }),
  );
}

const isHttp = ({ listener }: BoundListener): boolean => listener.protocol === 'HTTP';
const httpPorts = (listeners: readonly BoundListener[], map: PortMap) => portsFor(listeners, map, DEFAULT_HTTP_PORT, isHttp);
const httpsPorts = (listeners: readonly BoundListener[], map: PortMap) =>
  portsFor(listeners, map, DEFAULT_HTTPS_PORT, (bound) => !isHttp(bound));

function portsFor(listeners: readonly BoundListener[], map: PortMap, usual: number, isOfKind: (bound: BoundListener) => boolean): number[] {
  const served = listeners.filter((bound) => bound.isServed && isOfKind(bound)).sort(byPrecedence);
  const ports = served.map(({ listener }) => mapPort(map, listener.port));
  const main = mapPort(map, usual);
  const others = [...new Set(ports)].filter((port) => port !== main).slice(0, MAX_PORTS - 1);
  return [main, ...others.sort((a, b) => a - b)];
}

const byPrecedence = ({ owner: a }: BoundListener, { owner: b }: BoundListener): number =>
  Number(a.kind === 'ListenerSet') - Number(b.kind === 'ListenerSet') || byAge(a, b);
