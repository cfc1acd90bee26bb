import type { Log } from '../../../shared/runtime/log/log.ts';
import { type ConnectionRefusal, type Connections, connectionKey, UNCOUNTED } from '../../ledger/connections.ts';
import type { TrafficSettings } from '../protocol.ts';

const MESSAGES: Readonly<Record<ConnectionRefusal, string>> = {
  limit: 'connections are refused: as many are open as max_connections allows',
  address_limit: 'connections are refused: one address has as many open as max_connections_per_address allows',
  untrusted_proxy: 'connections are refused: with --proxy-protocol they may come from trusted proxies only',
  proxy_header: 'connections are refused: they do not begin with a valid PROXY header within 5 s',
  descriptors: 'connections are refused: the file descriptors are used up; raise the limit of open files (ulimit -n)',
};

/** The connection limits of the latest settings. */
export type AdmissionLimits = Pick<TrafficSettings, 'maxConnections' | 'maxConnectionsPerAddress' | 'maxSockets'>;

export type AdmissionTools = {
  readonly connections: Connections;
  /** This worker's column. */
  readonly slot: number;
  /** Milliseconds since 1970. */
  now(): number;
  readonly log: Log;
};

/** Admits connections within the limits. An admitted connection is counted until it leaves. */
export class Admission {
  private readonly tools: AdmissionTools;
  private limits: AdmissionLimits = { maxConnections: 0, maxConnectionsPerAddress: 0, maxSockets: 0 };

  constructor(tools: AdmissionTools) {
    this.tools = tools;
  }

  apply(limits: AdmissionLimits): void {
    this.limits = limits;
  }

  /** Counts a connection that has been accepted. @returns whether it may stay. */
  enter(address: string): boolean {
    const { connections, slot } = this.tools;
    const refusal = connections.enter(slot, this.limits);
    if (refusal !== null) this.refused(refusal, address, null);
    return refusal === null;
  }

  /** Counts it for the client's address as well. @returns the place to pass to `leave`; null if the address is at its limit. */
  enterAddress(address: string): number | null {
    const { connections, slot, now } = this.tools;
    const place = connections.enterAddress(connectionKey(address), slot, this.limits.maxConnectionsPerAddress, now());
    if (place === null) this.refused('address_limit', address, null);
    return place;
  }

  /** The connection is gone; `place` is the result of `enterAddress`, or UNCOUNTED. */
  leave(place: number): void {
    const { connections, slot } = this.tools;
    connections.leave(slot);
    if (place !== UNCOUNTED) connections.leaveAddress(place, slot);
  }

  /** Counts one more connection to an upstream. @returns whether descriptors allow it. */
  enterUpstream(): boolean {
    return this.tools.connections.enterUpstream(this.tools.slot, this.limits.maxSockets);
  }

  leaveUpstream(): void {
    this.tools.connections.leaveUpstream(this.tools.slot);
  }

  /** Whether more than half of the descriptors are in use. */
  get isScarce(): boolean {
    return this.tools.connections.sockets() * 2 > this.limits.maxSockets;
  }

  /** Counts one more file that is being sent. @returns whether descriptors allow it. */
  enterFile(): boolean {
    return this.tools.connections.enterFile(this.tools.slot, this.limits.maxSockets);
  }

  leaveFile(): void {
    this.tools.connections.leaveFile(this.tools.slot);
  }

  /** Counts a refusal and logs at most once a minute. */
  refused(refusal: ConnectionRefusal, address: string, detail: string | null): void {
    const { connections, now, log } = this.tools;
    if (connections.refused(refusal, now())) log.warn({ address, refusal, ...(detail !== null && { detail }) }, MESSAGES[refusal]);
  }
}
