import { isConstant, templateParts } from '../../../shared/placeholders/template.ts';
import type { HeaderSpec, RouteSpec } from '../../../shared/route.ts';
import { hashName } from '../codec/http1/field-names.ts';
import type { Fields } from '../codec/http1/fields.ts';
import { fieldIn, withoutFields } from '../codec/http1/kept-lines.ts';
import type { EvaluatedRequest } from './values/evaluated-request.ts';
import { compileChanges, type FieldChanges } from './values/field-changes.ts';

/** Strict-Transport-Security, over HTTPS only: one year (RFC 6797). */
const STRICT_TRANSPORT = 'Strict-Transport-Security: max-age=31536000\r\n';
const NO_SNIFF = 'X-Content-Type-Options: nosniff\r\n';
const SAME_ORIGIN = 'X-Frame-Options: SAMEORIGIN\r\n';

/** Which of the default fields a response has already. */
type AnswerFlags = Pick<Fields, 'hasStrictTransportSecurity' | 'hasContentTypeOptions' | 'hasFrameOptions'>;

/** A request whose response gets the fields. */
type AnsweredRequest = EvaluatedRequest & { readonly strictTransport: boolean };

/** The compiled response headers of a block: its own, and which defaults it keeps. */
export type AnswerFields = {
  /** Names that the block sets or removes, by hash; the upstream's fields of these names are not forwarded. null if there are none. */
  readonly overrides: ReadonlyMap<number, string> | null;
  /** The block's own fields as lines. */
  readonly own: string;
  /** The block's own and the default fields, for the common response that sets none of the defaults itself. */
  readonly all: string;
  readonly strictTransport: boolean;
  readonly noSniff: boolean;
  readonly sameOrigin: boolean;
  /** Set if fields are changed in other ways than by constant values and removals; then `overrides`, `own` and `all` don't apply. */
  readonly changes: FieldChanges | null;
  /** Changes that come after the filters; null for none. */
  readonly deferred: FieldChanges | null;
};

const nothing = (): string => '';

/**
 * A site that stays on HTTP (`https` off) never sends Strict-Transport-Security, even if a certificate happens to cover it. `remainder` is
 * what `*` of the block's pattern matched.
 */
export function compileAnswerFields(
  headers: readonly HeaderSpec[],
  https: RouteSpec['https'] = 'auto',
  remainder: (x: EvaluatedRequest) => string = nothing,
): AnswerFields {
  const hsts = https !== 'off';
  return headers.every(isPlain) ? plainFields(headers, hsts) : changedFields(headers, hsts, remainder);
}

/** Whether a header has the same effect on every response, known in advance. */
const isPlain = ({ name, value, op, deferred }: HeaderSpec): boolean =>
  op === undefined &&
  deferred === undefined &&
  (value === null ? !name.startsWith('*') && !name.endsWith('*') : isConstant(templateParts(value, 'answer')));

const literal = (value: string): string =>
  templateParts(value, 'answer')
    .map((part) => ('text' in part ? part.text : ''))
    .join('');

function plainFields(headers: readonly HeaderSpec[], hsts: boolean): AnswerFields {
  const last = new Map<string, HeaderSpec>();
  for (const header of headers) {
    // Deleted first, so that a header set twice keeps its last position.
    last.delete(header.name.toLowerCase());
    last.set(header.name.toLowerCase(), header);
  }
  const own = [...last.values()].map(({ name, value }) => (value === null ? '' : `${name}: ${literal(value)}\r\n`)).join('');
  const noSniff = !last.has('x-content-type-options');
  const sameOrigin = !last.has('x-frame-options');
  return {
    overrides: last.size === 0 ? null : new Map([...last.keys()].map((name) => [hashName(name), name])),
    own,
    all: `${noSniff ? NO_SNIFF : ''}${sameOrigin ? SAME_ORIGIN : ''}${own}`,
    strictTransport: hsts && !last.has('strict-transport-security'),
    noSniff,
    sameOrigin,
    changes: null,
    deferred: null,
  };
}

function changedFields(headers: readonly HeaderSpec[], hsts: boolean, remainder: (x: EvaluatedRequest) => string): AnswerFields {
  const early = headers.filter(({ deferred }) => !deferred);
  const late = headers.filter(({ deferred }) => deferred);
  const changes = compileChanges(early, 'answer', { remainder });
  const deferred = late.length === 0 ? null : compileChanges(late, 'answer', { remainder });
  const decided = (name: string): boolean => changes.decides(name) || deferred?.decides(name) === true;
  return {
    overrides: null,
    own: '',
    all: '',
    strictTransport: hsts && !decided('strict-transport-security'),
    noSniff: !decided('x-content-type-options'),
    sameOrigin: !decided('x-frame-options'),
    changes,
    deferred,
  };
}

/** The fields of an upstream's response with those of its block, apart from deferred changes. `lines` are the upstream's. */
export function relayedFields(fields: AnswerFields, x: AnsweredRequest, status: number, lines: string, answer: AnswerFlags): string {
  if (fields.changes === null) return lines + addedFields(fields, answer, x.strictTransport);
  return changed(fields, fields.changes, x, status, lines, answer);
}

/** The same for a response of our own, or for one that a policy passes on, whose defaults are those of `defaultsIn`. */
export function answeredFields(fields: AnswerFields, x: AnsweredRequest, status: number, lines: string, has?: AnswerFlags): string {
  const { changes, overrides } = fields;
  if (changes !== null) return changed(fields, changes, x, status, lines, has ?? NO_DEFAULTS);
  const own = has === undefined ? ownFields(fields, x.strictTransport) : addedFields(fields, has, x.strictTransport);
  return (overrides === null ? lines : withoutFields(lines, new Set(overrides.values()))) + own;
}

/** Which of the default fields are among these lines. */
export const defaultsIn = (lines: string): AnswerFlags => ({
  hasStrictTransportSecurity: fieldIn(lines, 'strict-transport-security') !== null,
  hasContentTypeOptions: fieldIn(lines, 'x-content-type-options') !== null,
  hasFrameOptions: fieldIn(lines, 'x-frame-options') !== null,
});

/** The default fields of a response of our own that the site's fields do not apply to. */
export const defaultFields = ({ strictTransport }: AnswerFields, secure: boolean): string =>
  (secure && strictTransport ? STRICT_TRANSPORT : '') + NO_SNIFF + SAME_ORIGIN;

/** Applies the changes that come after the filters. */
export function deferredFields(fields: AnswerFields, x: EvaluatedRequest, status: number, lines: string): string {
  return fields.deferred?.apply(lines, x, { status, lines }, false) ?? lines;
}

/** Responses of our own have none of the default fields by themselves. */
const NO_DEFAULTS: AnswerFlags = { hasStrictTransportSecurity: false, hasContentTypeOptions: false, hasFrameOptions: false };

/** Defaults are added for fields that neither the upstream nor a change has set. */
function changed(fields: AnswerFields, changes: FieldChanges, x: AnsweredRequest, status: number, lines: string, has: AnswerFlags): string {
  let whole = changes.apply(lines, x, { status, lines }, false) ?? lines;
  if (fields.strictTransport && x.strictTransport && !has.hasStrictTransportSecurity) whole += STRICT_TRANSPORT;
  if (fields.noSniff && !has.hasContentTypeOptions) whole += NO_SNIFF;
  if (fields.sameOrigin && !has.hasFrameOptions) whole += SAME_ORIGIN;
  return whole;
}

/** The lines to add to an upstream's response: its own values override the defaults, the block's override both. */
function addedFields(fields: AnswerFields, answer: AnswerFlags, secure: boolean): string {
  const strict = secure && fields.strictTransport && !answer.hasStrictTransportSecurity ? STRICT_TRANSPORT : '';
  if (!answer.hasContentTypeOptions && !answer.hasFrameOptions) return strict + fields.all;
  const noSniff = fields.noSniff && !answer.hasContentTypeOptions ? NO_SNIFF : '';
  const sameOrigin = fields.sameOrigin && !answer.hasFrameOptions ? SAME_ORIGIN : '';
  return strict + noSniff + sameOrigin + fields.own;
}

/** The lines to add to a response of our own. */
export function ownFields(fields: AnswerFields, secure: boolean): string {
  return secure && fields.strictTransport ? STRICT_TRANSPORT + fields.all : fields.all;
}
