// Runs alone: it makes the functions of every module throw, for every caller.
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { MixedTraffic } from '../testing/mixed-traffic.ts';
import { eventually } from '../testing/test-proxy.ts';

/**
 * Methods outside of every exchange and connection: the worker applies a publication or reports an exception. Also single subtractions in
 * the ledger, which are the cleanup itself.
 */
const EXEMPT = new Set([
  'Faults',
  'TrafficWorker',
  'HostIndex.apply',
  'HostIndex.applyInPlace',
  'HostIndex.isLarge',
  'HostIndex.prepareAll',
  'HostIndex.prepared',
  'HostIndex.note',
  'HostIndex.replaced',
  'PackedEntry.contains',
  'PackedEntry.size',
  'Certificates.apply',
  'KeySets.apply',
  'Admission.leave',
  'Admission.leaveUpstream',
  'Endpoint.end',
  'Endpoint.release',
]);
/** The whole traffic path. */
const TRAFFIC = join(import.meta.dirname, '..');

/** Methods of the guards, which never throw. */
const PROMISED = new Set(['constructor', 'onFault']);

/** Exceptions per pass of traffic. */
const PER_ROUND = 5;
/** What `MixedTraffic.fresh` returns if everything works. */
const ALL_SERVED = Array.from({ length: 8 }, () => 200);

type FaultPoint = {
  readonly name: string;
  readonly area: string;
  readonly owner: object;
  readonly key: string;
  readonly original: PropertyDescriptor;
};

/**
 * Only one place of an area throws in a pass: a second exception would hit the cleanup after the first, which need not survive that. The
 * cache and the exchanges that it creates clean up after each other, and the codec cleans up what it reads and writes with.
 */
const areaOf = (file: string, owner: string): string =>
  owner === 'InternalExchange' || file.startsWith('respond/cache/') ? 'cache' : (file.replace(/^io\//, 'codec/').split('/')[0] as string);

/** Every method and getter of every class on the traffic path. */
async function places(): Promise<FaultPoint[]> {
  const files = globSync('**/*.ts', { cwd: TRAFFIC }).filter((file) => !/\.test\.ts$|^testing\/|^worker\/worker\.ts$|oracle\//.test(file));
  const found: FaultPoint[] = [];
  for (const file of files.toSorted()) {
    const exports: Record<string, unknown> = await import(`../${file}`);
    for (const value of Object.values(exports)) {
      if (typeof value !== 'function' || typeof value.prototype !== 'object' || EXEMPT.has(value.name)) continue;
      const owner: object = value.prototype;
      for (const [key, original] of Object.entries(Object.getOwnPropertyDescriptors(owner))) {
        const name = `${value.name}.${key}`;
        if (!PROMISED.has(key) && !EXEMPT.has(name)) found.push({ name, area: areaOf(file, value.name), owner, key, original });
      }
    }
  }
  return found;
}

/** Replaces a method or getter by one that reports each call before it runs. @returns a function that restores the original. */
function intercept({ owner, key, original }: FaultPoint, called: () => void): () => void {
  const { value, get } = original;
  const replaced: PropertyDescriptor = { ...original };
  if (typeof value === 'function')
    replaced.value = function (this: unknown, ...values: unknown[]): unknown {
      called();
      return Reflect.apply(value, this, values);
    };
  else if (get !== undefined)
    replaced.get = function (this: unknown): unknown {
      called();
      return Reflect.apply(get, this, []);
    };
  Object.defineProperty(owner, key, replaced);
  return () => void Object.defineProperty(owner, key, original);
}

let traffic: MixedTraffic;
let all: readonly FaultPoint[];
before(async () => {
  all = await places();
  traffic = await MixedTraffic.start();
});
after(() => traffic[Symbol.dispose]());

/** The number of exceptions counted since the last call. */
function faults(): number {
  let count = 0;
  for (const proxy of [traffic.secure.proxy, traffic.behindProxy]) {
    proxy.counted();
    for (const message of proxy.messages.splice(0))
      if (message.kind === 'report') for (const [, some] of message.report.faults ?? []) count += some;
  }
  return count;
}

/** Waits until nothing is counted as in flight or open any more. */
async function quiet(after: string): Promise<void> {
  const ledgers = [traffic.secure.proxy.ledger, traffic.behindProxy.ledger];
  const met = () => ledgers.every(({ inFlight, connections }) => inFlight.total() === 0 && connections.open() === 0);
  await eventually(`all exchanges and connections to end after an exception in ${after}`, () => {
    if (met()) return true;
    traffic.passTime(1_000);
    return met();
  });
}

/** How often each place is called in a pass without exceptions. */
async function calls(): Promise<Map<FaultPoint, number>> {
  const counts = new Map<FaultPoint, number>();
  const undo = all.map((place) => intercept(place, () => void counts.set(place, (counts.get(place) ?? 0) + 1)));
  await traffic.pass();
  for (const one of undo) one();
  assert.equal(faults(), 0);
  return counts;
}

type Throw = { readonly place: FaultPoint; readonly nth: number };

/** Passes traffic while each of these places throws once. @returns those that did. */
async function withThrows(throws: readonly Throw[]): Promise<Throw[]> {
  const thrown: Throw[] = [];
  const undo = throws.map((one) => {
    let left = one.nth;
    return intercept(one.place, () => {
      if (--left !== 0) return;
      thrown.push(one);
      throw new Error(`thrown by the test in ${one.place.name}`);
    });
  });
  try {
    await traffic.pass();
  } catch (error) {
    throw new Error(`after an exception in ${nameThem(thrown)}`, { cause: error });
  } finally {
    for (const one of undo) one();
  }
  return thrown;
}

const nameThem = (throws: readonly Throw[]): string => throws.map(({ place, nth }) => `${place.name} (call ${nth})`).join(', ');

/** Rounds of at most PER_ROUND places, each from a different area; areas with the most places left come first. */
function divided(due: readonly Throw[]): Throw[][] {
  const areas = [...Map.groupBy(due, ({ place }) => place.area).values()];
  const rounds: Throw[][] = [];
  while (areas.some((area) => area.length > 0)) {
    const fullest = areas.toSorted((one, other) => other.length - one.length).slice(0, PER_ROUND);
    rounds.push(fullest.flatMap((area) => area.pop() ?? []));
  }
  return rounds;
}

test('after an exception in any method, the next requests are served and nothing leaks', async (t) => {
  const counts = await calls();
  const due: Throw[] = [];
  for (const [place, count] of counts) for (const nth of new Set([1, Math.ceil(count / 2)])) due.push({ place, nth });
  const rounds = divided(due);
  let hit = 0;
  for (const round of rounds) {
    const thrown = await withThrows(round);
    if (thrown.length === 0) continue;
    hit += thrown.length;
    const names = nameThem(thrown);
    await quiet(names);
    assert.deepEqual(await traffic.fresh(), ALL_SERVED, `new requests after an exception in ${names}`);
    await quiet(names);
    assert.ok(faults() > 0, `an exception in ${names} is counted`);
  }
  t.diagnostic(`${rounds.length} rounds, ${hit} of ${due.length} exceptions, in ${counts.size} of ${all.length} methods`);
  assert.ok(hit > due.length / 2);
  assert.ok(counts.size > all.length / 2);
});
