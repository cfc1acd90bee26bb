import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { change, percent } from '../data/format.ts';
import { CHANGE } from '../strings.ts';

/** Whether there was anything in the period before. */
export const Comparable = createContext(true);

/** How a figure compares with the period before. `lower`: whether less is better; null: neither is. */
export function Change({ now, before, lower = false }: { now: number; before: number; lower?: boolean | null }) {
  if (!useContext(Comparable)) return null;
  const relative = change(now, before);
  if (relative === null) return now === 0 ? null : <span class="change">{CHANGE.new}</span>;
  if (Math.abs(relative) < 0.005) return <span class="change">{CHANGE.none}</span>;
  const up = relative > 0;
  const value = relative > 9.99 ? `×${Math.round(relative + 1)}` : percent(Math.abs(relative));
  const judged = lower === null ? '' : up === lower ? 'worse' : 'better';
  return (
    <span class={`change ${judged}`}>
      <span aria-hidden="true">
        {up ? '↑' : '↓'} {value}
      </span>
      <span class="hidden">{up ? CHANGE.up(value) : CHANGE.down(value)}</span>
    </span>
  );
}

/** One large number with its name. */
export function Figure({ name, value, hint }: { name: string; value: string; hint?: string | undefined }) {
  return (
    <div class="figure">
      <dt title={hint}>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
