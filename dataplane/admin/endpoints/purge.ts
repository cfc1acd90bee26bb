import { parseHost } from '../../../shared/values/host.ts';
import type { Purge } from '../../../shared/wire/purge.ts';
import { UnacknowledgedError } from '../../publish/publisher.ts';
import type { AdminDependencies } from '../dependencies.ts';
import { ApiError } from '../http/errors.ts';
import { sendJson } from '../http/json.ts';
import type { Call } from './call.ts';
import { requireDomain } from './domain.ts';

const COLLECTION = '/cache/';
const LONGEST_TAG = 256;
const PARAMETERS: ReadonlySet<string> = new Set(['tag', 'host', 'prefix']);

/** `PURGE /cache/{host}/{path}`: one URL with its query, in both schemes and all variants. An empty path is the home page. */
export async function purgeOne(
  { request, response, segments: [host = ''] }: Call,
  { purge }: Pick<AdminDependencies, 'purge'>,
): Promise<void> {
  const url = request.url ?? '';
  const slash = url.indexOf('/', COLLECTION.length);
  if (host === '' || slash < 0) throw new ApiError('missingKey');
  let count = 0;
  for (const target of targetsOf(url.slice(slash))) count += await removed(purge, { kind: 'target', host: hostOf(host), target });
  if (count > 0) return sendJson(response, 200, { purged: true });
  sendJson(response, 404, { purged: false, reason: 'not found' });
}

/** `PURGE /cache?tag=`, or `?host=&prefix=`. */
export async function purgeMany({ response, query }: Call, { purge }: Pick<AdminDependencies, 'purge'>): Promise<void> {
  const count = await removed(purge, purgeOf(query));
  if (count > 0) return sendJson(response, 200, { purged: true, entries: count });
  sendJson(response, 404, { purged: false, reason: 'not found' });
}

function purgeOf(query: URLSearchParams): Purge {
  // A misspelled prefix would remove everything of the host.
  for (const name of query.keys()) {
    if (!PARAMETERS.has(name)) throw new ApiError('invalidQuery', 'the parameters are tag, host and prefix');
    if (query.getAll(name).length > 1) throw new ApiError('invalidQuery', `${name} is given more than once`);
  }
  const [tag, host, prefix] = [query.get('tag'), query.get('host'), query.get('prefix')];
  if (tag !== null && host === null && prefix === null) {
    if (tag === '' || tag.length > LONGEST_TAG || /[,\s]/.test(tag))
      throw new ApiError('invalidQuery', 'a tag has 1 to 256 characters, and neither commas nor spaces');
    return { kind: 'tag', tag };
  }
  if (tag !== null || host === null) throw new ApiError('invalidQuery', 'give either tag, or host and prefix');
  const domain = requireDomain(parseHost(host));
  if (prefix !== null && !prefix.startsWith('/')) throw new ApiError('invalidQuery', 'a prefix starts with /');
  return { kind: 'prefix', host: domain, prefix: prefix ?? '/' };
}

async function removed(purge: AdminDependencies['purge'], which: Purge): Promise<number> {
  try {
    const outcome = await purge(which);
    if (outcome === null) throw new ApiError('noCache');
    if (!outcome.saved) throw new ApiError('unremoved', 'it is not served any more, but a restart may find its files; repeat the request');
    return outcome.count;
  } catch (error) {
    if (error instanceof UnacknowledgedError) throw new ApiError('unacknowledged', error.message);
    throw error;
  }
}

/** What `/{path}` can mean: a path may have its leading slash already, or begin with two. Neither may stay stored. */
const targetsOf = (rest: string): readonly string[] => (rest.startsWith('//') ? [rest.slice(1), rest] : [rest]);

/** Without a port, which keys of routes don't have either. */
const hostOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/:\d{1,5}$/, '')
    .replace(/\.$/, '');
