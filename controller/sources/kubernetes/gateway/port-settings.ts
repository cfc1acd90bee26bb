import { MAX_PORTS } from '../../../../shared/limits.ts';
import { DEFAULT_HTTP_PORT, DEFAULT_HTTPS_PORT, type Globals } from '../../../../shared/settings.ts';
import type { BoundListener } from './listeners.ts';
import { mapPort, type PortMap } from './port-map.ts';

/**
 * The ports that the data plane has to open for listeners besides its usual ones. They are opened unless flags of the data plane specify
 * its ports.
 */
export function portSettings(listeners: readonly BoundListener[], map: PortMap): Globals {
  const http = portsFor(listeners, map, DEFAULT_HTTP_PORT, ({ listener }) => listener.protocol === 'HTTP');
  const https = portsFor(listeners, map, DEFAULT_HTTPS_PORT, ({ listener }) => listener.protocol !== 'HTTP');
  return { ...(http.length > 1 && { http_port: http }), ...(https.length > 1 && { https_port: https }) };
}

function portsFor(listeners: readonly BoundListener[], map: PortMap, usual: number, isOfKind: (bound: BoundListener) => boolean): number[] {
  const ports = listeners.filter((bound) => bound.isServed && isOfKind(bound)).map(({ listener }) => mapPort(map, listener.port));
  const main = mapPort(map, usual);
  const others = [...new Set(ports)].filter((port) => port !== main).sort((a, b) => a - b);
  return [main, ...others].slice(0, MAX_PORTS);
}
