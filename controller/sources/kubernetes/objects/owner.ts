import type { UndatedProblem } from '../../source.ts';
import { type Meta, nameOf } from './meta.ts';

/** The name of this source in its routes. */
export const KUBERNETES_SOURCE = 'kubernetes';

/** An object that requests hosts. */
export type Owner = { readonly kind: 'ingress' | 'service' | 'gateway' | 'httproute' | 'grpcroute' | 'tlsroute'; readonly meta: Meta };

/** As shown: `ingress shop/web`. */
export const originOf = ({ kind, meta }: Owner): string => `${kind} ${nameOf(meta)}`;

export const problemOf = (owner: Owner, domain: string | null, code: string, message: string): UndatedProblem => ({
  source: KUBERNETES_SOURCE,
  origin: originOf(owner),
  domain,
  code,
  message,
});
