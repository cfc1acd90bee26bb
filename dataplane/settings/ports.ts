import { MAX_PORTS } from '../../shared/limits.ts';
import { NAME } from '../../shared/name.ts';
import { UsageError } from '../../shared/runtime/flags.ts';
import { splitAddress } from '../../shared/values/address.ts';
import type { TrafficSettings } from '../traffic/protocol.ts';

type PortSettings = {
  readonly httpPort: number;
  readonly httpsPort: number;
  readonly otherHttpPorts: readonly number[];
  readonly otherHttpsPorts: readonly number[];
  readonly proxyProtocolPorts: readonly number[];
};

/** The ports of a kind, the main one first. */
export const httpPorts = ({ httpPort, otherHttpPorts }: PortSettings): readonly number[] => [httpPort, ...otherHttpPorts];
export const httpsPorts = ({ httpsPort, otherHttpsPorts }: PortSettings): readonly number[] => [httpsPort, ...otherHttpsPorts];

export const allPorts = (settings: PortSettings): readonly number[] => [...httpPorts(settings), ...httpsPorts(settings)];

/** A port of the config file that can't be opened at the moment, and why. */
export type ClosedPort = { readonly port: number; readonly setting: 'http_port' | 'https_port'; readonly reason: string };

/** How often ports that can't be opened are tried again (ms). */
export const RETRY_PORTS_MS = 10_000;

/** `flag` as in `wantedPorts`. */
export const closedPort = (port: number, flag: string, reason: string): ClosedPort => ({
  port,
  setting: flag === '--http-port' ? 'http_port' : 'https_port',
  reason,
});

export const closedWarning = ({ port, setting, reason }: ClosedPort): string =>
  `${setting} ${port} is closed: ${reason}; it is tried again every ${RETRY_PORTS_MS / 1_000} s`;

/** The ports to listen on, each with the flag that names it. */
export function listenedPorts(settings: TrafficSettings): { port: number; flag: string }[] {
  return wantedPorts(settings).filter(({ port }) => !settings.closedPorts.includes(port));
}

/** The same with those that can't be opened at the moment. */
export function wantedPorts({ httpPort, otherHttpPorts, httpsPort, otherHttpsPorts }: TrafficSettings): { port: number; flag: string }[] {
  const secure = httpsPort === null ? [] : [httpsPort, ...otherHttpsPorts];
  return [
    ...[httpPort, ...otherHttpPorts].map((port) => ({ port, flag: '--http-port' })),
    ...secure.map((port) => ({ port, flag: '--https-port' })),
  ];
}

type OwnPlaces = { readonly bind: string | null; readonly adminListen: string; readonly probeListen: string | null };

/** Whether this process needs a port for itself: the Admin API and the probes are opened after the ports for traffic. */
export function ownUseOf({ bind, adminListen, probeListen }: OwnPlaces, port: number): string | null {
  const isAny = (host: string): boolean => ANY_ADDRESS.includes(host);
  const meets = (place: string | null): boolean => {
    if (place === null) return false;
    const own = splitAddress(place);
    return Number(own.port) === port && (bind === null || bind === own.host || isAny(bind) || isAny(own.host));
  };
  if (meets(adminListen)) return 'the Admin API listens there';
  return meets(probeListen) ? 'the probes listen there' : null;
}

const ANY_ADDRESS: readonly string[] = ['0.0.0.0', '::'];

/**
 * Why these ports can't be listened on together; null if they can. Sockets share ports, so the system would not refuse a port that is named
 * twice.
 */
export function portsProblem(settings: PortSettings): string | null {
  const [http, https] = [httpPorts(settings), httpsPorts(settings)];
  for (const [name, ports] of [['http_port', http] as const, ['https_port', https] as const])
    if (ports.length > MAX_PORTS) return `${name} has ${ports.length} ports, and ${MAX_PORTS} are the most`;
  const all = [...http, ...https];
  const twice = all.find((port, at) => all.indexOf(port) !== at);
  if (twice === undefined) return null;
  return http.includes(twice) && https.includes(twice)
    ? `${twice} is both an http_port and an https_port; choose another one for either`
    : `port ${twice} is named twice`;
}

/** @throws UsageError if the ports can't be listened on together. */
export function requireDistinctPorts(settings: PortSettings): void {
  const problem = portsProblem(settings);
  if (problem !== null) throw new UsageError(`${NAME} dataplane: ${problem}`);
}

/** The ports that should begin with a PROXY header and are not listened on. */
export function unusedProxyPorts(settings: PortSettings): readonly number[] {
  const all = allPorts(settings);
  return settings.proxyProtocolPorts.filter((port) => !all.includes(port));
}

/** As in the config file: a number, or several. */
export const portsValue = (ports: readonly number[]): number | readonly number[] => (ports.length === 1 ? (ports[0] as number) : ports);
