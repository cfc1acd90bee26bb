// Runs alone: it makes the functions of every module throw, for every caller.
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { KINDS, type Kind, MixedTraffic } from '../testing/mixed-traffic.ts';
import { eventually } from '../testing/proxy/test-proxy.ts';

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

/** It is the guard that Node's stream calls: what is thrown before its own `try` is handled by the stream, and not always counted. */
const GUARD = 'DirectSocket.attempt';

/** What `MixedTraffic.fresh` returns if everything works. */
const ALL_SERVED = Array.from({ length: 8 }, () => 200);

/** One in this many exceptions is thrown: by default, every one. */
const ONE_OF = Number(process.env.SLUICE_FAULTS ?? 1);

type FaultPoint = {
  readonly name: string;
  readonly owner: object;
  readonly key: string;
  readonly original: PropertyDescriptor;
};

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
        if (!PROMISED.has(key) && !EXEMPT.has(name)) found.push({ name, owner, key, original });
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

/** A call: its number within the pass of a kind, and within a pass of all kinds. */
type Throw = { readonly place: FaultPoint; readonly kind: Kind; readonly nth: number; readonly number: number };

/** The call with this number, counted over all kinds in their order. */
function throwIn(place: FaultPoint, counts: ReadonlyMap<Kind, number>, number: number): Throw {
  let nth = number;
  for (const [kind, count] of counts) {
    if (nth <= count) return { place, kind, nth, number };
    nth -= count;
  }
  throw new Error(`${place.name} is called less than ${number} times`);
}

/**
 * Where to throw: in the first call of each place that is called, and in one halfway through, each in a pass of the traffic that leads to
 * it.
 */
async function due(): Promise<Throw[]> {
  const counts = new Map<FaultPoint, Map<Kind, number>>();
  for (const kind of KINDS) {
    const undo = all.map((place) =>
      intercept(place, () => {
        const ofPlace = counts.get(place) ?? new Map<Kind, number>();
        counts.set(place, ofPlace.set(kind, (ofPlace.get(kind) ?? 0) + 1));
      }),
    );
    await traffic.pass([kind]);
    for (const one of undo) one();
    assert.equal(faults(), 0);
  }
  return [...counts].flatMap(([place, ofPlace]) => {
    const sum = [...ofPlace.values()].reduce((total, one) => total + one, 0);
    return [...new Set([1, Math.ceil(sum / 2)])].map((number) => throwIn(place, ofPlace, number));
  });
}

/** Passes traffic while this place throws once. @returns whether it did. */
async function throwsOnce(place: FaultPoint, nth: number, kinds: readonly Kind[]): Promise<boolean> {
  let left = nth;
  const undo = intercept(place, () => {
    if (--left === 0) throw new Error(`thrown by the test in ${place.name}`);
  });
  try {
    await traffic.pass(kinds);
  } catch (error) {
    throw new Error(`after an exception in ${place.name} (call ${nth} of ${kinds.join()})`, { cause: error });
  } finally {
    undo();
  }
  return left <= 0;
}

test('after an exception in any method, the next requests are served and nothing leaks', async (t) => {
  const possible = await due();
  const methods = new Set(possible.map(({ place }) => place)).size;
  const throws = possible.filter((_, at) => at % ONE_OF === 0);
  let hit = 0;
  const uncounted: string[] = [];
  // One at a time: a second exception would hit the cleanup after the first, which need not survive that.
  for (const one of throws) {
    // Some calls are not made in every pass. All traffic at once is more likely to lead to them.
    if (!(await throwsOnce(one.place, one.nth, [one.kind])) && !(await throwsOnce(one.place, one.number, KINDS))) continue;
    hit++;
    const name = `${one.place.name} (call ${one.nth} of ${one.kind})`;
    await quiet(name);
    assert.deepEqual(await traffic.fresh(), ALL_SERVED, `new requests after an exception in ${name}`);
    await quiet(name);
    if (faults() === 0 && one.place.name !== GUARD) uncounted.push(name);
  }
  await traffic.pass();
  await quiet('all of them');
  assert.equal(faults(), 0, 'all traffic at once after all exceptions');
  t.diagnostic(`${hit} of ${throws.length} exceptions, in ${methods} of ${all.length} methods`);
  assert.ok(hit > throws.length / 2);
  assert.ok(methods > all.length / 2);
  assert.deepEqual(uncounted, [], 'every exception is counted');
});
