import type { Exchange } from '../exchange/exchange.ts';

/** Where connections arrive. */
export type Place = {
  /** null for all. */
  readonly ports: readonly number[] | null;
  /** Addresses of this machine; null for all. */
  readonly localIps: readonly string[] | null;
};

/** The address costs a system call, so it is asked for only where it matters; null stands for any. */
export const isAt = ({ ports, localIps }: Place, port: number, address: (() => string) | null): boolean =>
  (ports === null || ports.includes(port)) && (localIps === null || address === null || localIps.includes(address()));

/** An IPv4 address without what a socket that is open to IPv6 puts before it (RFC 4291 2.5.5.2). */
export const localAddressOf = (x: Exchange): string =>
  (x.client.facts().connection.local?.localAddress ?? '').replace(/^::ffff:(?=.*\.)/, '');
