import { templateParts } from '../../../../shared/placeholders/template.ts';
import type { FormatName } from '../../../../shared/policy/encode/formats.ts';
import type { FileServerSpec } from '../../../../shared/policy/file-server/effective.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { fieldsIn } from '../../codec/http1/kept-lines.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { CodingChoice } from '../encode/accept-encoding.ts';
import type { FilePath } from './file-path.ts';
import { compileHidden, type Hidden } from './hidden.ts';
import { Listings } from './listing.ts';
import { Root } from './root.ts';

/**
 * A file to try: its path for that of a request, or the status to respond with. `at` returns null for null, a path that no file can have,
 * if that is a part of it.
 */
export type Tried = { readonly status: number } | { readonly at: (path: FilePath | null) => FilePath | null };

/** A file server, compiled. */
export type Settings = {
  readonly root: Root;
  readonly index: readonly string[];
  readonly hidden: Hidden;
  /** null if directories are not listed. */
  readonly listings: Listings | null;
  readonly precompressed: readonly FormatName[];
  /** 200 unless these are error pages. */
  readonly status: number;
  readonly tried: readonly Tried[];
  /** Everything that decides which file a request gets. `isWritten`: see FileRequest. */
  keyOf(x: Pick<Exchange, 'path' | 'fields'>, target: string, isWritten: boolean): string;
};

/** A number that distinguishes file servers, since two of them may find different files for the same path. */
let made = 0;

export function compileSettings(spec: FileServerSpec, root: string, tryFiles: readonly string[], clock: Clock): Settings {
  const hidden = compileHidden(spec.hide ?? [], spec.dot_files ?? false);
  const { precompressed = [] } = spec;
  const number = ++made;
  return {
    root: new Root(root, clock),
    index: spec.index ?? ['index.html', 'index.txt'],
    hidden,
    listings: spec.browse ? new Listings(hidden) : null,
    precompressed,
    status: spec.status ?? 200,
    tried: tryFiles.map(compileTried),
    keyOf(x, target, isWritten) {
      const accepted = precompressed.length === 0 ? '' : fieldsIn(x.fields, 'accept-encoding').join();
      return `${number} ${x.path.endsWith('/') ? '/' : isWritten ? '=' : ''} ${accepted} ${target}`;
    },
  };
}

function compileTried(text: string): Tried {
  if (text.startsWith('=')) return { status: Number(text.slice(1)) };
  const parts = templateParts(text, 'request');
  const isFixed = parts.every((part) => 'text' in part);
  return {
    at(path) {
      if (path === null && !isFixed) return null;
      const requested = path === null ? '' : `/${path.names.join('/')}${path.slash ? '/' : ''}`;
      const whole = parts.map((part) => ('text' in part ? part.text : requested)).join('');
      return { names: whole.split('/').filter((name) => name !== ''), slash: whole.endsWith('/') };
    },
  };
}

/** The coding with a compressed file that a client prefers among those that are left; null for none. */
export function preferred(names: readonly FormatName[], fields: string): FormatName | null {
  const key = names.join();
  let choice = choices.get(key);
  if (choice === undefined) {
    choice = new CodingChoice(names);
    choices.set(key, choice);
  }
  return choice.choose(fields) as FormatName | null;
}

/** For each order of formats; there are 15. */
const choices = new Map<string, CodingChoice>();
