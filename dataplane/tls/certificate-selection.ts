import type { Clock } from '../../shared/runtime/clock.ts';
import { wildcardOf } from '../../shared/values/host.ts';
import type { StoreChange, StoredCertificate } from './store/cert-store.ts';

/** How often the choice is re-evaluated (ms), since certificates become valid and expire. */
const RESELECT_MS = 60_000;

/** A name that is served with another certificate from now on; null: none. */
export type SelectionChange = { readonly name: string; readonly certificate: StoredCertificate | null };

/** Chooses the certificate that is served for each name. */
export class CertificateSelection {
  private readonly clock: Clock;
  private readonly byId = new Map<string, StoredCertificate>();
  /** Every name, wildcards as written, with all candidates for it. */
  private readonly byName = new Map<string, StoredCertificate[]>();
  private readonly selected = new Map<string, StoredCertificate>();
  /** Names that have no valid certificate of their own. */
  private readonly invalid = new Set<string>();
  private readonly listeners = new Set<(changes: readonly SelectionChange[]) => void>();
  private readonly stopReselecting: () => void;

  constructor(clock: Clock) {
    this.clock = clock;
    this.stopReselecting = clock.every(RESELECT_MS, () => this.reselect(this.byName.keys()));
  }

  /** Reports the names whose certificate changed, after each change. The returned function unsubscribes. */
  onChange(listener: (changes: readonly SelectionChange[]) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Applies a change of a store; the first one is its whole content. */
  update({ put, removed }: Pick<StoreChange, 'put' | 'removed'>): void {
    const touched = new Set<string>();
    for (const id of removed) this.forget(id, touched);
    for (const certificate of put) {
      this.forget(certificate.id, touched);
      this.byId.set(certificate.id, certificate);
      for (const name of certificate.domains) {
        touched.add(name);
        const others = this.byName.get(name);
        if (others === undefined) this.byName.set(name, [certificate]);
        else others.push(certificate);
      }
    }
    const isOverOthers = [...touched].some((name) => name.startsWith('*.'));
    // Not for each of many names whose certificates have all expired.
    if (isOverOthers) for (const name of this.invalid) if (touched.has(wildcardOf(name) ?? '')) touched.add(name);
    this.reselect(touched);
  }

  all(): Iterable<StoredCertificate> {
    return this.byId.values();
  }

  /** The certificate for exactly this name, else for the wildcard over it (one label); null: none. `name` in lower case. */
  find(name: string): StoredCertificate | null {
    return this.selected.get(name) ?? this.selected.get(wildcardOf(name) ?? '') ?? null;
  }

  /** Without that of a wildcard that covers the name. */
  exactly(name: string): StoredCertificate | null {
    return this.selected.get(name) ?? null;
  }

  /** The best one for exactly this name, even if that of a wildcard is selected because this one is not valid. */
  ownOf(name: string): StoredCertificate | null {
    return best(this.byName.get(name) ?? [], this.clock.now());
  }

  /** The certificate served for each name and wildcard. */
  entries(): Iterable<readonly [string, StoredCertificate]> {
    return this.selected;
  }

  /** How many names and wildcards have a certificate. */
  get count(): number {
    return this.selected.size;
  }

  close(): void {
    this.stopReselecting();
    this.listeners.clear();
  }

  private forget(id: string, touched: Set<string>): void {
    const certificate = this.byId.get(id);
    if (certificate === undefined) return;
    this.byId.delete(id);
    for (const name of certificate.domains) {
      touched.add(name);
      const rest = (this.byName.get(name) ?? []).filter((one) => one !== certificate);
      if (rest.length > 0) this.byName.set(name, rest);
      else this.byName.delete(name);
    }
  }

  private reselect(names: Iterable<string>): void {
    const now = this.clock.now();
    const changes: SelectionChange[] = [];
    for (const name of names) {
      const certificate = this.choose(name, now);
      if (certificate === (this.selected.get(name) ?? null)) continue;
      if (certificate === null) this.selected.delete(name);
      else this.selected.set(name, certificate);
      changes.push({ name, certificate });
    }
    if (changes.length > 0) for (const listener of this.listeners) listener(changes);
  }

  /** null also if one that is not valid, as after its expiry, leaves the name to the wildcard over it, which has one that is. */
  private choose(name: string, now: number): StoredCertificate | null {
    const own = best(this.byName.get(name) ?? [], now);
    if (own === null || isValid(own, now)) {
      this.invalid.delete(name);
      return own;
    }
    this.invalid.add(name);
    const over = best(this.byName.get(wildcardOf(name) ?? '') ?? [], now);
    // Only those who trust our own authority would be served better.
    return over !== null && over.source !== 'internal' && isValid(over, now) ? null : own;
  }
}

/**
 * A currently valid certificate wins, then one that was provided, then an internal one (which exists only where a site asks for it), then
 * the one that expires last. An expired one is better than none, because the browser shows what is wrong.
 */
function best(candidates: readonly StoredCertificate[], now: number): StoredCertificate | null {
  return candidates.reduce<StoredCertificate | null>((found, one) => (found === null || isBetter(one, found, now) ? one : found), null);
}

function isBetter(one: StoredCertificate, other: StoredCertificate, now: number): boolean {
  if (isValid(one, now) !== isValid(other, now)) return isValid(one, now);
  if (priorityOf(one) !== priorityOf(other)) return priorityOf(one) > priorityOf(other);
  if (one.notAfter !== other.notAfter) return one.notAfter > other.notAfter;
  // Any order will do as long as it is stable.
  return one.id < other.id;
}

const isValid = ({ notBefore, notAfter }: StoredCertificate, now: number): boolean => notBefore <= now && now < notAfter;
/** Explicitly provided certificates come before automatic ones. */
const priorityOf = ({ source }: StoredCertificate): number => PRIORITIES[source];
const PRIORITIES: Readonly<Record<StoredCertificate['source'], number>> = { pushed: 2, applied: 2, file: 2, internal: 1, acme: 0 };
