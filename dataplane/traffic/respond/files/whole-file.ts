import fs from 'node:fs';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { DiskAccess } from './disk.ts';
import type { FilePath } from './file-path.ts';
import { find } from './find.ts';
import { closePath, isSameFile, type OpenFile, refusalOf, SETTLED } from './open.ts';
import type { Settings } from './settings.ts';

/** A small file as a whole. */
export type WholeFile = { readonly name: string; readonly body: Buffer };

/** Files whose memory is known. */
const MAX_KNOWN = 100;

/** Files as a whole. Responses with the same one share its memory, since any number of clients may read slowly. */
export class WholeFiles {
  private readonly clock: Clock;
  /** The memory of files that are being sent. */
  private readonly known = new Map<string, { readonly stats: fs.BigIntStats; readonly memory: WeakRef<ArrayBufferLike> }>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Reads a file of up to `largest` bytes; null if there is no such file, or if it can't be read. */
  async read(settings: Settings, disk: DiskAccess, path: FilePath, largest: number): Promise<WholeFile | null> {
    const found = await find(settings, disk, path, { fields: '', slash: true, isWritten: false });
    if ('listing' in found) closePath(disk, found.listing);
    if (!('file' in found)) return null;
    const { file, name } = found;
    try {
      return file.size > largest ? null : { name, body: this.shared(file) ?? this.share(file, await contents(disk, file)) };
    } catch (error) {
      refusalOf(error);
      return null;
    } finally {
      disk.close(file.fd);
    }
  }

  private shared({ path, stats, size }: OpenFile): Buffer | null {
    const known = this.known.get(path);
    const memory = known !== undefined && isSameFile(known.stats, stats) ? known.memory.deref() : undefined;
    return memory === undefined ? null : Buffer.from(memory, 0, size);
  }

  private share({ path, stats, size, modified }: OpenFile, body: Buffer): Buffer {
    if (body.length !== size || this.clock.now() - modified <= SETTLED) return body;
    this.known.delete(path);
    this.known.set(path, { stats, memory: new WeakRef(body.buffer) });
    const [oldest] = this.known.keys();
    if (this.known.size > MAX_KNOWN && oldest !== undefined) this.known.delete(oldest);
    return body;
  }
}

/** If the file has become shorter meanwhile, the rest of it. */
export async function contents(disk: DiskAccess, { fd, size }: OpenFile): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(size);
  for (let length = 0; ; ) {
    const more = length === size ? 0 : await disk.run<number>((done) => fs.read(fd, buffer, length, size - length, length, done));
    if (more === 0) return buffer.subarray(0, length);
    length += more;
  }
}
