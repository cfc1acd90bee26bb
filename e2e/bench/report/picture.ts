import type { Contest, ContestEntry } from '../contest/contest.ts';
import { costOf } from '../contest/sample.ts';
import { type BenchReport, isContest } from './report.ts';
import { numeral } from './table.ts';

/** The contests that are drawn, by the names of their benchmarks, in this order. */
const TITLES: Readonly<Record<string, string>> = {
  http2: 'HTTP/2 over TLS',
  tls: 'HTTP/1.1 over TLS',
  keepalive: 'HTTP/1.1',
  handshakes: 'TLS 1.3 handshakes',
  connecting: 'new connections',
  websockets: 'WebSocket messages',
  large: '10 MB, HTTP/1.1',
  http2Large: '10 MB, HTTP/2 over TLS',
};

const WIDTH = 860;
const COLUMNS = 2;
const GAP = 30;
const PANEL = (WIDTH - (COLUMNS + 1) * GAP) / COLUMNS;
const NAME = 76;
const VALUE = 76;
const [BAR, LINE, TITLE] = [14, 22, 30];

const STYLE = `
    text { font: 13px system-ui, sans-serif; fill: #1f2328; }
    .title { font-weight: 600; }
    .note { font-size: 11px; fill: #59636e; }
    .ours { fill: #0969da; }
    .other { fill: #afb8c1; }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc; }
      .note { fill: #9198a1; }
      .ours { fill: #4493f8; }
      .other { fill: #565e67; }
    }`;

/** An SVG of the contests with other proxies, readable on light and on dark pages. @throws if the report has none. */
export function pictureOf(report: BenchReport): string {
  const panels = Object.entries(TITLES).flatMap(([name, title]) => {
    const contest = report.results[name]?.find(isContest);
    return contest === undefined ? [] : [{ title, contest }];
  });
  if (panels.length === 0) throw new Error(`a picture needs at least one of: ${Object.keys(TITLES).join(', ')}`);
  const maxEntries = Math.max(...panels.map(({ contest }) => contest.entries.length));
  const tall = TITLE + maxEntries * LINE + GAP;
  const height = Math.ceil(panels.length / COLUMNS) * tall + 2 * GAP;
  const drawn = panels.map((panel, at) =>
    drawPanel(panel.title, panel.contest, GAP + (at % COLUMNS) * (PANEL + GAP), GAP + Math.floor(at / COLUMNS) * tall),
  );
  const { processor, kernel } = report.machine;
  const note = `Requests, connections or messages per second that one core of ${processor} can handle. ${report.date.slice(0, 10)}, Linux ${kernel}.`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escaped(textOf(panels))}">
  <style>${STYLE}
  </style>
${drawn.join('\n')}
  <text class="note" x="${GAP}" y="${height - GAP / 2}">${escaped(note)}</text>
</svg>
`;
}

type Panel = { readonly title: string; readonly contest: Contest };

/** The same in words, for people who can't see it. */
const textOf = (panels: readonly Panel[]): string =>
  panels
    .map(({ title, contest }) => `${title}: ${contest.entries.map((entry) => `${entry.name} ${numeral(capacityOf(entry))}`).join(', ')}`)
    .join('. ');

/** The rate that takes all of a core's time. */
const capacityOf = (entry: ContestEntry): number => 1 / costOf(entry);

function drawPanel(title: string, { entries }: Contest, x: number, y: number): string {
  const longest = Math.max(...entries.map(capacityOf));
  const bars = entries.map((entry, at) => {
    const top = y + TITLE + at * LINE;
    const capacity = capacityOf(entry);
    const width = ((PANEL - NAME - VALUE) * capacity) / longest;
    return [
      `  <text x="${x}" y="${top + BAR - 3}">${escaped(entry.name)}</text>`,
      `  <rect class="${at === 0 ? 'ours' : 'other'}" x="${x + NAME}" y="${top}" width="${width.toFixed(1)}" height="${BAR}" rx="2"/>`,
      `  <text x="${(x + NAME + width + 6).toFixed(1)}" y="${top + BAR - 3}">${numeral(capacity)}</text>`,
    ].join('\n');
  });
  return [`  <text class="title" x="${x}" y="${y + BAR}">${escaped(title)}</text>`, ...bars].join('\n');
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
