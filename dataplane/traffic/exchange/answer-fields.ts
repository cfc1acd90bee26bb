import type { HeaderSpec, RouteSpec } from '../../../shared/route.ts';
import { hashName } from '../codec/http1/field-names.ts';
import type { Fields } from '../codec/http1/fields.ts';

/** Strict-Transport-Security, over HTTPS only: one year (RFC 6797). */
const STRICT_TRANSPORT = 'Strict-Transport-Security: max-age=31536000\r\n';
const NO_SNIFF = 'X-Content-Type-Options: nosniff\r\n';
const SAME_ORIGIN = 'X-Frame-Options: SAMEORIGIN\r\n';

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
};

/** A site that stays on HTTP (`https` off) never sends Strict-Transport-Security, even if a certificate happens to cover it. */
export function compileAnswerFields(headers: readonly HeaderSpec[], https: RouteSpec['https'] = 'auto'): AnswerFields {
  const last = new Map<string, HeaderSpec>();
  for (const header of headers) {
    // Deleted first, so that a header set twice keeps its last position.
    last.delete(header.name.toLowerCase());
    last.set(header.name.toLowerCase(), header);
  }
  const own = [...last.values()].map(({ name, value }) => (value === null ? '' : `${name}: ${value}\r\n`)).join('');
  const noSniff = !last.has('x-content-type-options');
  const sameOrigin = !last.has('x-frame-options');
  return {
    overrides: last.size === 0 ? null : new Map([...last.keys()].map((name) => [hashName(name), name])),
    own,
    all: `${noSniff ? NO_SNIFF : ''}${sameOrigin ? SAME_ORIGIN : ''}${own}`,
    strictTransport: https !== 'off' && !last.has('strict-transport-security'),
    noSniff,
    sameOrigin,
  };
}

/** The lines to add to an upstream's response: its own values override the defaults, the block's override both. */
export function addedFields(fields: AnswerFields, answer: Fields, secure: boolean): string {
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
