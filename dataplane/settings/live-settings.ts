import type { Log } from '../../shared/runtime/log/log.ts';
import type { Globals } from '../../shared/settings.ts';
import type { SettingStatus } from '../../shared/wire/status.ts';
import type { Publisher } from '../publish/publisher.ts';
import { allPorts, type ClosedPort, closedPort, listenedPorts, portsProblem, wantedPorts } from './ports.ts';
import {
  type DataplaneSettings,
  type EffectiveSettings,
  effectiveSettings,
  movesListeners,
  trafficSettings,
  withClosedPorts,
} from './settings.ts';

/** The dependencies of a change of settings. */
export type LiveSettingsTools = {
  readonly publisher: Publisher;
  readonly log: Log;
  /** The globals that were in effect at the start. */
  readonly globals: Globals;
  /** Checks that a port is free. With `shared`, this process may have it, at another address. @throws a readable error. */
  probePort(bind: string | null, port: number, shared: boolean): Promise<void>;
  /** Checks that every worker listens on the published port. @throws like `probePort` if one can't. */
  listenersMoved(): Promise<void>;
};

/** One for HTTP, one for HTTPS. */
const MAIN_PORTS = 2;

/**
 * The settings in effect. A new port is opened before the old one is closed, and existing connections are kept. If the
 * new port can't be opened, nothing changes, until it can. Ports that could not be opened at the start do not prevent other changes.
 */
export class LiveSettings {
  private readonly base: DataplaneSettings;
  private readonly tools: LiveSettingsTools;
  private current: EffectiveSettings;
  /** The globals that are wanted, which may not be in effect yet. */
  private globals: Globals;
  /** Whether a port could not be opened, and is to be tried again. */
  private waits: boolean;
  /** Serializes changes. */
  private last: Promise<void> = Promise.resolve();

  constructor(base: DataplaneSettings, atBoot: EffectiveSettings, tools: LiveSettingsTools) {
    this.base = base;
    this.current = atBoot;
    this.tools = tools;
    this.globals = tools.globals;
    this.waits = atBoot.settings.closedPorts.length > 0;
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
    this.globals = globals;
    return this.queue(() => this.change(globals, []));
  }

  /** Tries ports again that could not be opened. Only warnings that are new are logged. */
  retry(): Promise<void> {
    return this.queue(async () => {
      if (this.waits && (await this.couldOpen())) await this.change(this.globals, this.current.warnings);
    });
  }

  /** Whether trying again would open a port. */
  private async couldOpen(): Promise<boolean> {
    const before = this.current.settings;
    const { settings: wanted } = effectiveSettings(this.base, this.globals, before);
    if (portsProblem(wanted) !== null) return false;
    const closed = await this.stillClosed(wanted, before).catch(() => null);
    return closed !== null && (closed.length < before.closedPorts.length || movesListeners(before, wanted));
  }

  private queue(change: () => Promise<void>): Promise<void> {
    this.last = this.last.then(change);
    return this.last;
  }

  private async change(globals: Globals, known: readonly string[]): Promise<void> {
    const { tools } = this;
    const before = this.current.settings;
    const wanted = effectiveSettings(this.base, globals, before);
    try {
      await this.applyWanted(wanted, before);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (movesListeners(before, wanted.settings)) {
        // A worker may not have answered in time.
        this.waits = true;
        const kept = withClosedPorts(effectiveSettings(this.base, globals, before, reason), before.closedPorts);
        await this.publish(kept).catch(this.logUnserved);
      } else {
        this.logUnserved(error);
        this.current = {
          ...this.current,
          warnings: [...this.current.warnings, `the globals of the config file are not in effect in every worker: ${reason}`],
        };
      }
    }
    for (const warning of this.current.warnings) if (!known.includes(warning)) tools.log.warn(warning);
  }

  private async applyWanted(wanted: EffectiveSettings, before: DataplaneSettings): Promise<void> {
    const { settings } = wanted;
    const problem = portsProblem(settings);
    if (problem !== null) throw new Error(problem);
    this.waits = true;
    const closed = await this.stillClosed(settings, before);
    this.waits = closed.length > 0;
    const next = withClosedPorts(wanted, closed);
    await this.publish(next);
    const open = new Set(listenedPorts(trafficSettings(next.settings)).map(({ port }) => port));
    const opened = before.closedPorts.map(({ port }) => port).filter((port) => open.has(port));
    if (opened.length > 0 || movesListeners(before, settings)) await this.tools.listenersMoved();
    if (opened.length > 0) this.tools.log.info({ ports: opened }, 'ports that could not be opened are open now');
  }

  /**
   * The ports that were closed before, and still can't be opened. @throws if another port can't be opened, or if one of these would take the
   * place of one that is open.
   */
  private async stillClosed(wanted: DataplaneSettings, before: DataplaneSettings): Promise<ClosedPort[]> {
    const open = new Set(listenedPorts(trafficSettings(before)).map(({ port }) => port));
    const all = wantedPorts(trafficSettings(wanted));
    const closesOne = allPorts(before).some((port) => open.has(port) && !allPorts(wanted).includes(port));
    const closed: ClosedPort[] = [];
    for (const { port, flag } of all) {
      const isOpen = open.has(port);
      if (isOpen && wanted.bind === before.bind) continue;
      const reason = await this.obstacle(wanted.bind, port, isOpen);
      if (reason === null) continue;
      if (closesOne || !before.closedPorts.some((one) => one.port === port))
        throw new Error(all.length > MAIN_PORTS ? `port ${port}: ${reason}` : reason);
      closed.push(closedPort(port, flag, reason));
    }
    return closed;
  }

  private obstacle(bind: string | null, port: number, shared: boolean): Promise<string | null> {
    return this.tools.probePort(bind, port, shared).then(
      () => null,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
  }

  private readonly logUnserved = (error: unknown): void => {
    this.tools.log.error({ error: String(error) }, 'not every worker has the new settings');
  };

  private async publish(next: EffectiveSettings): Promise<void> {
    this.current = next;
    await this.tools.publisher.publish({ settings: trafficSettings(next.settings) });
  }
}
