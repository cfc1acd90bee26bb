import type { BoundListener } from '../listeners.ts';
import { coveringNames, type Hostname } from './hostnames.ts';

/**
 * Which listeners of a Gateway have hosts that another one on their port has too, and why that matters. Requests are answered by the listener
 * of their host on any connection, or with 421.
 */
export function tlsOverlaps(listeners: readonly BoundListener[]): Map<BoundListener, string> {
  const found = new Map<BoundListener, string>();
  const note = (bound: BoundListener, { listener: { name, port } }: BoundListener): void => {
    if (found.has(bound)) return;
    const why = `the listener ${name} on port ${port} has some of its hosts too: clients may use a connection to one of them for the other`;
    found.set(bound, why);
  };
  const secure = listeners.filter(({ isServed, listener }) => isServed && listener.protocol !== 'HTTP');
  for (const onPort of Map.groupBy(secure, ({ listener }) => listener.port).values()) {
    const byName = new Map<Hostname, BoundListener>(onPort.map((bound) => [bound.listener.hostname, bound]));
    for (const bound of onPort) {
      const wider = coveringNames(bound.listener.hostname).slice(1);
      const other = wider.map((name) => byName.get(name)).find((one) => one !== undefined);
      if (other === undefined) continue;
      note(bound, other);
      note(other, bound);
    }
  }
  return found;
}
