import type { HistoryCounts } from '../../../../../shared/wire/history.ts';
import { count, duration, exact, percent } from '../data/format.ts';
import { LATENCY, MACHINES, RESPONSES } from '../strings.ts';
import { Card } from './card.tsx';
import { Change } from './figure.tsx';

const CLASSES = ['s2xx', 's3xx', 's4xx', 's5xx', 's1xx', 'other'] as const;
const QUANTILES = ['p50', 'p75', 'p95', 'p99'] as const;
const KINDS = ['humans', 'bot', 'monitor', 'prefetch', 'excluded', 'gpc'] as const;

/** Status classes. */
export function Responses({ now, before }: { now: HistoryCounts; before: HistoryCounts }) {
  if (now.views === 0) return <Card title={RESPONSES.title}>{<p class="empty">{RESPONSES.empty}</p>}</Card>;
  return (
    <Card title={RESPONSES.title}>
      <Shares
        parts={CLASSES.map((name) => ({
          name: RESPONSES.classes[name],
          style: name,
          now: now.status_codes[name],
          before: before.status_codes[name],
        }))}
      />
    </Card>
  );
}

/** How long responses took. */
export function Latency({ now, before }: { now: HistoryCounts; before: HistoryCounts }) {
  if (now.views === 0) return <Card title={LATENCY.title}>{<p class="empty">{RESPONSES.empty}</p>}</Card>;
  return (
    <Card title={LATENCY.title}>
      <dl class="parts">
        {QUANTILES.map((name) => (
          <div key={name}>
            <dt>
              {LATENCY.names[name]} <span class="dim">{name}</span>
            </dt>
            <dd>
              <b>{duration(now.latency[name])}</b> <Change now={now.latency[name]} before={before.latency[name]} lower />
            </dd>
          </div>
        ))}
      </dl>
      <p class="note">{LATENCY.hint}</p>
    </Card>
  );
}

/** Who the requests came from. */
export function People({ now, before }: { now: HistoryCounts; before: HistoryCounts }) {
  const of = (counts: HistoryCounts, kind: (typeof KINDS)[number]): number => (kind === 'humans' ? counts.humans : counts.machines[kind]);
  return (
    <Card title={MACHINES.title}>
      {now.views === 0 ? (
        <p class="empty">{RESPONSES.empty}</p>
      ) : (
        <Shares parts={KINDS.map((kind) => ({ name: MACHINES[kind], style: kind, now: of(now, kind), before: of(before, kind) }))} />
      )}
    </Card>
  );
}

type StatusShare = { readonly name: string; readonly style: string; readonly now: number; readonly before: number };

/** Parts of a whole: one bar, and a line for each part that there is. */
function Shares({ parts }: { parts: readonly StatusShare[] }) {
  const shown = parts.filter(({ now }) => now > 0);
  const total = shown.reduce((sum, { now }) => sum + now, 0);
  return (
    <>
      <div class="distribution" aria-hidden="true">
        {shown.map(({ style, now }) => (
          <span key={style} class={style} style={{ flexGrow: now }} />
        ))}
      </div>
      <dl class="parts">
        {shown.map(({ name, style, now, before }) => (
          <div key={style}>
            <dt>
              <i class={style} /> {name}
            </dt>
            <dd>
              <b title={exact(now)}>{count(now)}</b> <span class="dim">{percent(now / total)}</span>{' '}
              <Change now={now} before={before} lower={null} />
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}
