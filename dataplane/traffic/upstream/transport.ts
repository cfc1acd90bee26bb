import { createSecureContext, type SecureContext } from 'node:tls';
import { type TransportSpec, transportName } from '../../../shared/transport.ts';

/** What a route says about how its targets are spoken to. */
export type Manner = {
  /** The same for the same manner, another for any other; empty for none in particular. */
  readonly name: string;
  readonly http2: boolean;
  /** Whether the certificate may be anybody's. */
  readonly insecure: boolean;
  /** Who vouches for the certificate; null for those whom the system trusts. Made when it is first asked for. */
  readonly authorities: () => SecureContext | null;
};

export const PLAIN: Manner = { name: '', http2: false, insecure: false, authorities: () => null };

/** The manner that a route asks for. */
export function mannerOf(transport: TransportSpec | null | undefined): Manner {
  const name = transportName(transport);
  if (transport == null || name === '') return PLAIN;
  const { protocol, ca, insecure = false } = transport;
  let context: SecureContext | null = null;
  const authorities = (): SecureContext | null => {
    if (ca !== undefined) context ??= createSecureContext({ ca });
    return context;
  };
  return { name, http2: protocol !== undefined, insecure, authorities };
}
