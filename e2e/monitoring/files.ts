import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { REPOSITORY } from '../testing/process.ts';

/** The files that a user of Prometheus and Grafana takes from the repository. */
export const GRAFANA = join(REPOSITORY, 'deploy/grafana');

export type Target = { readonly refId: string; readonly expr: string; readonly datasource: Datasource; readonly legendFormat?: string };
type Datasource = { readonly type: string; readonly uid: string };
export type Panel = {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly datasource?: Datasource;
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number };
  readonly targets?: readonly Target[];
  readonly fieldConfig?: { readonly defaults: { readonly unit: string } };
};
export type Dashboard = {
  readonly uid: string;
  readonly title: string;
  readonly panels: readonly Panel[];
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly type: string; readonly query: string | { readonly query: string } }[];
  };
  readonly annotations: { readonly list: readonly { readonly name: string; readonly expr?: string }[] };
};

export const readDashboard = (): Dashboard => JSON.parse(readFileSync(join(GRAFANA, 'dashboard.json'), 'utf8')) as Dashboard;

/** Every expression of a dashboard with the title of its panel. */
export const expressionsOf = ({ panels, annotations }: Dashboard): { title: string; expr: string }[] => [
  ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr }))),
  ...annotations.list.flatMap(({ name, expr }) => (expr === undefined ? [] : [{ title: name, expr }])),
];

/** An expression as Grafana sends it with all values of every variable selected. */
export const withVariables = (expr: string): string =>
  expr.replaceAll('$__rate_interval', '30s').replace(/\$(?:instance|controller|domain)\b/g, '.*');

/** The metrics that an expression reads. */
export const metricsIn = (expr: string): string[] => [...expr.matchAll(/\b(?:(?:sluice|process|nodejs)_\w+|up)\b/g)].map(([name]) => name);

/** Families of an exposition, and for histograms also the names of their series. */
export function namesIn(exposition: string): Set<string> {
  const families = [...exposition.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  return new Set(
    families.flatMap(([, name = '', type]) => (type === 'histogram' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name])),
  );
}
