import type { DiskFolder } from '../disk-folder.ts';

/** How many files are deleted in one step. */
const AT_ONCE = 64;

type PendingDeletion = { readonly urgent: boolean; readonly done: (saved: boolean) => void };

/** Files that are no longer valid and wait to be deleted. */
export class Deletions {
  private readonly folder: DiskFolder;
  private readonly failed: (error: unknown) => void;
  /** By name: whether the deletion must survive a power failure. */
  private readonly names = new Map<string, boolean>();
  private waiting: PendingDeletion[] = [];
  private stuck = false;

  constructor(folder: DiskFolder, failed: (error: unknown) => void) {
    this.folder = folder;
    this.failed = failed;
  }

  add(name: string, durably: boolean): void {
    this.names.set(name, durably || this.names.get(name) === true);
  }

  has(name: string): boolean {
    return this.names.has(name);
  }

  /** A newer file has this name. */
  spare(name: string): void {
    this.names.delete(name);
  }

  /** All files are gone. */
  clear(): void {
    this.names.clear();
  }

  /** Calls back once the deletion of all files so far is durable; with false if that fails. */
  whenDone(urgent: boolean, done: (saved: boolean) => void): void {
    this.waiting.push({ urgent, done });
  }

  /** @returns whether there is more to do at once. */
  step(): boolean {
    if (this.stuck) {
      this.conclude(false);
      return false;
    }
    try {
      let count = 0;
      for (const [name, durably] of this.names) {
        if (++count > AT_ONCE) return true;
        this.folder.remove(name, durably);
        this.names.delete(name);
      }
      if (this.waiting.some(({ urgent }) => urgent)) this.sync();
    } catch (error) {
      this.fail(error);
    }
    return false;
  }

  /** Deletes all of them. */
  finish(): void {
    while (this.step());
    this.tick();
  }

  /** Once a second. */
  tick(): void {
    if (this.stuck || this.names.size > 0) return;
    try {
      this.sync();
    } catch (error) {
      this.fail(error);
    }
  }

  /** The disk may be tried again. */
  retry(): void {
    this.stuck = false;
  }

  private sync(): void {
    this.folder.sync();
    this.conclude(true);
  }

  private fail(error: unknown): void {
    this.stuck = true;
    this.failed(error);
    this.conclude(false);
  }

  private conclude(saved: boolean): void {
    const { waiting } = this;
    this.waiting = [];
    for (const { done } of waiting) done(saved);
  }
}
