import { LABEL_PREFIX } from '../../../shared/name.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { splitAddress } from '../../../shared/values/address.ts';
import { isLoopback } from '../../../shared/values/loopback.ts';
import type { TargetReport } from '../../../shared/wire/apply.ts';
import type { ObjectCondition, Reading } from '../source.ts';

/** How many unavailable targets are remembered; the oldest is forgotten first. */
const MAX_TARGETS = 10_000;

/** The health of containers' addresses as reported by data planes, which alone know whether an app listens. */
export class TargetHealth {
  private readonly clock: Clock;
  private readonly down = new Map<string, ObjectCondition>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Only targets with an id are containers. */
  record({ address, id, healthy, reason }: TargetReport): void {
    if (id === undefined) return;
    const key = `${id} ${address}`;
    if (healthy) this.down.delete(key);
    else this.down.set(key, { holds: false, reason, since: this.down.get(key)?.since ?? new Date(this.clock.now()).toISOString() });
    const [oldest] = this.down.size > MAX_TARGETS ? this.down.keys() : [];
    if (oldest !== undefined) this.down.delete(oldest);
  }

  /** The reading with the reported health: an address that does not respond is not available. */
  applyTo(reading: Reading): Reading {
    const down = this.down.get(`${reading.id} ${reading.address}`);
    if (!down || !reading.resolved.holds) return reading;
    return { ...reading, resolved: down, change: reading.change ?? changeOf(reading, down.reason) };
  }
}

/** Since its start, no connection was accepted. */
const NEVER_ACCEPTED = /^not (?:probed|checked) yet: .*refused/;

/** Since its start, nothing has responded at its address at all, not even its system. */
const NEVER_REACHED = /^not (?:probed|checked) yet: .*(?:no connection within|cannot be reached)/;

/** Many apps listen on a loopback address by default, which is that of their container. */
function changeOf({ address, section }: Reading, reason: string): string {
  const prefix = `${LABEL_PREFIX}${section === null ? '' : `${section}.`}`;
  if (NEVER_REACHED.test(reason))
    return `let it through the firewall, or if the data plane does not reach its network, as one of macvlan on the same machine, connect it to another and name that with ${prefix}network=NETWORK`;
  if (!NEVER_ACCEPTED.test(reason)) return 'make it respond again';
  const { host, port } = splitAddress(address ?? '');
  const isIPv6 = host.includes(':');
  const where = isLoopback(host) ? `port ${port}` : `${isIPv6 ? '[::]' : '0.0.0.0'}:${port}, not only on ${isIPv6 ? '[::1]' : '127.0.0.1'}`;
  return `make the app listen on ${where}, or name the port that it listens on with ${prefix}port=PORT`;
}
