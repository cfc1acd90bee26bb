import { gateway, type Host, ingress, route, type Sample } from './shared-world.ts';

/** The same numbers for the same seed. */
export type Numbers = {
  readonly below: (count: number) => number;
  readonly pick: <T>(list: readonly T[]) => T;
  readonly isChance: (share: number) => boolean;
};

/** A multiplicative generator whose high bits are good enough to choose by. */
export function numbersOf(seed: number): Numbers {
  let state = BigInt(seed) + 1n;
  const fraction = (): number => {
    state = (state * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n) % 2n ** 64n;
    return Number(state >> 32n) / 2 ** 32;
  };
  const below = (count: number): number => Math.floor(fraction() * count);
  for (let n = 0; n < 4; n++) fraction();
  return { below, pick: (list) => list[below(list.length)] as (typeof list)[number], isChance: (share) => fraction() < share };
}

const HOSTS: readonly Host[] = ['*', '*.test', 'a.test', 'a.test'];

/** Which kinds of objects there are. */
export type WorldOptions = { readonly requiring: number; readonly isPassing: boolean };

/** Objects of these namespaces, younger than those before them. */
export function randomObjects(
  numbers: Numbers,
  namespaces: readonly string[],
  count: number,
  before: readonly Sample[],
  options: WorldOptions,
): Sample[] {
  const made: Sample[] = [];
  for (let n = 0; n < count; n++) {
    const all = [...before, ...made];
    const one = randomObject(numbers, `${numbers.pick(namespaces)}/o${all.length}`, all, options);
    if (one !== null) made.push(one);
  }
  return made;
}

function randomObject(numbers: Numbers, name: string, before: readonly Sample[], options: WorldOptions): Sample | null {
  const kind = numbers.below(10);
  if (kind < 4) return randomGateway(numbers, name, options);
  const host = numbers.pick(HOSTS);
  if (kind < 6) return ingress(name, host, numbers.isChance(0.4) ? 'tls' : 'plain');
  const gateways = before.filter((one) => one.kind === 'gateways');
  if (gateways.length === 0) return null;
  const parent = `${numbers.pick(gateways).object.name}${numbers.isChance(0.3) ? '#0' : ''}`;
  return route(options.isPassing && kind === 9 ? 'tlsRoutes' : 'httpRoutes', name, host, parent);
}

function randomGateway(numbers: Numbers, name: string, { requiring, isPassing }: WorldOptions): Sample {
  const listeners = new Map<string, string>();
  for (let n = numbers.below(2); n >= 0; n--) {
    const protocol = numbers.pick(isPassing ? ['HTTP', 'HTTPS', 'HTTPS', 'TLS'] : ['HTTP', 'HTTPS', 'HTTPS']);
    const place = `${numbers.pick(protocol === 'HTTP' ? [80, 80, 8_080] : [443, 443, 8_443])} ${numbers.pick(HOSTS)}`;
    listeners.set(place, `${protocol}:${place}${numbers.isChance(0.2) ? ' Same' : ''}`);
  }
  return gateway(name, [...listeners.values()], numbers.isChance(requiring) ? numbers.pick(['always', 443, 8_443] as const) : undefined);
}
