import { IGNORED_HEADER } from '../../../shared/name.ts';
import { type PublishedRoute, published, type RouteSpec, readRoute } from '../../../shared/route.ts';
import { parseDomain } from '../../../shared/values/host.ts';
import { UnacknowledgedError } from '../../publish/publisher.ts';
import { fullRoute } from '../../status/explain.ts';
import { UnsavedError } from '../../table/table.ts';
import type { AdminDependencies } from '../dependencies.ts';
import { readJson } from '../http/body.ts';
import { ApiError } from '../http/errors.ts';
import { sendJson, sendList } from '../http/json.ts';
import type { Call } from './call.ts';
import { requireDomain } from './domain.ts';
import { ignoredMembers } from './ignored-members.ts';

/** Types are checked first, then the domain, then the upstream. A site without an upstream has null. */
const REQUIRED = [
  ['domain', 'string'],
  ['upstream', 'string'],
  ['tls', 'boolean'],
] as const;

/** GET /routes: the published members of all routes; with `view=full` the others, too. */
export async function listRoutes({ response, query }: Call, parts: AdminDependencies): Promise<void> {
  const { table } = parts;
  const view = query.get('view');
  if (view !== null && view !== 'full') throw new ApiError('invalidQuery', 'view must be "full" or absent');
  await sendList(response, table.list(), view === 'full' ? (owned) => fullRoute(owned, table) : ({ route }) => inForce(route, parts));
}

/** POST /routes with one route: 201 once it is on disk and every worker serves it. */
export async function postRoute({ request, response }: Call, { table, clock, log }: AdminDependencies): Promise<void> {
  const asked = await readJson(request, response, clock);
  const { origin: _, ...body } = asked;
  for (const [member, type] of REQUIRED) {
    if (body[member] === undefined) throw new ApiError('invalidJson', `missing member ${member}`);
    const isNull = member === 'upstream' && body.upstream === null;
    if (!isNull && typeof body[member] !== type) throw new ApiError('invalidJson', `${member}: expected a ${type}`);
  }
  requireDomain(parseDomain(body.domain as string));
  const result = readRoute(body);
  if ('problem' in result) throw refusedRoute(result.problem.member, result.problem.reason, body);
  const { route } = await orApiError(table.post(result.route));
  const ignored = ignoredMembers(asked, result.route).join(', ');
  if (ignored === '') return sendJson(response, 201, published(route));
  log.warn({ domain: route.domain, ignored }, 'ignored unknown members of a posted route');
  sendJson(response, 201, published(route), { [IGNORED_HEADER]: ignored });
}

/** DELETE /routes/{domain}. */
export async function deleteRoute({ response, segments: [segment = ''] }: Call, { table }: AdminDependencies): Promise<void> {
  if (segment === '') throw new ApiError('missingDomain');
  const domain = segment.toLowerCase();
  if (!(await orApiError(table.remove(domain)))) throw new ApiError('routeNotFound');
  sendJson(response, 200, { deleted: domain });
}

/** Turns failures of the table into API errors. */
export async function orApiError<T>(change: Promise<T>): Promise<T> {
  try {
    return await change;
  } catch (error) {
    if (error instanceof UnsavedError) throw new ApiError('unsaved', error.message);
    if (error instanceof UnacknowledgedError) throw new ApiError('unacknowledged', error.message);
    throw error;
  }
}

/** The published members of a route. `under_attack` is also true while the challenge of the site has begun by itself. */
function inForce(route: RouteSpec, { isAttacked }: AdminDependencies): PublishedRoute {
  const members = published(route);
  if (route.under_attack || route.challenge?.auto_rps === undefined) return members;
  return { ...members, under_attack: isAttacked(route.domain) };
}

/** The contract distinguishes three kinds of bad input. A member of the wrong type is not the same kind as a bad value. */
function refusedRoute(member: string, reason: string, body: Record<string, unknown>): ApiError {
  if (member === 'upstream' && typeof body.upstream === 'string') return new ApiError('invalidUpstream', reason);
  if (/^upstreams\.\d+\.address$/.test(member)) return new ApiError('invalidUpstream', `${member}: ${reason}`);
  return new ApiError('invalidJson', `${member}: ${reason}`);
}
