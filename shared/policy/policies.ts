import type { z } from 'zod';
import { analytics } from './analytics/analytics.ts';
import { basicAuth } from './basic-auth/basic-auth.ts';
import { clientAuth } from './client-auth/client-auth.ts';
import { header } from './header/header.ts';
import { ipFilter } from './ip-filter/ip-filter.ts';
import type { Description, Said } from './policy.ts';
import { rateLimit } from './rate-limit/rate-limit.ts';
import { redirect } from './redirect/redirect.ts';
import { respond } from './respond/respond.ts';

/** What a site and each of its blocks can say, in the order of the reference. */
const ANYWHERE = [rateLimit, redirect, header, basicAuth, ipFilter, respond] as const;
/** What only a site can say. */
const OF_SITES = [clientAuth, analytics] as const;

type Joined<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer All) => void ? All : never;
type Members<List extends readonly { readonly members: z.ZodRawShape }[]> = Joined<List[number]['members']>;
type All = Members<typeof ANYWHERE> & Members<typeof OF_SITES>;

/** The members of their own in a block, and in a route. */
export const BLOCK_MEMBERS: Members<typeof ANYWHERE> = Object.assign({}, ...ANYWHERE.map(({ members }) => members));
export const SITE_MEMBERS: All = Object.assign({}, BLOCK_MEMBERS, ...OF_SITES.map(({ members }) => members));

/** What a site or a block says about all of them. */
export type SaidOfPolicies = Said<All>;

export const BLOCK_POLICIES: readonly Description<SaidOfPolicies>[] = ANYWHERE;
export const SITE_POLICIES: readonly Description<SaidOfPolicies>[] = [...ANYWHERE, ...OF_SITES];
