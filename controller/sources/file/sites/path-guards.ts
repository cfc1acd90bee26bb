import type { Condition } from '../../../../shared/condition.ts';
import { covers } from '../../../../shared/config-file/path-pattern.ts';
import { unquoted } from '../../../../shared/config-file/quote.ts';
import type { Position } from '../../../../shared/config-file/word.ts';
import { BLOCK_POLICIES } from '../../../../shared/policy/policies.ts';
import type { RespondSpec } from '../../../../shared/route.ts';
import { FirstCovering } from '../directives/first-covering.ts';
import type { Context, HandleDraft, SiteDraft } from '../directives/rule.ts';

type SourceWords = Context['sourceWords'];

/** Restricted paths, and where they are defined. */
type PathGuard = {
  readonly place: Position;
  readonly paths: readonly string[];
  /** Whether some clients have access, as with a password. Then it is probably also for what is below a path. */
  readonly admits: boolean;
};

/** Warns about restricted paths that may be less restricted than intended. Rate limits and redirects restrict no access. */
export function reportPathGuards(site: SiteDraft, { report, sourceWords }: Pick<Context, 'report' | 'sourceWords'>): void {
  const guards = [...ofDirectives(site, sourceWords), ...site.handles.flatMap((handle) => ofBlock(handle, sourceWords))];
  const [first] = guards;
  if (first === undefined) return;
  if (site.members.path_case === undefined)
    report.warn(
      first.place,
      'guarded paths are compared with regard to case: where the upstream takes /ADMIN for /admin, write path_case insensitive in the site, else path_case sensitive',
    );
  const open = openPaths(site, sourceWords);
  for (const { place, paths, admits } of guards)
    for (const path of paths) {
      const below = admits && isFolder(path) ? `${path.replace(/\/$/, '')}/*` : null;
      if (below !== null && !paths.some((other) => covers(other, below)) && open(below))
        report.warn(
          place,
          `${unquoted(path)} leaves ${unquoted(below)} open, which it does not match: guard both, for example with a matcher`,
        );
      const bare = /^\/.*[^/](?=\/\*$)/.exec(path)?.[0];
      if (bare !== undefined && !paths.some((other) => covers(other, bare)) && open(bare))
        report.warn(
          place,
          `${unquoted(path)} leaves ${unquoted(bare)} open, which it does not match: guard both, or write redir ${unquoted(bare)} ${unquoted(bare)}/ 308 in the site`,
        );
    }
}

/** Whether a pattern is for a single path that may have others below it, unlike a file. */
const isFolder = (path: string): boolean => path.length > 1 && !path.includes('*') && !/\.[^/]*$/.test(path);

/** Refusals with a path matcher. */
const ofDirectives = ({ members: { responds = [] } }: SiteDraft, sourceWords: SourceWords): PathGuard[] =>
  responds.flatMap((spec) => {
    const place = sourceWords.get(spec);
    return place && isRefusal(spec) && spec.match.path !== undefined ? [{ place, paths: spec.match.path, admits: false }] : [];
  });

function ofBlock({ place, path, match, draft }: HandleDraft, sourceWords: SourceWords): PathGuard[] {
  const paths = path === null ? match?.path : path === '/*' ? undefined : [path];
  return [...(paths !== undefined && isGuarded(draft) ? [{ place, paths, admits: asks(draft) }] : []), ...ofDirectives(draft, sourceWords)];
}

const isRefusal = ({ status }: RespondSpec): boolean => status >= 400;

/** Whether a site or block restricts access. */
const asks = ({ members }: SiteDraft): boolean => BLOCK_POLICIES.some((policy) => policy.restrictsAccess?.(members));

/** Whether a block restricts access, or refuses all requests. */
const isGuarded = (draft: SiteDraft): boolean => {
  const { respond, responds = [] } = draft.members;
  return asks(draft) || (respond != null && isRefusal(respond)) || responds.some(isRefusal);
};

/** Other requests for these paths are handled elsewhere if it has further members. */
const isAboutPathsOnly = ({ name: _, path: __, ...others }: Condition): boolean =>
  Object.values(others).every((value) => value === undefined);

/** Whether a block is guarded, or sends requests elsewhere. */
const isRestricted = (draft: SiteDraft): boolean => isGuarded(draft) || (draft.members.redirects ?? []).length > 0;

/** Whether a path is handled by an unrestricted block. A site may have thousands of blocks, and guard each. */
function openPaths(site: SiteDraft, sourceWords: SourceWords): (path: string) => boolean {
  const { redirects = [], upstreams = [], respond, file_server: files } = site.members;
  if (asks(site)) return () => false;
  const answered = new FirstCovering<true>();
  for (const spec of redirects) if (!spec.match) answered.add(spec.from, true);
  for (const pattern of ofDirectives(site, sourceWords).flatMap(({ paths }) => paths)) answered.add(pattern, true);
  const blocks = new FirstCovering<{ readonly pattern: string | null; readonly draft: SiteDraft }>();
  for (const { path, match, draft } of site.handles) {
    // The rest of the requests for a single path is handled by a later block, or by the site.
    const isPart = match !== null && !isAboutPathsOnly(match) && !isRestricted(draft);
    for (const pattern of match === null ? [path] : (match.path ?? []))
      if (!isPart || pattern?.includes('*') === true) blocks.add(pattern, { pattern: isPart ? null : pattern, draft });
  }
  return (path) => {
    if (answered.find(path) === true) return false;
    const block = blocks.find(path);
    // A block for just this path says that it is meant to be open.
    if (block !== undefined) return block.pattern !== path && !isRestricted(block.draft);
    return upstreams.length > 0 || files != null || (respond != null && !isRefusal(respond));
  };
}
