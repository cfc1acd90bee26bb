import { mkdirSync, writeFileSync } from 'node:fs';
import { until } from '../../shared/runtime/testing/until.ts';
import type { Folder } from '../testing/dataplane.ts';
import { freePort } from '../testing/ports.ts';
import { Program } from '../testing/process.ts';

type Answer<T> = { readonly status: string; readonly data: T; readonly error?: string; readonly warnings?: readonly string[] };
type ScrapeTarget = { readonly scrapePool: string; readonly health: string; readonly lastError: string };
export type Sample = { readonly metric: Readonly<Record<string, string>>; readonly value: readonly [at: number, value: string] };
type Rule = { readonly name: string; readonly health: string; readonly lastError?: string };
export type Alert = {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly state: string;
};

/** A real Prometheus, used through its HTTP API. */
export class Prometheus {
  readonly program: Program;
  private readonly port: number;

  private constructor(program: Program, port: number) {
    this.program = program;
    this.port = port;
  }

  /** Starts it with this configuration, next to which the rule files are, and waits until every target has been scraped. */
  static async start(folder: Folder, config: string): Promise<Prometheus> {
    const port = await freePort();
    mkdirSync(folder.file('tsdb'));
    writeFileSync(folder.file('prometheus.yml'), config);
    const flags = [
      `--config.file=${folder.file('prometheus.yml')}`,
      `--storage.tsdb.path=${folder.file('tsdb')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ];
    const prometheus = new Prometheus(new Program('prometheus', flags), port);
    await until('Prometheus to scrape every target', async () => {
      if (prometheus.program.exit !== null) throw new Error(prometheus.program.output);
      const targets = await prometheus.targets();
      return targets.length > 0 && targets.every(({ health }) => health !== 'unknown');
    }).catch(async (error: unknown) => {
      await prometheus.program[Symbol.asyncDispose]();
      throw error;
    });
    return prometheus;
  }

  async targets(): Promise<readonly ScrapeTarget[]> {
    return (await this.get<{ activeTargets: readonly ScrapeTarget[] }>('targets?state=active')).activeTargets;
  }

  /** @throws if the expression is invalid or gives warnings. */
  async query(expr: string): Promise<readonly Sample[]> {
    return (await this.get<{ result: readonly Sample[] }>(`query?query=${encodeURIComponent(expr)}`)).result;
  }

  async rules(): Promise<readonly Rule[]> {
    const { groups } = await this.get<{ groups: readonly { readonly rules: readonly Rule[] }[] }>('rules');
    return groups.flatMap(({ rules }) => rules);
  }

  async alerts(): Promise<readonly Alert[]> {
    return (await this.get<{ alerts: readonly Alert[] }>('alerts')).alerts;
  }

  private async get<T>(path: string): Promise<T> {
    const response = await fetch(`http://127.0.0.1:${this.port}/api/v1/${path}`);
    const answer = (await response.json()) as Answer<T>;
    if (answer.status !== 'success' || answer.warnings !== undefined)
      throw new Error(`${path}: ${answer.error ?? answer.warnings?.join()}`);
    return answer.data;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.program[Symbol.asyncDispose]();
  }
}
