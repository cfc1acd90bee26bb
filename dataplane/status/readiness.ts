import type { Restored } from '../table/restore.ts';
import type { Table } from '../table/table.ts';

/** Ready means: it serves something known good, restored from disk or applied since. */
export class Readiness {
  private readonly table: Table;
  private good: boolean;

  constructor(table: Table, restored: Restored) {
    this.table = table;
    this.good = restored.claims.size > 0 || restored.controllers.size > 0;
    table.onChange(() => {
      this.good = true;
    });
  }

  /** `reason` also says what is not served yet while the rest is. */
  now(): { ready: boolean; reason: string | null } {
    if (!this.good) return { ready: false, reason: 'no table yet: none was saved, and nothing has been applied since the start' };
    const [waiting = null] = this.warnings();
    return { ready: waiting === null || this.table.doubted < this.table.counts().routes, reason: waiting };
  }

  warnings(): string[] {
    const { doubted } = this.table;
    if (doubted === 0) return [];
    const { routes } = this.table.counts();
    return [`${doubted} of ${routes} routes wait for their controller: the addresses of their targets are from before the restart`];
  }
}
