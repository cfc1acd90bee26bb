import { createSecureContext, type SecureContext } from 'node:tls';
import { type TransportSpec, transportName } from '../../../shared/transport.ts';

/** What a route says about how its targets are spoken to. */
export type Transport = {
  /** Equal for equal transports, different for different ones; empty for the usual one. */
  readonly name: string;
  readonly http2: boolean;
  /** Whether the certificate may be anybody's. */
  readonly insecure: boolean;
  /** Who vouches for the certificate; null for those whom the system trusts. Made when it is first asked for. */
  readonly authorities: () => SecureContext | null;
};

export const PLAIN: Transport = { name: '', http2: false, insecure: false, authorities: () => null };

/** The transport that a route asks for. */
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
