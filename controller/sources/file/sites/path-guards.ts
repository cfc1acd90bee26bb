import { said } from '../concealed.ts';
import type { Report } from '../diagnostics.ts';
import { covers } from '../matchers/path-pattern.ts';
import type { Place } from '../tokens/word.ts';
import type { HandleDraft, SiteDraft } from './rule.ts';

/** Paths that not everybody comes to, and where that is said. */
type PathGuard = { readonly place: Place; readonly paths: readonly string[] };

/** Hints about guarded paths that are perhaps not as guarded as is meant. A limit or a redirect keeps nobody out. */
export function reportPathGuards(site: SiteDraft, report: Report): void {
  const guards = [...ofDirectives(site), ...site.handles.flatMap(ofBlock)];
  const [first] = guards;
  if (first === undefined) return;
  if (site.pathCase === undefined)
    report.warn(
      first.place,
      'guarded paths are compared with regard to case: where the upstream takes /ADMIN for /admin, write path_case insensitive in the site, else path_case sensitive',
    );
  for (const { place, paths } of guards)
    for (const path of paths) {
      const bare = /^\/.*[^/](?=\/\*$)/.exec(path)?.[0];
      if (bare !== undefined && !paths.some((other) => covers(other, bare)) && isOpen(bare, site))
        report.warn(
          place,
          `${said(path)} leaves ${said(bare)} open, which it does not match: guard both, or write redir ${said(bare)} ${said(bare)}/ 308 in the site`,
        );
    }
}

/** Refusals with a matcher about paths. */
const ofDirectives = ({ responds }: SiteDraft): PathGuard[] =>
  responds
    .filter(({ spec }) => spec.status >= 400)
    .flatMap(({ place, spec }) => (spec.match.path === undefined ? [] : [{ place, paths: spec.match.path }]));

function ofBlock({ place, path, match, draft }: HandleDraft): PathGuard[] {
  const paths = path === null ? match?.path : path === '/*' ? undefined : [path];
  return [...(paths !== undefined && isGuarded(draft) ? [{ place, paths }] : []), ...ofDirectives(draft)];
}

/** Whether a block asks for a password, or refuses what comes to it. */
const isGuarded = ({ basicAuth, respond, responds }: SiteDraft): boolean =>
  basicAuth !== null || (respond !== null && respond.status >= 400) || responds.some(({ spec }) => spec.status >= 400);

/** Whether a path is answered by what has no guard. */
function isOpen(path: string, site: SiteDraft): boolean {
  if (site.basicAuth !== null || site.redirects.some(({ spec }) => !spec.match && covers(spec.from, path))) return false;
  if (ofDirectives(site).some(({ paths }) => paths.some((pattern) => covers(pattern, path)))) return false;
  const block = site.handles.find(({ path: pattern, match }) =>
    match === null ? covers(pattern, path) : match.path?.some((one) => covers(one, path)) === true,
  );
  if (block !== undefined) return !isGuarded(block.draft) && block.draft.redirects.length === 0;
  return site.upstreams.length > 0 || site.respond !== null;
}
