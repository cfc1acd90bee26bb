import { MAX_PORTS } from '../../shared/limits.ts';
import { NAME } from '../../shared/name.ts';
import { UsageError } from '../../shared/runtime/flags.ts';
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

/** The ports to listen on, each with the flag that names it. */
export function listenedPorts({ httpPort, otherHttpPorts, httpsPort, otherHttpsPorts }: TrafficSettings): { port: number; flag: string }[] {
  const secure = httpsPort === null ? [] : [httpsPort, ...otherHttpsPorts];
  return [
    ...[httpPort, ...otherHttpPorts].map((port) => ({ port, flag: '--http-port' })),
    ...secure.map((port) => ({ port, flag: '--https-port' })),
  ];
}

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
  const all = [...httpPorts(settings), ...httpsPorts(settings)];
  return settings.proxyProtocolPorts.filter((port) => !all.includes(port));
}

/** As in the config file: a number, or several. */
export const portsValue = (ports: readonly number[]): number | readonly number[] => (ports.length === 1 ? (ports[0] as number) : ports);
