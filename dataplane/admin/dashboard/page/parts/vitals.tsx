import type { HistoryCounts, VitalHistory } from '../../../../../shared/wire/history.ts';
import { count, duration, percent } from '../data/format.ts';
import { VITALS } from '../strings.ts';
import { Card } from './card.tsx';
import { Change } from './figure.tsx';

/** The bounds of good and poor (web.dev/articles/vitals). */
const BOUNDS = { lcp: [2_500, 4_000], inp: [200, 500], cls: [0.1, 0.25] } as const;
const NAMES = ['lcp', 'inp', 'cls'] as const;
const RATINGS = ['good', 'needs_improvement', 'poor'] as const;
type VitalName = (typeof NAMES)[number];

const format = (name: VitalName, value: number): string => (name === 'cls' ? value.toFixed(2) : duration(value));

/** Web Vitals as distributions against their bounds. */
export function Vitals({ now, before }: { now: HistoryCounts['web_vitals']; before: HistoryCounts['web_vitals'] }) {
  return (
    <Card title={VITALS.title} class="vitals">
      {NAMES.every((name) => now[name].count === 0) ? (
        <p class="empty">{VITALS.empty}</p>
      ) : (
        NAMES.map((name) => <Vital key={name} name={name} now={now[name]} before={before[name]} />)
      )}
    </Card>
  );
}

function Vital({ name, now, before }: { name: VitalName; now: VitalHistory; before: VitalHistory }) {
  const [good, poor] = BOUNDS[name];
  const rating = now.p75 <= good ? 'good' : now.p75 <= poor ? 'needs_improvement' : 'poor';
  const text = VITALS[name];
  return (
    <article>
      <h3>
        {text.name} <abbr>{text.short}</abbr>
      </h3>
      <p class="value">
        <b class={rating}>{now.count === 0 ? '–' : format(name, now.p75)}</b> <span class="dim">{VITALS.p75}</span>
        {now.count > 0 && <span class={`rating ${rating}`}>{VITALS.verdict[rating]}</span>}
        <Change now={now.p75} before={before.p75} lower />
      </p>
      {now.count > 0 && (
        <div
          class="distribution"
          role="img"
          aria-label={RATINGS.map((one) => `${VITALS[one]} ${percent(now[one] / now.count)}`).join(', ')}
        >
          {RATINGS.map((one) => now[one] > 0 && <span key={one} class={one} style={{ flexGrow: now[one] }} />)}
        </div>
      )}
      {now.count > 0 && (
        <p class="shares" aria-hidden="true">
          {RATINGS.map((one) => (
            <span key={one}>
              <i class={one} /> {VITALS[one]} {percent(now[one] / now.count)}
            </span>
          ))}
        </p>
      )}
      <p class="note">
        {text.meaning} {VITALS.bounds(format(name, good), format(name, poor))}. {VITALS.count(count(now.count))}.
      </p>
    </article>
  );
}
