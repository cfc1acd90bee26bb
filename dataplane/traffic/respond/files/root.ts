import fs from 'node:fs';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { DiskAccess } from './disk.ts';

/** How long its real path is cached (ms). */
const FRESH_MS = 1_000;

/**
 * The directory of a file server. It may be a symbolic link that a deployment switches at any time, and files are opened through it. They
 * must be inside its real path, which is looked up once a second, before they are opened, and again when a file is not in it.
 */
export class Root {
  readonly path: string;
  private readonly clock: Clock;
  private known: { readonly real: string; readonly at: number } | null = null;

  constructor(path: string, clock: Clock) {
    this.path = path;
    this.clock = clock;
  }

  /** Its real path, which may be a second old. Throws errors of the file system. */
  async real(disk: DiskAccess): Promise<string> {
    const { known, clock } = this;
    return known !== null && clock.monotonic() - known.at < FRESH_MS ? known.real : this.current(disk);
  }

  async current(disk: DiskAccess): Promise<string> {
    const at = this.clock.monotonic();
    const real = await disk.run<string>((done) => fs.realpath.native(this.path, done));
    if (this.known === null || this.known.at <= at) this.known = { real, at };
    return real;
  }
}
