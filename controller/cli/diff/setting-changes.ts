import type { Globals } from '../../../shared/settings.ts';
import { parseDuration } from '../../../shared/values/duration.ts';
import type { SettingStatus } from '../../../shared/wire/status.ts';
import { canonical } from '../../desired/canonical.ts';
import { GLOBAL_RULES } from '../../sources/file/sites/globals.ts';
import type { MemberChange } from './difference.ts';

/** Settings that a file's globals would change. A flag or environment variable takes precedence over them, before and after. */
export function settingChanges(running: readonly SettingStatus[], globals: Globals): MemberChange[] {
  const wanted = globals as Readonly<Record<string, unknown>>;
  return [...GLOBAL_RULES.keys()].flatMap((name) => {
    const now = running.find((setting) => setting.name === name);
    if (now === undefined || now.origin === 'flag' || now.origin === 'environment') return [];
    const after = wanted[name];
    if (after === undefined) return now.origin === 'file' ? [{ name, before: now.value, after }] : [];
    return canonical(comparable(name, now.value)) === canonical(after) ? [] : [{ name, before: now.value, after: shownAs(name, after) }];
  });
}

const DURATIONS = new Set(['drain_timeout']);

/** A running duration is text; the file's is in milliseconds. */
function comparable(name: string, value: SettingStatus['value']): unknown {
  if (!DURATIONS.has(name) || typeof value !== 'string') return value;
  const parsed = parseDuration(value);
  return parsed.ok ? parsed.value : value;
}

const shownAs = (name: string, value: unknown): unknown => (DURATIONS.has(name) ? `${Number(value) / 1_000}s` : value);
