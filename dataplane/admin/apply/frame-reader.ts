import type { ZodType } from 'zod';
import { readCertificate } from '../../../shared/certificates/certificate.ts';
import { covers } from '../../../shared/certificates/certificate-names.ts';
import { isDefaultName } from '../../../shared/certificates/default-certificate.ts';
import { type RouteSpec, readAppliedRoute } from '../../../shared/route.ts';
import type { Globals } from '../../../shared/settings.ts';
import {
  type AppliedCertificate,
  type Apply,
  applySchema,
  certificateSchema,
  endSchema,
  FRAME_LINES,
  type FrameCertificates,
  type FrameLineKind,
  type Problem,
  problemSchema,
  type ReloadOutcome,
  type Remove,
  type RemoveCertificate,
  type RouteCondition,
  reloadOutcomeSchema,
  removeCertificateSchema,
  removeSchema,
  routeConditionSchema,
  settingsLineSchema,
} from '../../../shared/wire/apply.ts';
import type { Frame } from '../../table/table.ts';
import { ApiError } from '../http/errors.ts';

type Draft = {
  header: Apply;
  routes: RouteSpec[];
  rejected: { domain: string; source: string | null; reason: string }[];
  removes: Remove[];
  problems: Problem[];
  conditions: RouteCondition[];
  certificates: {
    accepted: FrameCertificates['accepted'][number][];
    rejected: FrameCertificates['rejected'][number][];
    removed: RemoveCertificate[];
  };
  settings?: Globals;
  reload?: ReloadOutcome;
};

/** Assembles lines into frames. A frame is everything from its `apply` line to its `end` line. */
export class ApplyFrameReader {
  private draft: Draft | null = null;

  /** Whether a frame has begun but not ended. */
  get open(): boolean {
    return this.draft !== null;
  }

  /** Adds one non-blank line. @returns the frame it completes, or null. @throws ApiError if the line is malformed. */
  addLine(text: string): Frame | null {
    const { kind, value } = read(text);
    if (kind === 'apply') {
      if (this.draft !== null) throw malformed('a frame begins before the previous one has ended');
      const certificates = { accepted: [], rejected: [], removed: [] };
      this.draft = {
        header: checked(applySchema, kind, value),
        routes: [],
        rejected: [],
        removes: [],
        problems: [],
        conditions: [],
        certificates,
      };
      return null;
    }
    if (this.draft === null) throw malformed(`a line of kind ${kind} comes before any apply line`);
    if (kind === 'end') return this.end(this.draft, checked(endSchema, kind, value).revision);
    add(this.draft, kind, value);
    return null;
  }

  private end(draft: Draft, revision: unknown): Frame {
    if (revision !== draft.header.revision) throw malformed('the end line has a different revision than the apply line');
    this.draft = null;
    return draft;
  }
}

function add(draft: Draft, kind: Exclude<FrameLineKind, 'apply' | 'end'>, value: unknown): void {
  switch (kind) {
    case 'route':
      return addRoute(draft, value);
    case 'remove':
      if (draft.header.based_on === null) throw malformed('a full frame removes what it does not name, so it has no remove lines');
      draft.removes.push(checked(removeSchema, kind, value));
      return;
    case 'certificate':
      return addCertificate(draft, checked(certificateSchema, kind, value));
    case 'remove_certificate':
      if (draft.header.based_on === null) throw malformed('a full frame removes what it does not name, so it has no remove lines');
      draft.certificates.removed.push(checked(removeCertificateSchema, kind, value));
      return;
    case 'settings':
      draft.settings = checked(settingsLineSchema, kind, value);
      return;
    case 'problem':
      draft.problems.push(checked(problemSchema, kind, value));
      return;
    case 'condition':
      draft.conditions.push(checked(routeConditionSchema, kind, value));
      return;
    case 'reload':
      draft.reload = checked(reloadOutcomeSchema, kind, value);
  }
}

/** Each route is checked separately: a bad one is rejected alone, as long as it names its domain. */
function addRoute(draft: Draft, value: unknown): void {
  const result = readAppliedRoute(value);
  if ('route' in result) {
    draft.routes.push(result.route);
    return;
  }
  const { domain, source } = (value ?? {}) as { domain?: unknown; source?: unknown };
  if (typeof domain !== 'string') throw malformed('a route line has no domain');
  draft.rejected.push({
    domain: domain.toLowerCase(),
    source: typeof source === 'string' ? source : null,
    reason: `${result.problem.member}: ${result.problem.reason}`,
  });
}

/** Each certificate is checked separately, too. */
function addCertificate({ header, certificates }: Draft, { domains, certificate, private_key, source }: AppliedCertificate): void {
  const reject = (reason: string) => void certificates.rejected.push({ domains, reason });
  if (!header.sources.includes(source)) return reject(`its source "${source}" is not one of the frame's`);
  const named = domains.filter((domain) => !isDefaultName(domain));
  const pair = readCertificate(certificate, private_key, { needsNames: named.length > 0 });
  if (!pair.ok) return reject(pair.reason);
  const bare = named.find((domain) => !covers(pair.value.domains, domain));
  if (bare !== undefined) return reject(`certificate: it does not cover ${bare}, only ${pair.value.domains.slice(0, 5).join(', ')}`);
  certificates.accepted.push({ domains: [...new Set(domains)], source, pair: pair.value });
}

function read(text: string): { kind: FrameLineKind; value: unknown } {
  let line: unknown;
  try {
    line = JSON.parse(text);
  } catch (error) {
    throw malformed(`a line is not JSON (${error instanceof Error ? error.message : String(error)})`);
  }
  const [kind, more] = Object.keys(line ?? {});
  if (!isKind(kind) || more !== undefined)
    throw malformed(`a line must be an object with exactly one of the members ${FRAME_LINES.join(', ')}`);
  return { kind, value: (line as Record<FrameLineKind, unknown>)[kind] };
}

const KINDS: ReadonlySet<unknown> = new Set(FRAME_LINES);
const isKind = (name: string | undefined): name is FrameLineKind => KINDS.has(name);

function checked<T>(schema: ZodType<T>, kind: FrameLineKind, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  throw malformed(`${kind}: ${issue?.path.join('.') || 'value'}: ${issue?.message ?? 'is not valid'}`);
}

const malformed = (detail: string): ApiError => new ApiError('malformedStream', detail);
