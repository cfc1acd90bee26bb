import type { SecureContext } from 'node:tls';
import { tls } from '../../../../shared/runtime/node-on-demand.ts';
import { type TransportSpec, transportName } from '../../../../shared/upstreams/transport.ts';

/** How a route's targets are connected to. */
export type Transport = {
  /** Equal for equal transports, different for different ones; empty for the default one. */
  readonly name: string;
  readonly http2: boolean;
  /** Whether any certificate is accepted. */
  readonly insecure: boolean;
  /** The trusted certificate authorities and the certificate of the proxy; null for the system's and none. Created on first use. */
  readonly secureContext: () => SecureContext | null;
};

export const PLAIN: Transport = { name: '', http2: false, insecure: false, secureContext: () => null };

/** The transport that a route configures. */
export function transportOf(spec: TransportSpec | null | undefined): Transport {
  const name = transportName(spec);
  if (spec == null || name === '') return PLAIN;
  const { protocol, ca, insecure = false, client_certificate: own } = spec;
  let context: SecureContext | null = null;
  const secureContext = (): SecureContext | null => {
    if (ca === undefined && own === undefined) return null;
    context ??= tls().createSecureContext({ ...(ca !== undefined && { ca }), ...(own && { cert: own.certificate, key: own.private_key }) });
    return context;
  };
  return { name, http2: protocol !== undefined, insecure, secureContext };
}
