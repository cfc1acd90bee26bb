import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The folder of the innermost package that a file belongs to. */
const PACKAGE = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/;
/** How packages name the file with their license. */
const LICENSE_FILE = /^licen[cs]e(?:[.-].*)?$/i;
const LINE = '\n\n----------------------------------------------------------------------\n\n';

type Manifest = { readonly name: string; readonly version: string; readonly license?: string };

/** The licenses of all packages that files come from. @throws if a package has neither a license file nor a name of one. */
export function licensesOf(files: Iterable<string>): string {
  const folders = new Set([...files].flatMap((file) => PACKAGE.exec(file)?.[0] ?? []));
  return [...folders].sort().map(licenseOf).join(LINE);
}

function licenseOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
  const file = readdirSync(folder).find((entry) => LICENSE_FILE.test(entry));
  if (file === undefined && license === undefined) throw new Error(`${name} is bundled, but has no license`);
  const text = file === undefined ? `${license}` : readFileSync(join(folder, file), 'utf8').trim();
  return `${name} ${version}\n\n${text}`;
}
