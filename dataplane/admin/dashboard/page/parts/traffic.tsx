import { useMemo, useState } from 'preact/hooks';
import type { History, HistoryCounts, HistoryRange } from '../../../../../shared/wire/history.ts';
import { bytes, count, country, duration, moment, percent, readablePath } from '../data/format.ts';
import { comparability, pointsBefore, unknownPoints } from '../data/period.ts';
import { proxyTime } from '../data/proxy-time.ts';
import { readableHost } from '../data/readable-host.ts';
import { LIST, LIST_EMPTY, LIST_GROUP, METRIC, METRIC_HINT, RANGE } from '../strings.ts';
import { BarList } from './bar-list.tsx';
import { Card } from './card.tsx';
import { Chart } from './chart.tsx';
import { Change, Comparable } from './figure.tsx';
import { Latency, People, Responses } from './responses.tsx';
import { type Tab, Tabs } from './tabs.tsx';
import { Vitals } from './vitals.tsx';

type Metric = keyof typeof METRIC;
type Meaning = {
  readonly of: (counts: HistoryCounts) => number;
  readonly format: (value: number) => string;
  readonly lower: boolean | null;
  readonly whole: boolean;
};

const errorRate = ({ status_codes, views }: HistoryCounts): number => (views === 0 ? 0 : status_codes.s5xx / views);

const METRICS: Readonly<Record<Metric, Meaning>> = {
  visitors: { of: ({ visitors }) => visitors, format: count, lower: false, whole: true },
  page_views: { of: ({ page_views }) => page_views, format: count, lower: false, whole: true },
  views: { of: ({ views }) => views, format: count, lower: null, whole: true },
  bytes: { of: (counts) => counts.bytes, format: bytes, lower: null, whole: true },
  latency: { of: ({ latency }) => latency.p95, format: duration, lower: true, whole: false },
  errors: { of: errorRate, format: percent, lower: true, whole: false },
};

const GROUPS = [
  { title: LIST_GROUP.content, lists: ['pages', 'entry_pages'] },
  { title: LIST_GROUP.origin, lists: ['referrers', 'utm_source', 'utm_medium', 'utm_campaign'] },
  { title: LIST_GROUP.place, lists: ['countries'] },
  { title: LIST_GROUP.client, lists: ['browsers', 'systems', 'devices'] },
] as const;
type ListName = keyof typeof LIST;

type TrafficProps = { history: History; outdated: boolean };

/** Everything that is known about a period: of one host, or of all together. `outdated`: another one was chosen since. */
export function Traffic({ history, outdated }: TrafficProps) {
  return (
    <Comparable.Provider value={comparability(history) === 'whole'}>
      <Graph history={history} outdated={outdated} />
      <div class="grid" aria-busy={outdated}>
        {GROUPS.map(({ title, lists }) => (
          <Lists key={title} title={title} lists={lists} history={history} />
        ))}
        <Vitals now={history.totals.web_vitals} before={history.previous.totals.web_vitals} />
        <div class="stack">
          <Responses now={history.totals} before={history.previous.totals} />
          <Latency now={history.totals} before={history.previous.totals} />
          <People now={history.totals} before={history.previous.totals} />
        </div>
      </div>
    </Comparable.Provider>
  );
}

/** The totals; each one chooses what the graph shows. */
function Graph({ history, outdated }: TrafficProps) {
  const [metric, setMetric] = useState<Metric>('visitors');
  const { of, format, whole } = METRICS[metric];
  const data = useMemo(
    () => ({
      times: history.series.map(({ at }) => at),
      now: history.series.map(of),
      before: comparability(history) === 'whole' ? pointsBefore(history).map((point) => point && of(point)) : null,
      step: history.step,
      unknown: unknownPoints(history),
      open: Date.parse(history.to) > proxyTime(),
    }),
    [history, metric],
  );
  return (
    <section class="card graph" aria-label={METRIC[metric]} aria-busy={outdated}>
      <div class="totals">
        {(Object.keys(METRIC) as Metric[]).map((name) => (
          <Total key={name} name={name} chosen={name === metric} choose={() => setMetric(name)} now={history} before={history.previous} />
        ))}
      </div>
      <p class="note">{[comparisonOf(history), history.step === 'day' ? RANGE.utcDays : ''].join(' ')}</p>
      <Chart data={data} metric={METRIC[metric]} format={format} whole={whole} />
    </section>
  );
}

function comparisonOf(history: History): string {
  const { kept_since: since } = history;
  const comparable = comparability(history);
  if (comparable === 'whole') return RANGE.compared;
  return comparable === 'empty' || since === null ? RANGE.incomparable : RANGE.partlyKept(moment(since));
}

type TotalProps = { name: Metric; chosen: boolean; choose: () => void; now: HistoryRange; before: HistoryRange };

function Total({ name, chosen, choose, now, before }: TotalProps) {
  const { of, format, lower } = METRICS[name];
  return (
    <button type="button" class="total" aria-pressed={chosen} onClick={choose} title={METRIC_HINT[name]} data-metric={name}>
      <span class="name">{METRIC[name]}</span>
      <span class="value">{format(of(now.totals))}</span>
      <Change now={of(now.totals)} before={of(before.totals)} lower={lower} />
    </button>
  );
}

/** How the entries of a list are shown if not as they are. */
const NAMES: Partial<Record<ListName, (name: string) => string>> = {
  pages: readablePath,
  entry_pages: readablePath,
  countries: country,
  referrers: readableHost,
};

function Lists({ title, lists, history }: { title: string; lists: readonly ListName[]; history: History }) {
  const tabOf = (name: ListName): Tab => ({
    name: LIST[name],
    content: () => (
      <BarList
        key={name}
        name={LIST[name]}
        now={history.lists[name] ?? []}
        before={history.previous.lists[name] ?? []}
        total={history.totals.page_views}
        empty={LIST_EMPTY[name]}
        nameOf={NAMES[name]}
      />
    ),
  });
  const tabs = lists.map(tabOf);
  return <Card title={title}>{tabs.length === 1 ? tabs[0]?.content() : <Tabs label={title} tabs={tabs} />}</Card>;
}
