import type { RatePeriod } from '../../shared/values/rate.ts';
import { type Key, keyOf } from './hash.ts';
import type { Rates } from './rates.ts';

type AllRates = Readonly<Record<RatePeriod, Rates>>;

/** Where the requests of a site are counted, by the second, to find out whether it is under attack; and its minutes under attack. */
export type AttackKeys = { readonly requests: Key; readonly attacked: Key };

export const attackKeys = (domain: string): AttackKeys => ({
  requests: keyOf(`requests\n${domain}`),
  attacked: keyOf(`attacked\n${domain}`),
});

/** Counts a request to a site whose challenge begins at `threshold` requests per second (`now` in ms since 1970). */
export function countForAttack({ second, minute }: AllRates, { requests, attacked }: AttackKeys, threshold: number, now: number): void {
  if (!second.admit(requests.hash, requests.fingerprint, threshold, now)) minute.note(attacked.hash, attacked.fingerprint, now);
}

/** Whether a second of the last minute, or shortly before, was over the threshold. */
export const isAttacked = ({ minute }: AllRates, { attacked }: AttackKeys, now: number): boolean =>
  minute.noted(attacked.hash, attacked.fingerprint, now);
