import type * as z from 'zod';
import { analytics } from './analytics/analytics.ts';
import { basicAuth } from './basic-auth/basic-auth.ts';
import { cache } from './cache/cache.ts';
import { clientAuth } from './client-auth/client-auth.ts';
import { cors } from './cors/cors.ts';
import { encode } from './encode/encode.ts';
import { fileServer } from './file-server/file-server.ts';
import { forwardAuth } from './forward-auth/forward-auth.ts';
import { handleErrors } from './handle-errors/handle-errors.ts';
import { header } from './header/header.ts';
import { ipFilter } from './ip-filter/ip-filter.ts';
import { jwt } from './jwt/jwt.ts';
import { log } from './log/log.ts';
import { maintenance } from './maintenance/maintenance.ts';
import { method } from './method/method.ts';
import { mirror } from './mirror/mirror.ts';
import type { Description, PolicyPart } from './policy.ts';
import { rateLimit } from './rate-limit/rate-limit.ts';
import { redirect } from './redirect/redirect.ts';
import { requestBody } from './request-body/request-body.ts';
import { requestHeader } from './request-header/request-header.ts';
import { respond } from './respond/respond.ts';
import { rewrite } from './rewrite/rewrite.ts';
import { root } from './root/root.ts';
import { tlsPassthrough } from './tls-passthrough/tls-passthrough.ts';
import { tryFiles } from './try-files/try-files.ts';
import { underAttack } from './under-attack/under-attack.ts';
import { uri } from './uri/uri.ts';

/** The policies of sites and blocks, in the order of the reference. */
const ANYWHERE = [
  rateLimit,
  requestBody,
  redirect,
  header,
  requestHeader,
  rewrite,
  uri,
  method,
  mirror,
  basicAuth,
  jwt,
  forwardAuth,
  cache,
  ipFilter,
  cors,
  encode,
  handleErrors,
  maintenance,
  respond,
  root,
  tryFiles,
  fileServer,
] as const;
/** The policies of sites only. */
const OF_SITES = [clientAuth, underAttack, analytics, log, tlsPassthrough] as const;

type Joined<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer All) => void ? All : never;
type Members<List extends readonly { readonly members: z.ZodRawShape }[]> = Joined<List[number]['members']>;
type All = Members<typeof ANYWHERE> & Members<typeof OF_SITES>;

/** Their members in a block, and in a route. */
export const BLOCK_MEMBERS: Members<typeof ANYWHERE> = Object.assign({}, ...ANYWHERE.map(({ members }) => members));
export const SITE_MEMBERS: All = Object.assign({}, BLOCK_MEMBERS, ...OF_SITES.map(({ members }) => members));

/** The values of a site or block for all policies. */
export type PolicyMembers = PolicyPart<All>;

export const BLOCK_POLICIES: readonly Description<PolicyMembers>[] = ANYWHERE;
export const SITE_POLICIES: readonly Description<PolicyMembers>[] = [...ANYWHERE, ...OF_SITES];
