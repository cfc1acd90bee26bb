import type { Restored } from '../table/restore.ts';
import type { Table } from '../table/table.ts';

/** Ready means: it serves something known good, restored from disk or applied since. */
export class Readiness {
  private good: boolean;

  constructor(table: Table, restored: Restored) {
    this.good = restored.claims.size > 0 || restored.controllers.size > 0;
    table.onChange(() => {
      this.good = true;
    });
  }

  now(): { ready: boolean; reason: string | null } {
    return this.good
      ? { ready: true, reason: null }
      : { ready: false, reason: 'no table yet: none was saved, and nothing has been applied since the start' };
  }
}
