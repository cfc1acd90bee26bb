import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { REPOSITORY } from '../testing/process.ts';

/** A page in which the parts between `<!-- made by scripts/reference.sh: NAME -->` and `<!-- /NAME -->` are regenerated. */
export const withParts =
  (path: string, parts: Readonly<Record<string, () => string>>): (() => Promise<string>) =>
  async () =>
    Object.entries(parts).reduce(
      (page, [name, make]) => {
        const [open, close] = [`<!-- made by scripts/reference.sh: ${name} -->\n`, `<!-- /${name} -->`];
        const [from, to] = [page.indexOf(open) + open.length, page.indexOf(close)];
        if (from < open.length || to < from) throw new Error(`${path} has no part ${name}`);
        return page.slice(0, from) + make() + page.slice(to);
      },
      readFileSync(join(REPOSITORY, path), 'utf8'),
    );
