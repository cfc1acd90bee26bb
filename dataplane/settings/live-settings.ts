import type { Log } from '../../shared/runtime/log.ts';
import type { Globals } from '../../shared/settings.ts';
import type { SettingStatus } from '../../shared/wire/status.ts';
import type { Publisher } from '../publish/publisher.ts';
import { type DataplaneSettings, type Effective, effective, moves, trafficSettings } from './settings.ts';

/** What a change of the settings needs of the rest of the house. */
export type SettingsTools = {
  readonly publisher: Publisher;
  readonly log: Log;
  /** Whether nobody else listens on a port. @throws the system's error, in words that a person understands. */
  probe(bind: string | null, port: number): Promise<void>;
  /** Whether every worker listens where the published settings say. @throws as `probe`, where one can't. */
  moved(): Promise<void>;
};

/**
 * The settings in force. A changed port is opened before the old one is closed, and the connections that came through
 * that stay; one that can't be opened changes nothing.
 */
export class LiveSettings {
  private readonly base: DataplaneSettings;
  private readonly tools: SettingsTools;
  private now: Effective;
  /** Changes come into force one after the other. */
  private last: Promise<void> = Promise.resolve();

  constructor(base: DataplaneSettings, atBoot: Effective, tools: SettingsTools) {
    this.base = base;
    this.now = atBoot;
    this.tools = tools;
  }

  get settings(): DataplaneSettings {
    return this.now.settings;
  }

  get statuses(): SettingStatus[] {
    return this.now.statuses;
  }

  get warnings(): string[] {
    return this.now.warnings;
  }

  /** Takes in what the config file says now. Resolves when it is in force, or its warnings say why not. */
  adopt(globals: Globals): Promise<void> {
    this.last = this.last.then(() => this.change(globals));
    return this.last;
  }

  private async change(globals: Globals): Promise<void> {
    const { tools } = this;
    const before = this.now.settings;
    const wanted = effective(this.base, globals, before);
    try {
      await this.bring(wanted, before);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (moves(before, wanted.settings)) await this.publish(effective(this.base, globals, before, reason)).catch(this.unserved);
      else {
        this.unserved(error);
        this.now = {
          ...this.now,
          warnings: [...this.now.warnings, `the globals of the config file are not in force everywhere: ${reason}`],
        };
      }
    }
    for (const warning of this.now.warnings) tools.log.warn(warning);
  }

  private async bring(wanted: Effective, before: DataplaneSettings): Promise<void> {
    const { bind, httpPort } = wanted.settings;
    if (httpPort !== before.httpPort) await this.tools.probe(bind, httpPort);
    const { httpsPort } = trafficSettings(wanted.settings);
    if (httpsPort !== null && httpsPort !== trafficSettings(before).httpsPort) await this.tools.probe(bind, httpsPort);
    await this.publish(wanted);
    if (moves(before, wanted.settings)) await this.tools.moved();
  }

  private readonly unserved = (error: unknown): void => {
    this.tools.log.error({ error: String(error) }, 'new settings are not served everywhere');
  };

  private async publish(next: Effective): Promise<void> {
    this.now = next;
    await this.tools.publisher.publish({ settings: trafficSettings(next.settings) });
  }
}
