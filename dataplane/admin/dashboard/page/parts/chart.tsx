import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { pointTime } from '../data/format.ts';
import { CHART, TEXT } from '../strings.ts';

/** `before[i]` is the point of the period before that `now[i]` is compared with; null if it can't be compared with. */
export type ChartData = {
  readonly times: readonly string[];
  readonly now: readonly number[];
  readonly before: readonly (number | null)[] | null;
  readonly step: 'hour' | 'day';
  /** How many of the first points nothing is known of. */
  readonly unknown: number;
  /** Whether the hour or day of the last point is not over. */
  readonly open: boolean;
};
type ChartProps = {
  readonly data: ChartData;
  readonly metric: string;
  readonly format: (value: number) => string;
  /** Its values are whole numbers. */
  readonly whole: boolean;
};

const HEIGHT = 240;
/** The width of a card on A4 or letter paper, less its padding. */
const PAPER = 640;
const WHOLE = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((factor) => factor * 10 ** power)).flat();

/** One graph that answers the pointer and the arrow keys, with its figures as a table below. */
export function Chart({ data, metric, format, whole }: ChartProps) {
  const [at, setAt] = useState<number | null>(null);
  const { frame, plot } = usePlot({ data, metric, format, whole }, setAt);
  const last = data.times.length - 1;
  const point = Math.min(at ?? last, last);
  const move = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowLeft: point - 1, ArrowRight: point + 1, Home: 0, End: last };
    const next = steps[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const index = Math.max(0, Math.min(last, next));
    setAt(index);
    const { current } = plot;
    if (current !== null)
      current.setCursor({ left: current.valToPos(index, 'x'), top: current.valToPos(data.now[index] ?? 0, 'y') }, false);
  };
  const compared = data.before?.[point] ?? null;
  const before = compared === null ? null : format(compared);
  const value = valueAt(data, point, format);
  const valueText = CHART.point(timeAt(data, point), value, before);
  return (
    <div class="chart">
      <p class="reading" aria-hidden="true">
        <span class="key now">{CHART.now}</span> <b>{value}</b>
        {before !== null && (
          <>
            <span class="key before">{CHART.before}</span> <b>{before}</b>
          </>
        )}
        <span class="time">{timeAt(data, point)}</span>
      </p>
      <div
        class="plot"
        ref={frame}
        tabIndex={0}
        role="slider"
        aria-label={CHART.label(metric)}
        aria-description={CHART.help}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={point}
        aria-valuetext={valueText}
        onKeyDown={move}
      />
      <Figures data={data} metric={metric} format={format} />
    </div>
  );
}

/** The graph in the element `frame`. It is made anew for another metric or color scheme, and only drawn again for other data. */
function usePlot({ data, metric, format, whole }: ChartProps, point: (index: number | null) => void) {
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  // The axis is labelled with the times of the data that is shown, which changes more often than the graph is made anew.
  const shown = useRef(data);
  shown.current = data;
  const scheme = useColorScheme();
  useLayoutEffect(() => {
    const element = frame.current as HTMLDivElement;
    const made = new uPlot(
      optionsOf(element, () => shown.current, { format, whole }, point),
      dataOf(data),
      element,
    );
    plot.current = made;
    const stopFitting = keepFitting(made, element);
    return () => {
      stopFitting();
      made.destroy();
      plot.current = null;
    };
  }, [metric, scheme]);
  useEffect(() => plot.current?.setData(dataOf(data)), [data]);
  return { frame, plot };
}

/** Keeps the graph as wide as its element, on paper, too. @returns a function that ends that. */
function keepFitting(plot: uPlot, element: HTMLElement): () => void {
  const fit = () => plot.setSize({ width: element.clientWidth, height: HEIGHT });
  const { style } = document.documentElement;
  // The style sheet for paper, which is light, applies only after this event.
  const fitPaper = () => {
    style.colorScheme = 'light';
    plot.setSize({ width: Math.min(element.clientWidth, PAPER), height: HEIGHT });
  };
  const fitScreen = () => {
    style.colorScheme = '';
    fit();
  };
  const resized = new ResizeObserver(fit);
  resized.observe(element);
  addEventListener('beforeprint', fitPaper);
  addEventListener('afterprint', fitScreen);
  return () => {
    resized.disconnect();
    removeEventListener('beforeprint', fitPaper);
    removeEventListener('afterprint', fitScreen);
  };
}

/** The same for those who don't see the graph, and for copying. */
function Figures({ data, metric, format }: Omit<ChartProps, 'whole'>) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{CHART.table}</summary>
      {open && (
        <section class="scroll" tabIndex={0} aria-label={TEXT.table(metric)}>
          <table>
            <thead>
              <tr>
                <th scope="col">{CHART.time}</th>
                <th scope="col" class="number">
                  {metric}
                </th>
                {data.before !== null && (
                  <th scope="col" class="number">
                    {CHART.before}
                  </th>
                )}
              </tr>
            </thead>
            <tbody>
              {data.times.map((time, index) => (
                <tr key={time}>
                  <th scope="row">{timeAt(data, index)}</th>
                  <td class="number">{valueAt(data, index, format)}</td>
                  {data.before !== null && <td class="number">{comparedAt(data, index, format)}</td>}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </details>
  );
}

const timeAt = ({ times, step }: ChartData, index: number): string => pointTime(times[index] ?? 0, step);

const valueAt = ({ now, unknown }: ChartData, index: number, format: ChartProps['format']): string =>
  index < unknown ? CHART.unknown : format(now[index] ?? 0);

/** Empty if there is nothing to compare with, such as yesterday's hour that the clock has skipped. */
function comparedAt({ before }: ChartData, index: number, format: ChartProps['format']): string {
  const value = before?.[index] ?? null;
  return value === null ? '' : format(value);
}

/** The x values, the period before, this period as far as it is over, and its line to the last point while that is not over. */
function dataOf({ times, now, before, unknown, open }: ChartData): uPlot.AlignedData {
  const last = times.length - 1;
  return [
    times.map((_, index) => index),
    before === null ? times.map(() => null) : [...before],
    now.map((value, index) => (index < unknown || (open && index === last) ? null : value)),
    now.map((value, index) => (open && index >= Math.max(unknown, last - 1) ? value : null)),
  ];
}

function optionsOf(
  element: HTMLElement,
  shown: () => ChartData,
  { format, whole }: Pick<ChartProps, 'format' | 'whole'>,
  moved: (index: number | null) => void,
): uPlot.Options {
  // Read for each drawing: on paper they are others.
  const color = (name: string) => (): string => colorOf(element, name);
  const font = `12px ${getComputedStyle(element).fontFamily}`;
  const short = (index: number): string => {
    const { times, step } = shown();
    const time = new Date(times[index] ?? 0);
    return step === 'hour'
      ? time.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
      : time.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
  };
  const axis = { stroke: color('dim'), font, ticks: { show: false }, border: { show: false } };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    scales: { x: { time: false }, y: { range: (_, __, most) => [0, most <= 0 ? 1 : most * 1.08] } },
    axes: [
      {
        ...{ ...axis, grid: { show: false }, size: 28, space: 64 },
        incrs: [1, 2, 3, 6, 7, 12, 14, 24, 30, 60, 90],
        values: (_, ticks) => ticks.map(short),
      },
      {
        ...axis,
        grid: { stroke: color('line'), width: 1 },
        size: 64,
        values: (_, ticks) => ticks.map(format),
        ...(whole && { incrs: WHOLE }),
      },
    ],
    series: [
      {},
      { stroke: color('before'), width: 1.5, dash: [4, 4], points: { show: false } },
      { stroke: color('accent'), width: 2, fill: color('accent-soft'), points: { show: false } },
      { stroke: color('accent'), width: 2, dash: [2, 4], fill: color('accent-soft'), points: { show: false } },
    ],
    cursor: { drag: { x: false, y: false }, y: false, points: { size: 8 } },
    hooks: { setCursor: [({ cursor }) => moved(cursor.idx ?? null)] },
  };
}

/** Resolves a color of the style sheet for a canvas, which understands neither variables nor light-dark(). */
function colorOf(element: HTMLElement, name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(--${name})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Changes when the colors of the canvas have to be read again. */
function useColorScheme(): boolean {
  const query = matchMedia('(prefers-color-scheme: dark)');
  const [dark, setDark] = useState(query.matches);
  useEffect(() => {
    const changed = () => setDark(query.matches);
    query.addEventListener('change', changed);
    return () => query.removeEventListener('change', changed);
  }, []);
  return dark;
}
