import { type Placeholder, parseTemplate } from '../../placeholders/template.ts';
import { CATCH_ALL } from '../../values/host.ts';
import { fileServerIn } from '../file-server/effective.ts';

type Site = Parameters<typeof fileServerIn>[0] & { readonly handles?: readonly NonNullable<Parameters<typeof fileServerIn>[1]>[] };

/** A directory that a site serves, and the names that its file server adds to paths. */
export type Served = { readonly root: string; readonly added: ReadonlySet<string> };

/** The directories that a site and its blocks serve. */
export function servedIn(route: Site): Served[] {
  return [null, ...(route.handles ?? [])].flatMap((handle) => {
    const server = fileServerIn(route, handle);
    if (server === null || server.root === null) return [];
    const tried = server.tryFiles.filter((file) => file.includes('}')).map((file) => trimmed(file.slice(file.lastIndexOf('}') + 1)));
    return [{ root: server.root, added: new Set([...(server.spec.index ?? ['index.html', 'index.txt']), ...tried]) }];
  });
}

/** The status, which begins no name of a directory that is served. */
const STATUS = '\0';
/** Placeholders whose values may have a question mark, which ends the path. */
const WITH_QUERY = /^http\.request\.(?:orig_)?uri(?:\.(?:prefixed_)?query)?$/;

/**
 * Whether a client could choose any file of a served directory as the page `file` below `root`, such as one that needs a password: neither a
 * directory or the beginning of a name before what is inserted, nor a name after it, is written by the site. `domain` is that of the
 * route: the host of a request counts as written by the site, unless the domain is for all hosts.
 */
export function isChosenByClient(file: string, root: string, served: readonly Served[], domain: string): boolean {
  const template = parseTemplate(file, 'answer');
  if ('fault' in template) return false;
  const chosen = template.parts.flatMap((part) => ('placeholder' in part && isOfRequest(part.placeholder) ? part.placeholder.name : []));
  if (domain !== CATCH_ALL && chosen.every((name) => name === 'http.request.host')) return false;
  let before: string | null = null;
  let text = '';
  let isCut = false;
  for (const part of template.parts) {
    if ('text' in part) text += part.text;
    else if (part.placeholder.name.startsWith('http.response.status_')) text += STATUS;
    else if (isOfRequest(part.placeholder)) {
      before ??= text;
      text = '';
      isCut ||= WITH_QUERY.test(part.placeholder.name);
    }
  }
  if (before === null) return false;
  const written = `${root}/${before}`.replace(/\/{2,}/g, '/');
  const name = trimmed(text);
  return served.some((one) => `${one.root}/`.replace('//', '/').startsWith(written) && (isCut || isNoName(text) || one.added.has(name)));
}

/** The upstream writes the fields of its responses, if it does. */
const isOfRequest = ({ name }: Placeholder): boolean => !name.startsWith('http.response.');

/** Whether the text after what a client has chosen is at most an extension. */
const isNoName = (text: string): boolean => /^(?:\/*|\.[^/\0]*)$/.test(text);

const trimmed = (text: string): string => text.replace(/^\/+|\/+$/g, '');
