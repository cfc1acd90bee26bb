import { fileServerIn } from '../../../../shared/policy/file-server/effective.ts';
import type { HandleSpec, RouteSpec } from '../../../../shared/route.ts';
import { answer } from '../../exchange/answer.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import type { OwnAnswer } from '../../exchange/own-answer.ts';
import type { Responder } from '../../exchange/responder.ts';
import { rawPath } from '../../match/path.ts';
import { FileAnswer } from './file-answer.ts';
import { filePathOf } from './file-path.ts';
import type { FileTools } from './file-tools.ts';
import { compileSettings } from './settings.ts';

const NOT_ALLOWED: OwnAnswer = {
  status: 405,
  fields: 'Allow: GET, HEAD\r\n',
  body: null,
  reason: 'file_server: only GET and HEAD are allowed',
};
const MALFORMED: OwnAnswer = { status: 400, fields: '', body: null, reason: 'file_server: the path has NUL or a malformed escape' };
const IMPOSSIBLE: OwnAnswer = { status: 404, fields: '', body: null, reason: 'file_server: no file can have this name' };

/** The file server of a site (`handle` null) or block; null for none. */
export function fileServerOf(route: RouteSpec, handle: HandleSpec | null, tools: FileTools): Responder | null {
  const server = fileServerIn(route, handle);
  if (server === null || server.root === null) return null;
  const settings = compileSettings(server.spec, server.root, server.tryFiles, tools.clock);
  const cutsPaths = [route.uri, handle?.uri].some((changes) => changes !== undefined);
  return {
    respond(x) {
      if (x.method !== 'GET' && x.method !== 'HEAD') return answer(x, NOT_ALLOWED);
      const query = x.upstreamTarget.indexOf('?');
      const target = query < 0 ? x.upstreamTarget : x.upstreamTarget.slice(0, query);
      const written = isWritten(x, target, cutsPaths);
      const file = new FileAnswer(x, settings, tools, settings.keyOf(x, target, written));
      if (file.fromMemory()) return;
      const path = filePathOf(target);
      if (path === 'malformed') answer(x, MALFORMED);
      else if (path !== 'missing') file.begin(path, written);
      // The page of an app is shown for each of its addresses, also for those that no file can have.
      else if (settings.tried.length > 0) file.begin(null, written);
      else answer(x, IMPOSSIBLE);
    },
    explain: () => ({ answeredBy: 'file_server', words: `files of ${settings.root.path}` }),
  };
}

/**
 * Whether the end of `target`, a path as it was sent, is not the one that the client sent, but one that the site has written. `cutsPaths`:
 * the site may have cut off all of it, as with `uri strip_prefix /app`, for which `/app` is the root without its slash.
 */
function isWritten(x: Pick<Exchange, 'path' | 'target' | 'upstreamTarget'>, target: string, cutsPaths: boolean): boolean {
  if (x.upstreamTarget === x.target || x.path.endsWith('/')) return false;
  if (target.endsWith('/')) return target !== '/' || !cutsPaths;
  return lastName(target) !== lastName(rawPath(x.target));
}

const lastName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
