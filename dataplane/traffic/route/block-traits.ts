import type { PlainCondition } from '../../../shared/condition.ts';
import type { HandleSpec, RouteSpec } from '../../../shared/route.ts';
import { guardsOf } from '../policy/order.ts';
import type { Guard } from '../policy/policy.ts';
import { hasUsualSession } from './own-cookies.ts';

/** Traits of blocks, as bits; those of a route are the union of those of its blocks. */
export type BlockTraits = number;

/** A guard is about some paths. */
const GUARDS_PATHS = 1;
/** Which block answers depends on the path. */
const CHOOSES_BY_PATH = 2;
/** A block has guards of its own. */
const GUARDED = 4;
/** The site has a guard for all of its requests. */
const GUARDED_SITE = 8;
/** A pool keeps sessions with a cookie of the usual name. */
const USUAL_SESSION = 16;
/** A block or a guard matches paths by an expression. */
const EXPRESSIONS = 32;
/** A guard is about some methods. */
const GUARDS_METHODS = 64;
/** Which block answers depends on the method. */
const CHOOSES_BY_METHOD = 128;

/** Of a route with some or all of its blocks. */
export function traitsOf(route: RouteSpec): BlockTraits {
  const ofSite = guardsOf(route, null);
  const ofBlocks = route.handles.flatMap((handle) => guardsOf(handle, handle));
  return (
    bit(GUARDS_PATHS, [...ofSite, ...ofBlocks].some(isAboutPaths)) |
    bit(CHOOSES_BY_PATH, route.handles.some(choosesByPath)) |
    bit(GUARDED, ofBlocks.length > 0) |
    // A site with a password may have blocks with a different one.
    bit(
      GUARDED_SITE,
      ofSite.some(({ from, match }) => from === undefined && match === undefined),
    ) |
    bit(USUAL_SESSION, hasUsualSession(route)) |
    bit(EXPRESSIONS, [...ofSite, ...ofBlocks, ...route.handles].some(hasExpression)) |
    bit(GUARDS_METHODS, [...ofSite, ...ofBlocks].some(isAboutMethods)) |
    bit(CHOOSES_BY_METHOD, route.handles.some(isAboutMethods))
  );
}

const bit = (trait: BlockTraits, holds: boolean): BlockTraits => (holds ? trait : 0);

const choosesByPath = ({ path, match }: HandleSpec): boolean => isAboutPaths({ from: path ?? '/*', match });

/** Whether some paths are guarded and others not, either by a block or by a guard that matches the path itself. */
export const dependsOnPaths = (traits: BlockTraits): boolean =>
  (traits & GUARDS_PATHS) !== 0 || ((traits & CHOOSES_BY_PATH) !== 0 && (traits & (GUARDED | GUARDED_SITE)) !== 0);

/** Whether the block or a guard of some request depends on an expression for paths, which no long path matches. */
export const dependsOnExpressions = (traits: BlockTraits): boolean => dependsOnPaths(traits) && (traits & EXPRESSIONS) !== 0;

/** Whether some methods are guarded and others not, either by a block or by a guard that matches the method itself. */
export const dependsOnMethods = (traits: BlockTraits): boolean =>
  (traits & GUARDS_METHODS) !== 0 || ((traits & CHOOSES_BY_METHOD) !== 0 && (traits & (GUARDED | GUARDED_SITE)) !== 0);

export const keepsUsualSessions = (traits: BlockTraits): boolean => (traits & USUAL_SESSION) !== 0;

export const isAboutPaths = ({ from = '/*', match }: Guard): boolean =>
  (from !== '/*' && from !== '*') || (match !== undefined && (testsPaths(match) || match.not?.some(testsPaths) === true));

const isAboutMethods = ({ match }: Pick<Guard, 'match'>): boolean =>
  match !== undefined && [match, ...(match.not ?? [])].some(({ method }) => method !== undefined);

const hasExpression = ({ match }: Guard): boolean =>
  match !== undefined && [match, ...(match.not ?? [])].some(({ path_regexp }) => path_regexp !== undefined);

const testsPaths = ({ path, path_regexp }: PlainCondition): boolean => path !== undefined || path_regexp !== undefined;
