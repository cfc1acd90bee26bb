import type { Log } from '../../shared/runtime/log.ts';
import type { Globals } from '../../shared/settings.ts';
import type { SettingStatus } from '../../shared/wire/status.ts';
import type { Publisher } from '../publish/publisher.ts';
import { type DataplaneSettings, type EffectiveSettings, effectiveSettings, movesListeners, trafficSettings } from './settings.ts';

/** What a change of the settings needs of the rest of the house. */
export type LiveSettingsTools = {
  readonly publisher: Publisher;
  readonly log: Log;
  /** Whether nobody else listens on a port. @throws the system's error, in words that a person understands. */
  probePort(bind: string | null, port: number): Promise<void>;
  /** Whether every worker listens where the published settings say. @throws as `probe`, where one can't. */
  listenersMoved(): Promise<void>;
};

/**
 * The settings in force. A changed port is opened before the old one is closed, and the connections that came through
 * that stay; one that can't be opened changes nothing.
 */
export class LiveSettings {
  private readonly base: DataplaneSettings;
  private readonly tools: LiveSettingsTools;
  private current: EffectiveSettings;
  /** Changes come into force one after the other. */
  private last: Promise<void> = Promise.resolve();

  constructor(base: DataplaneSettings, atBoot: EffectiveSettings, tools: LiveSettingsTools) {
    this.base = base;
    this.current = atBoot;
    this.tools = tools;
  }

  get settings(): DataplaneSettings {
    return this.current.settings;
  }

  get statuses(): SettingStatus[] {
    return this.current.statuses;
  }

  get warnings(): string[] {
    return this.current.warnings;
  }

  /** Takes in what the config file says now. Resolves when it is in force, or its warnings say why not. */
  apply(globals: Globals): Promise<void> {
    this.last = this.last.then(() => this.change(globals));
    return this.last;
  }

  private async change(globals: Globals): Promise<void> {
    const { tools } = this;
    const before = this.current.settings;
    const wanted = effectiveSettings(this.base, globals, before);
    try {
      await this.applyWanted(wanted, before);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (movesListeners(before, wanted.settings))
        await this.publish(effectiveSettings(this.base, globals, before, reason)).catch(this.logUnserved);
      else {
        this.logUnserved(error);
        this.current = {
          ...this.current,
          warnings: [...this.current.warnings, `the globals of the config file are not in force everywhere: ${reason}`],
        };
      }
    }
    for (const warning of this.current.warnings) tools.log.warn(warning);
  }

  private async applyWanted(wanted: EffectiveSettings, before: DataplaneSettings): Promise<void> {
    const { bind, httpPort } = wanted.settings;
    if (httpPort !== before.httpPort) await this.tools.probePort(bind, httpPort);
    const { httpsPort } = trafficSettings(wanted.settings);
    if (httpsPort !== null && httpsPort !== trafficSettings(before).httpsPort) await this.tools.probePort(bind, httpsPort);
    await this.publish(wanted);
    if (movesListeners(before, wanted.settings)) await this.tools.listenersMoved();
  }

  private readonly logUnserved = (error: unknown): void => {
    this.tools.log.error({ error: String(error) }, 'new settings are not served everywhere');
  };

  private async publish(next: EffectiveSettings): Promise<void> {
    this.current = next;
    await this.tools.publisher.publish({ settings: trafficSettings(next.settings) });
  }
}
