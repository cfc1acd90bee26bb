import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makePrivateFolder, replacePrivate } from './private-file.ts';

const SAFE = /^[A-Za-z0-9_*-][A-Za-z0-9_.*-]*$/;
/** Room for the end of a name that is being written, within the 255 bytes that file systems give one. */
const LONGEST = 240;
const NEW = '.new';

/** Small texts by name in a folder of their own. They survive the process; a power cut may cost the last ones. */
export class KeyValueFolder {
  private readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** The names that there are, wildcards as they are stored: `_.a.test`. @throws the system's error. */
  keys(): string[] {
    try {
      return readdirSync(this.folder).filter((name) => !name.endsWith(NEW));
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }

  /** null where there is none. @throws the system's error. */
  read(name: string): string | null {
    try {
      return readFileSync(this.path(name), 'utf8');
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  /** null deletes it. @throws the system's error. */
  async write(name: string, text: string | null): Promise<void> {
    const path = this.path(name);
    if (text === null) return rmSync(path, { force: true });
    makePrivateFolder(this.folder);
    replacePrivate(path, path + NEW, text);
  }

  private path(name: string): string {
    if (!SAFE.test(name)) throw new Error(`no name for a note: ${JSON.stringify(name)}`);
    const short = name.length <= LONGEST ? name : `${name.slice(0, LONGEST - 65)}+${createHash('sha256').update(name).digest('hex')}`;
    return join(this.folder, short.replace('*', '_'));
  }
}

const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';
