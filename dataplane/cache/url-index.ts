import { pathOf } from '../../shared/policy/cache/purge-log.ts';
import { compileQueryRule } from '../../shared/policy/cache/query-rule.ts';
import type { CacheEntry } from '../traffic/cache-messages.ts';

type Indexed = { readonly entry: Pick<CacheEntry, 'host' | 'target' | 'queryRule'>; readonly place: string };
type Filter = (target: string) => string;
type UsedRule = { readonly filter: Filter; entries: number };

/** Stored responses by host and target. */
export class UrlIndex<P extends Indexed> {
  private readonly byKey = new Map<string, Set<P>>();
  /** The rules about query parameters of each host's entries. */
  private readonly rules = new Map<string, Map<string, UsedRule>>();

  add(one: P): void {
    const { place, entry } = one;
    const set = this.byKey.get(place);
    if (set === undefined) this.byKey.set(place, new Set([one]));
    else set.add(one);
    if (entry.queryRule === '') return;
    const rules = this.rules.get(entry.host) ?? new Map<string, UsedRule>();
    this.rules.set(entry.host, rules);
    const known = rules.get(entry.queryRule);
    if (known === undefined) rules.set(entry.queryRule, { filter: filterOf(entry.queryRule), entries: 1 });
    else known.entries++;
  }

  remove(one: P): void {
    const { place, entry } = one;
    const set = this.byKey.get(place);
    if (set?.delete(one) !== true) return;
    if (set.size === 0) this.byKey.delete(place);
    const rules = this.rules.get(entry.host);
    const rule = rules?.get(entry.queryRule);
    if (rules === undefined || rule === undefined || --rule.entries > 0) return;
    rules.delete(entry.queryRule);
    if (rules.size === 0) this.rules.delete(entry.host);
  }

  /** All responses that may answer a request for this target, as it is or without the parameters that are not in the key. */
  at(host: string, target: string): Set<P> {
    const places = new Set([targetKey(host, target)]);
    for (const { filter } of this.rules.get(host)?.values() ?? []) places.add(targetKey(host, filter(target)));
    return new Set([...places].flatMap((place) => [...(this.byKey.get(place) ?? [])]));
  }
}

/** Whether a response may answer a request for this target. */
export const answers = ({ host, target, queryRule }: Indexed['entry'], wantedHost: string, wanted: string): boolean => {
  const place = targetKey(host, target);
  return place === targetKey(wantedHost, wanted) || (queryRule !== '' && place === targetKey(wantedHost, filterOf(queryRule)(wanted)));
};

const filterOf = (rule: string): Filter => compileQueryRule(JSON.parse(rule)) ?? ((target) => target);

/** The same for all spellings of a path that decode to the same text; queries are compared unchanged. */
export const targetKey = (host: string, target: string): string => {
  const query = target.indexOf('?');
  return `${host}${pathOf(target)}${query < 0 ? '' : target.slice(query)}`;
};
