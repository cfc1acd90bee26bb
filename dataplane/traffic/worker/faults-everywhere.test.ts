// Runs alone: it makes the functions of every module throw, for every caller.
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { MixedTraffic } from '../testing/mixed-traffic.ts';
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

/** What `MixedTraffic.fresh` returns if everything works. */
const ALL_SERVED = Array.from({ length: 8 }, () => 200);

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

/** Passes traffic while this place throws once. @returns whether it did. */
async function throwsOnce({ place, nth }: Throw): Promise<boolean> {
  let left = nth;
  const undo = intercept(place, () => {
    if (--left === 0) throw new Error(`thrown by the test in ${place.name}`);
  });
  try {
    await traffic.pass();
  } catch (error) {
    throw new Error(`after an exception in ${place.name} (call ${nth})`, { cause: error });
  } finally {
    undo();
  }
  return left <= 0;
}

test('after an exception in any method, the next requests are served and nothing leaks', async (t) => {
  const counts = await calls();
  const due: Throw[] = [];
  for (const [place, count] of counts) for (const nth of new Set([1, Math.ceil(count / 2)])) due.push({ place, nth });
  let hit = 0;
  const uncounted: string[] = [];
  // One at a time: a second exception would hit the cleanup after the first, which need not survive that.
  for (const one of due) {
    if (!(await throwsOnce(one))) continue;
    hit++;
    const name = `${one.place.name} (call ${one.nth})`;
    await quiet(name);
    assert.deepEqual(await traffic.fresh(), ALL_SERVED, `new requests after an exception in ${name}`);
    await quiet(name);
    if (faults() === 0) uncounted.push(name);
  }
  t.diagnostic(`${hit} of ${due.length} exceptions, in ${counts.size} of ${all.length} methods`);
  assert.ok(hit > due.length / 2);
  assert.ok(counts.size > all.length / 2);
  assert.deepEqual(uncounted, [], 'every exception is counted');
});
