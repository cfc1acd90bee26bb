import { firstOf } from '../../../../shared/config-file/directive.ts';
import { quote, unquoted } from '../../../../shared/config-file/quote.ts';
import type { Position, Word } from '../../../../shared/config-file/word.ts';
import { fileServerIn } from '../../../../shared/policy/file-server/effective.ts';
import { isChosenByClient, servedIn } from '../../../../shared/policy/handle-errors/chosen-files.ts';
import { errorRootsIn } from '../../../../shared/policy/handle-errors/error-roots.ts';
import { type HandleSpec, handleSchema, type RouteSpec, routeSchema } from '../../../../shared/route.ts';
import { CATCH_ALL, type Domain } from '../../../../shared/values/host.ts';
import { type DiagnosticReport, positionOf } from '../diagnostics/diagnostics.ts';
import { SITE_RULES } from '../directives/directives.ts';
import { insteadOfNginx } from '../directives/nginx-words.ts';
import { OTHER_NAMES } from '../directives/other-names.ts';
import { type Context, emptyDraft, type HandleDraft, type SiteDraft } from '../directives/rule.ts';
import { divideGroups } from '../directives/split.ts';
import { conditionFor, type Matchers, NO_MATCHERS, readMatchers, reportUnused } from '../matchers/matcher.ts';
import type { SiteBlock } from '../tree/syntax.ts';
import { readLines } from './block.ts';
import { GLOBAL_RULES } from './globals.ts';
import { reportPathGuards } from './path-guards.ts';
import { reportRedirectLoops } from './redirect-loop.ts';
import { type FilePorts, parseSiteAddress } from './site-address.ts';
import { certificateOf, reportUncovered, type SiteCertificate } from './site-certificate.ts';
import { reportTransports } from './transports.ts';
import { reportWithoutEffect } from './without-effect.ts';

/** The name of this source in its routes. */
export const FILE_SOURCE = 'file';
/** The longest `origin` (characters); a longer path is truncated at its start. */
const LONGEST_ORIGIN = 1_024;

/** The shared context of all sites of a file. */
export type SharedContext = Pick<Context, 'report' | 'expanded' | 'textOf' | 'now' | 'sourceWords' | 'unknown'> & {
  /** The ports that the file sets; null if its globals have errors. */
  ports(): FilePorts | null;
};

/** The result of a site: a route per address, and perhaps a certificate. */
export type Emit = { route(route: RouteSpec): void; certificate(certificate: SiteCertificate): void };

/** Reads one site and emits a route per address. `taken` has the position of every domain of the file. */
export function readSite(site: SiteBlock, taken: Map<Domain, Position>, shared: SharedContext, emit: Emit): void {
  const { report } = shared;
  const [first] = site.addresses;
  if (!site.block) {
    if (first) report.error(first, withoutBlock(first));
    return;
  }
  const draft = emptyDraft();
  blockReader(NO_MATCHERS, shared)(site.block, 'site', draft);
  reportSilence(draft, site.block.open, report);
  keepToTheirPool(draft);
  reportTransports(draft, report);
  reportWithoutEffect(draft, report);
  reportPathGuards(draft, shared);
  const handles = divideGroups(draft, report).map(handleOf);
  const domains = new Map<Domain, Claim>();
  for (const word of site.addresses) claim(word, domains, taken, shared);
  reportFiles(draft, [...domains.keys()], shared);
  // A site on some ports may redirect to itself on others.
  if ([...domains.values()].every(({ ports }) => ports === null)) reportRedirectLoops(draft, new Set(domains.keys()), shared);
  reportUncovered(draft, domains, first ?? site.block.open, report);
  for (const [domain, claimed] of domains) emit.route(routeOf(domain, claimed, draft, handles, shared.ports()));
  const certificate = certificateOf(draft, domains);
  if (certificate !== null) emit.certificate(certificate);
}

/** The options of a site's reverse_proxy do not apply to the targets of a handle. */
function keepToTheirPool({ ofPool, handles: inside }: SiteDraft): void {
  for (const { draft } of inside) {
    const { members } = draft;
    if (members.upstreams === undefined) continue;
    for (const member of ofPool) if (members[member] === undefined) members[member] = null;
  }
}

/** Reads the blocks inside one whose matchers are `around`. */
function blockReader(around: Matchers, shared: SharedContext): Context['readBlock'] {
  const { report, expanded } = shared;
  return (written, scope, draft) => {
    const block = expanded(written);
    if (block.incomplete) draft.incomplete = true;
    const { matchers, rest } = readMatchers(block, around, report);
    readLines(rest, scope, SITE_RULES, draft, draft.seen, {
      ...shared,
      conditionFor: (directive, word) => conditionFor(directive, word, matchers, report),
      readBlock: blockReader(matchers, shared),
    });
    reportUnused(block, matchers, report);
    reportShadowed(draft, report);
  };
}

function withoutBlock(first: Word): string {
  const name = first.text;
  if (SITE_RULES.has(name)) return `${name} is outside of a site: put it between "example.com {" and "}"`;
  if (GLOBAL_RULES.has(name)) return `${name} belongs in the globals block: put it between "{" and "}" at the top of the file`;
  if (/^(?:\/\/|\/\*|;|--)/.test(name)) return 'a comment begins with #';
  const other = OTHER_NAMES.get(name);
  if (other) return `unknown directive ${quote(name)} (did you mean "${other}"?)`;
  const instead = insteadOfNginx(name);
  if (instead) return `unknown directive ${quote(name)}: ${instead}`;
  return `"{" is missing after the site address ${quote(name)}`;
}

/** The first address of a domain, and the ports of all; null for every port. */
type Claim = { readonly word: Word; readonly ports: number[] | null };

/** Adds an address to those of its site, unless it belongs to another. */
function claim(word: Word, own: Map<Domain, Claim>, taken: Map<Domain, Position>, { report, ports }: SharedContext): void {
  const address = parseSiteAddress(word.text, ports());
  if (!address.ok) return report.error(word, `${quote(word.text)} is not a valid site address: ${address.reason}`);
  const { domain, port } = address.value;
  const before = own.get(domain);
  const more = before?.ports ?? null;
  if (more !== null && port !== null && !more.includes(port)) return void more.push(port);
  const owner = taken.get(domain);
  if (owner) {
    const name = domain === CATCH_ALL ? '"*"' : domain;
    const all = before !== undefined && (more === null) !== (port === null);
    if (all) return report.error(word, `${unquoted(name)} without a port is for every port, so leave out either one or the other`);
    const apart = port === null && more === null ? '' : ', and tell its ports apart with the matcher port';
    return report.error(word, `${unquoted(name)} already has a site at ${positionOf(owner)}; merge the two${apart}`);
  }
  taken.set(domain, word);
  own.set(domain, { word, ports: port === null ? null : [port] });
}

/** Two directives that handle every request: the second one would never be reached. */
function reportShadowed({ seen }: SiteDraft, report: DiagnosticReport): void {
  const [, later] = seen.filter(({ text }) => RESPONDERS.includes(text));
  if (!later) return;
  const [first, second] = RESPONDERS.filter((name) => firstOf(seen, name));
  report.error(later, `${first} handles every request here, so ${second} is never reached: keep one, or put one in a handle`);
}

/** The block responds with the first of these that it has. */
const RESPONDERS: readonly string[] = ['respond', 'file_server', 'reverse_proxy'];

/** A file server needs a root, and options of file servers need a file server. */
function reportFiles(site: SiteDraft, domains: readonly Domain[], { report }: SharedContext): void {
  const parts = [site, ...site.handles.map(({ draft }) => draft)];
  const errorRoots = parts.map(({ members }) => errorRootsIn(site.members, members === site.members ? null : members));
  const served = servedIn({ ...site.members, handles: site.handles.map(({ draft }) => draft.members) });
  const isServed = errorRoots.flat().length > 0 || parts.some(({ seen }) => firstOf(seen, 'file_server'));
  for (const [index, draft] of parts.entries()) {
    const server = fileServerIn(site.members, draft === site ? null : draft.members);
    const place = firstOf(draft.seen, 'file_server');
    const hasRoot = [draft, site].some(({ seen }) => firstOf(seen, 'root'));
    if (server?.root === null && place && !hasRoot) report.error(place, 'file_server has no root: write root <directory> next to it');
    const errors = firstOf(draft.seen, 'handle_errors');
    if (errors && !hasRoot && errorRoots[index]?.includes(null))
      report.error(errors, 'handle_errors serves files, but has no root: write root <directory> in it');
    for (const { files } of draft.members.handle_errors ?? []) {
      const root = files?.root ?? draft.members.root ?? site.members.root;
      const chosen =
        root == null ? undefined : files?.paths.find((file) => domains.some((domain) => isChosenByClient(file, root, served, domain)));
      if (errors && chosen !== undefined)
        report.warn(
          errors,
          `handle_errors never shows ${quote(chosen)}: a client could choose any file, such as one that needs a password`,
        );
    }
    for (const name of ['root', 'try_files']) {
      const word = firstOf(draft.seen, name);
      if (word && !isServed) report.error(word, `${name} needs file_server, which the site does not have`);
    }
  }
}

/** A site must respond with something, and so must each of its blocks, even if only with what it inherits from the site. */
function reportSilence(draft: SiteDraft, place: Position, report: DiagnosticReport): void {
  if (isSilent(draft))
    report.error(place, 'the site has nothing to respond with: write reverse_proxy, file_server, respond, redir or handle inside');
  if (RESPONDERS.some((name) => firstOf(draft.seen, name))) return;
  for (const { place: at, draft: inner } of draft.handles)
    if (isSilent(inner))
      report.error(
        at,
        'neither the block nor its site has anything to respond with: write reverse_proxy, file_server, respond or redir inside',
      );
}

/** A rejected or mistyped directive or import may have been meant to respond: it has its own error, which is enough. */
const isSilent = ({ seen, incomplete }: SiteDraft): boolean => !incomplete && seen.every(({ text }) => NEVER_ANSWERS.has(text));
const NEVER_ANSWERS: ReadonlySet<string> = new Set([...SITE_RULES.values()].filter((rule) => !('answers' in rule)).map(({ name }) => name));

/** The defaults of a route or a block. */
const { handles, ...NOTHING } = routeSchema.parse({ domain: CATCH_ALL, upstream: null, tls: false });
const { path, ...NOTHING_INSIDE } = handleSchema.parse({ path: null });

function routeOf(domain: Domain, { word, ports }: Claim, { members }: SiteDraft, handles: HandleSpec[], open: FilePorts | null): RouteSpec {
  const upstream = members.upstreams?.[0]?.address ?? null;
  const origin = `${word.path}:${word.line}`.slice(-LONGEST_ORIGIN);
  // No certificate is ordered for a site that is only served over HTTP.
  const isPlain = ports?.every((port) => open?.http.includes(port)) === true;
  const https = members.https ?? (isPlain ? 'off' : NOTHING.https);
  return { ...NOTHING, ...members, domain, upstream, https, ...(ports && { ports }), source: FILE_SOURCE, handles, origin };
}

const handleOf = ({ path, match, strip, draft }: HandleDraft): HandleSpec => ({
  path,
  ...(match && { match }),
  ...NOTHING_INSIDE,
  ...draft.members,
  strip_prefix: strip,
});
