import { createSecureContext, type SecureContext } from 'node:tls';
import { type TransportSpec, transportName } from '../../../shared/transport.ts';

/** How a route's targets are connected to. */
export type Transport = {
  /** Equal for equal transports, different for different ones; empty for the default one. */
  readonly name: string;
  readonly http2: boolean;
  /** Whether any certificate is accepted. */
  readonly insecure: boolean;
  /** The trusted certificate authorities; null for the system's. Created on first use. */
  readonly authorities: () => SecureContext | null;
};

export const PLAIN: Transport = { name: '', http2: false, insecure: false, authorities: () => null };

/** The transport that a route configures. */
export function transportOf(spec: TransportSpec | null | undefined): Transport {
  const name = transportName(spec);
  if (spec == null || name === '') return PLAIN;
  const { protocol, ca, insecure = false } = spec;
  let context: SecureContext | null = null;
  const authorities = (): SecureContext | null => {
    if (ca !== undefined) context ??= createSecureContext({ ca });
    return context;
  };
  return { name, http2: protocol !== undefined, insecure, authorities };
}
