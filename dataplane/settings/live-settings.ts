import type { Log } from '../../shared/runtime/log/log.ts';
import type { Globals } from '../../shared/settings.ts';
import type { SettingStatus } from '../../shared/wire/status.ts';
import type { Publisher } from '../publish/publisher.ts';
import { listenedPorts, portsProblem } from './ports.ts';
import { type DataplaneSettings, type EffectiveSettings, effectiveSettings, movesListeners, trafficSettings } from './settings.ts';

/** The dependencies of a change of settings. */
export type LiveSettingsTools = {
  readonly publisher: Publisher;
  readonly log: Log;
  /** Checks that a port is free. @throws a readable error. */
  probePort(bind: string | null, port: number): Promise<void>;
  /** Checks that every worker listens on the published port. @throws like `probePort` if one can't. */
  listenersMoved(): Promise<void>;
};

/** One for HTTP, one for HTTPS. */
const MAIN_PORTS = 2;

/**
 * The settings in effect. A new port is opened before the old one is closed, and existing connections are kept. If the
 * new port can't be opened, nothing changes.
 */
export class LiveSettings {
  private readonly base: DataplaneSettings;
  private readonly tools: LiveSettingsTools;
  private current: EffectiveSettings;
  /** Serializes changes. */
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

  /** Applies the globals of the config file. Resolves when they are in effect, or the warnings say why not. */
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
          warnings: [...this.current.warnings, `the globals of the config file are not in effect in every worker: ${reason}`],
        };
      }
    }
    for (const warning of this.current.warnings) tools.log.warn(warning);
  }

  private async applyWanted(wanted: EffectiveSettings, before: DataplaneSettings): Promise<void> {
    const { bind } = wanted.settings;
    const problem = portsProblem(wanted.settings);
    if (problem !== null) throw new Error(problem);
    const open = new Set(listenedPorts(trafficSettings(before)).map(({ port }) => port));
    const all = listenedPorts(trafficSettings(wanted.settings));
    for (const { port } of all) if (!open.has(port)) await this.probe(bind, port, all.length > MAIN_PORTS);
    await this.publish(wanted);
    if (movesListeners(before, wanted.settings)) await this.tools.listenersMoved();
  }

  /** With several ports, the reason names the one that is not free. */
  private async probe(bind: string | null, port: number, several: boolean): Promise<void> {
    try {
      await this.tools.probePort(bind, port);
    } catch (error) {
      throw error instanceof Error && several ? new Error(`port ${port}: ${error.message}`) : error;
    }
  }

  private readonly logUnserved = (error: unknown): void => {
    this.tools.log.error({ error: String(error) }, 'not every worker has the new settings');
  };

  private async publish(next: EffectiveSettings): Promise<void> {
    this.current = next;
    await this.tools.publisher.publish({ settings: trafficSettings(next.settings) });
  }
}
