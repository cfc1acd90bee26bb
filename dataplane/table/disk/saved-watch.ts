import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Log } from '../../../shared/runtime/log/log.ts';
import type { Save, Store } from './store.ts';

/** After this many checks without another failure, nobody tries to save any more, so that a small change is tried. */
const QUIET_CHECKS = 6;

/** Notices that the table can't be saved, or that its file was removed, and has it saved again. Each trouble is logged once. */
export class SavedWatch {
  private readonly store: Store;
  private readonly log: Log;
  /** Whether the file was removed, and the table has not been saved again yet. */
  private removed = false;
  private replaced = false;
  /** Whether the log says that changes can't be saved. */
  private reported = false;
  private failures = 0;
  private quiet = 0;

  constructor(store: Store, log: Log) {
    this.store = store;
    this.log = log;
  }

  get warnings(): readonly string[] {
    const { path, unsaved } = this.store;
    return [
      ...(unsaved === null ? [] : [`changes can't be saved in ${path} (${unsaved.reason}); what was saved before is served`]),
      ...(this.replaced ? [`${path} was replaced while the process runs, and changes are lost at the next start`] : []),
    ];
  }

  /** Whether the file was removed and could not be saved again, so that it lacks some or all of the table. */
  get isIncomplete(): boolean {
    return this.removed;
  }

  /** `everything`: the table as it is served. Nothing else may be saved meanwhile. */
  async check(everything: () => Save): Promise<void> {
    const { store, log } = this;
    const file = store.path;
    const displaced = store.displaced;
    if (displaced === 'removed' && !this.removed) {
      this.removed = true;
      log.warn(
        { file },
        'the saved table was removed while the process runs: it is saved again; stop the process before removing its state',
      );
    }
    if (displaced === 'replaced' && !this.replaced)
      log.error(
        { file },
        'the saved table was replaced while the process runs: restart the process to use the new one, or remove it to have the current one saved',
      );
    this.replaced = displaced === 'replaced';
    if (this.removed) await this.saveAgain(everything);
    else if (store.unsaved !== null && this.isQuiet()) await this.trySmall();
    this.report();
  }

  private async saveAgain(everything: () => Save): Promise<void> {
    const { path } = this.store;
    try {
      const directory = dirname(path);
      if (!existsSync(directory)) mkdirSync(directory, { mode: 0o700 });
      await this.store.saveAnew(everything());
      this.removed = false;
    } catch (error) {
      this.log.debug({ file: path, error: String(error) }, 'the table could not be saved again');
    }
  }

  private isQuiet(): boolean {
    const { failures } = this.store;
    this.quiet = failures === this.failures ? this.quiet + 1 : 0;
    this.failures = failures;
    return this.quiet >= QUIET_CHECKS;
  }

  private async trySmall(): Promise<void> {
    this.quiet = 0;
    await this.store.tryAgain().catch((error: unknown) => this.log.debug({ error: String(error) }, 'a change can still not be saved'));
  }

  private report(): void {
    const { path: file, unsaved } = this.store;
    const failing = unsaved !== null;
    if (failing && !this.reported)
      this.log.error(
        { file, reason: unsaved.reason },
        "changes can't be saved and are not applied: free space or correct the permissions; what was saved before is served",
      );
    if (!failing && this.reported) this.log.info({ file }, 'changes can be saved again');
    this.reported = failing;
  }
}
