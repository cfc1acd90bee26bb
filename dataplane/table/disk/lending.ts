import type { Mutex } from '../mutex.ts';
import type { Store } from './store.ts';

/** Lends the table's file to a process that takes over. Changes wait meanwhile, because the loan holds their mutex. */
export class Lending {
  private readonly store: Store;
  private readonly writer: Mutex;
  private giveBack: (() => void) | null = null;

  constructor(store: Store, writer: Mutex) {
    this.store = store;
    this.writer = writer;
  }

  get isLent(): boolean {
    return this.giveBack !== null;
  }

  /** Resolves when no change is in progress and the file is free. `prepare` does the last save. @throws the error of `prepare`. */
  lend(prepare: () => Promise<void>): Promise<void> {
    return new Promise((lent, failed) => {
      const loan = async () => {
        await prepare();
        this.store.release();
        lent();
        await new Promise<void>((resolve) => {
          this.giveBack = resolve;
        });
        this.giveBack = null;
      };
      this.writer.run(loan).catch(failed);
    });
  }

  /** Lets changes continue if the file is lent. */
  end(): void {
    this.giveBack?.();
  }
}
