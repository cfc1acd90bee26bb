import { createHash } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../../../shared/runtime/error-code.ts';
import { makePrivateFolder, readIfPresent, replacePrivate } from './private-file.ts';

const SAFE = /^[A-Za-z0-9_*-][A-Za-z0-9_.*-]*$/;
/** Leaves room for the temporary suffix within the 255 bytes of a file name. */
const LONGEST = 240;
const NEW = '.new';

/** A folder of small values by key. They survive the process, but a power cut may lose the latest ones. */
export class KeyValueFolder {
  private readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /**
   * All keys, wildcards as stored: `_.a.test`. What else is in the folder, such as the files and folders that network file systems and
   * their servers make, is not ours. @throws the system's error.
   */
  keys(): string[] {
    try {
      return readdirSync(this.folder).filter((name) => SAFE.test(name) && !name.endsWith(NEW));
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return [];
      throw error;
    }
  }

  /** null where there is none. @throws the system's error. */
  read(name: string): string | null {
    return readIfPresent(this.path(name));
  }

  /** null deletes it. @throws the system's error. */
  async write(name: string, text: string | null): Promise<void> {
    const path = this.path(name);
    if (text === null) return rmSync(path, { force: true });
    makePrivateFolder(this.folder);
    replacePrivate(path, path + NEW, text);
  }

  private path(name: string): string {
    if (!SAFE.test(name)) throw new Error(`invalid key: ${JSON.stringify(name)}`);
    const short = name.length <= LONGEST ? name : `${name.slice(0, LONGEST - 65)}+${createHash('sha256').update(name).digest('hex')}`;
    return join(this.folder, short.replace('*', '_'));
  }
}
