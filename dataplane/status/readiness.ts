import { SOURCE_FAILED } from '../../shared/wire/errors.ts';
import type { Restored } from '../table/disk/restore.ts';
import type { LiveTable } from '../table/live-table.ts';
import type { KnownController } from '../table/table.ts';

/** The reason if no port can be opened. */
export const NO_PORT = 'no port is open';
/** The reasons while it ends, before the drain and during it. */
export const DELAYED = 'shutting down: everything is still served';
export const DRAINING = 'shutting down: new connections are refused, and requests in progress are finished';

/** How many ports are open, and a warning about each that can't be opened at the moment. */
type PortsNow = { readonly open: number; readonly closed: readonly string[] };

/** By the source of a controller. */
const WHAT_FAILED: Readonly<Record<string, string>> = {
  file: 'the config file of a controller has errors',
  docker: 'a controller could not list its containers',
  kubernetes: 'a controller could not read its cluster',
};

/** The data plane is ready once it serves a known good table, restored from disk or applied since. */
export class Readiness {
  private readonly table: LiveTable;
  private readonly ports: () => PortsNow;
  private good: boolean;
  private stopping: typeof DELAYED | typeof DRAINING | null = null;

  constructor(table: LiveTable, restored: Restored, ports: () => PortsNow) {
    this.table = table;
    this.ports = ports;
    this.good = restored.claims.size > 0 || [...restored.controllers.values()].some(hasListed);
    table.onChange(() => {
      this.good ||= table.counts().routes > 0 || table.controllers().some(hasListed);
    });
  }

  /** `reason` may also be set while ready, for routes that are not served yet, and for ports. */
  now(): { ready: boolean; reason: string | null } {
    if (this.stopping !== null) return { ready: false, reason: this.stopping };
    const { open, closed } = this.ports();
    if (open === 0 && closed.length > 0) return { ready: false, reason: NO_PORT };
    if (!this.good) return { ready: false, reason: this.missing() };
    const [waiting = null] = this.warnings();
    const [port = null] = closed;
    return { ready: waiting === null || this.table.unconfirmedRoutes < this.table.counts().routes, reason: waiting ?? port };
  }

  /** Load balancers should send their requests elsewhere from now on. */
  stop(): void {
    this.stopping = DELAYED;
  }

  /** From now on, nothing is accepted any more. */
  drain(): void {
    this.stopping = DRAINING;
  }

  private missing(): string {
    const failed = this.table.problems().find(({ code }) => code === SOURCE_FAILED);
    return failed === undefined
      ? 'no table yet: none was saved, and nothing has been applied since the start'
      : `nothing to serve: no table was saved, and ${WHAT_FAILED[failed.source] ?? 'a controller could not read its source'}`;
  }

  warnings(): string[] {
    const { unconfirmedRoutes } = this.table;
    if (unconfirmedRoutes === 0) return [];
    const { routes } = this.table.counts();
    return [`${unconfirmedRoutes} of ${routes} routes are waiting for their controller to confirm the restored addresses of their targets`];
  }
}

/** A controller whose sources have all failed since its start connects and applies frames, but has not listed any routes. */
const hasListed = ({ confirmed }: Pick<KnownController, 'confirmed'>): boolean => Object.keys(confirmed).length > 0;
