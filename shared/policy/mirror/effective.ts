import type { Condition } from '../../condition.ts';
import type { TransportSpec } from '../../upstreams/transport.ts';
import type { Address } from '../../values/address.ts';

type OneTarget = {
  readonly upstream: Address;
  readonly tls: boolean;
  readonly percent: number;
  readonly match?: Condition | undefined;
};
type Several<U> = {
  readonly upstreams: readonly U[];
  readonly tls: boolean;
  readonly transport?: TransportSpec | null | undefined;
  readonly fraction?: { readonly numerator: number; readonly denominator: number } | undefined;
  readonly match?: Condition | undefined;
};
export type EffectiveMirror<U> = {
  readonly mirror?: OneTarget | null | undefined;
  readonly mirrors?: readonly Several<U>[] | null | undefined;
};

/** Where copies of requests are sent, and what share of requests is copied. */
export type MirrorSpec<U> = Several<U> & { readonly fraction: { readonly numerator: number; readonly denominator: number } };

/** The mirrors of a site (`handle` null) or of one of its blocks, which replace those of its site. */
export function mirrorsIn<U>(
  route: EffectiveMirror<U>,
  handle: EffectiveMirror<U> | null,
): MirrorSpec<U | { readonly address: Address; readonly weight: number; readonly state: 'healthy' }>[] {
  const isOwn = handle !== null && (handle.mirror !== undefined || handle.mirrors !== undefined);
  const { mirror, mirrors } = isOwn ? handle : route;
  const one = mirror == null ? [] : [mirror];
  return [
    ...one.map(({ upstream, tls, percent, match }) => ({
      upstreams: [{ address: upstream, weight: 1, state: 'healthy' as const }],
      tls,
      fraction: { numerator: percent, denominator: 100 },
      match,
    })),
    ...(mirrors ?? []).map((spec) => ({ ...spec, fraction: spec.fraction ?? { numerator: 1, denominator: 1 } })),
  ];
}
